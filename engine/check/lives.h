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

/// When a row existed: from its insert to its delete.
struct Life {
  std::uint32_t first;       ///< who inserted it; kNone: it was there before the run
  std::uint32_t last;        ///< who deleted it; kNone: nobody
  std::uint64_t began_by;    ///< the clock when it began at the latest,
  std::uint64_t ended_from;  ///< and ended at the earliest; kForever: it never did

  static constexpr std::uint64_t kForever = ~std::uint64_t{0} / 4;
  [[nodiscard]] std::uint64_t middle() const { return began_by + ended_from; }
  /// Whether the clock allows that it ended before the other began.
  [[nodiscard]] bool may_precede(const Life& other) const { return ended_from < other.began_by; }
};

/// A life and where it is in its record.
struct LifeInRecord {
  Life life;
  std::uint64_t place;
  std::uint64_t number;  ///< the record's versions tell which of its lives was first
};

/// A transaction that was told that there is no such row.
struct Miss {
  std::uint32_t node;
  std::uint32_t key;  ///< its number
  std::uint64_t from;
  std::uint64_t to;
  bool by_range;
  /// It overwrote or deleted the row later on: it was there then, and must not have been before.
  bool then_changed;
};

/// Places the lives of rows one after the other, and the transactions that missed a row between
/// them.
///
/// Rows that are not there have no versions that could tell their order. It comes from the clock
/// where it decides; where it does not, one of two edges holds. Both are kept as a choice.
class Lives {
 public:
  Lives(const KeyGroups& keys, Serialization& serialization, Findings& findings)
      : keys_(keys),
        serialization_(serialization),
        findings_(findings),
        first_(std::size_t{keys.size()} + 1, 0) {}

  /// The lives of the next key, in any order. To be called for every key, in order.
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
  /// A life among those of its row, which are in order of their middles.
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
