#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "check/key_groups.h"
#include "check/report.h"
#include "check/serialization.h"
#include "check/transactions.h"

namespace heddle::check {

/// The existence of a row: from its insert to its delete.
struct Life {
  std::uint32_t first;       ///< the inserting transaction; kNone: the row existed before the run
  std::uint32_t last;        ///< the deleting transaction; kNone: it was not deleted
  std::uint64_t began_by;    ///< the latest clock time at which it began
  std::uint64_t ended_from;  ///< the earliest at which it ended; kForever: it never did

  static constexpr std::uint64_t kForever = ~std::uint64_t{0} / 4;
  [[nodiscard]] std::uint64_t middle() const { return began_by + ended_from; }
  /// Whether the clock allows that it ended before the other began.
  [[nodiscard]] bool may_precede(const Life& other) const { return ended_from < other.began_by; }
};

/// A life and its place in its record.
struct LifeInRecord {
  Life life;
  std::uint64_t place;
  std::uint64_t number;  ///< the record's versions order its lives
};

/// A transaction that found no such row.
struct Miss {
  std::uint32_t node;
  std::uint32_t key;  ///< its number
  std::uint64_t from;
  std::uint64_t to;
  bool by_range;
  /// It overwrote or deleted the row later: the row existed then, and must not have before.
  bool then_changed;
};

/// Orders the lives of each row, and the transactions that missed a row relative to them.
///
/// Missing rows have no versions that could give their order. Where the clock decides, the order is
/// the clock's; elsewhere one of two edges holds, and both are kept as a choice.
class Lives {
 public:
  Lives(const KeyGroups& keys, Serialization& serialization, Findings& findings)
      : keys_(keys),
        serialization_(serialization),
        findings_(findings),
        first_(std::size_t{keys.size()} + 1, 0) {}

  /// Adds the lives of the next key, in any order. To be called for every key, in order.
  void add(std::uint32_t key, std::vector<LifeInRecord>& lives);
  [[nodiscard]] bool any(std::uint32_t key) const { return !of(key).empty(); }

  template <class F>
  void each(std::uint32_t key, F of_life) const {
    for (const Placed& placed : of(key)) of_life(placed.life);
  }

  /// To be called when all lives of its key are known.
  void place(const Miss& miss);

  [[nodiscard]] std::uint64_t choices() const { return choices_; }

 private:
  /// A life among those of its row, which are ordered by their midpoints.
  struct Placed {
    Life life;
    std::uint64_t all_begun_by;       ///< it and those before it
    std::uint64_t none_ended_before;  ///< of it and those after it
    std::uint64_t one_begun_by;       ///< of it and those after it
  };

  [[nodiscard]] std::span<const Placed> of(std::uint32_t key) const {
    return std::span(lives_).subspan(first_[key], first_[std::size_t{key} + 1] - first_[key]);
  }
  void order(std::uint32_t key, const std::vector<LifeInRecord>& told);
  void place_beside(const Miss& miss, const Life& life);
  void choose(bool one_may, const Edge& one, bool other_may, const Edge& other);
  void report(std::uint32_t key, const char* what, const std::vector<std::uint32_t>& nodes);

  const KeyGroups& keys_;
  Serialization& serialization_;
  Findings& findings_;
  std::vector<Placed> lives_;
  std::vector<std::uint64_t> first_;  ///< by key
  std::uint64_t choices_ = 0;
};

}  // namespace heddle::check
