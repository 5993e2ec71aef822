#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/random.h"
#include "storage/key.h"
#include "workload/ycsb/options.h"
#include "workload/zipf.h"

namespace heddle::ycsb {

/// Keys: the populated rows are `slot << 32`; rows inserted later lie in the gaps between them, so
/// that scans visit them. The low half is 0 for a populated row, else the inserting worker and the
/// row's number.
inline constexpr int kSlotShift = 32;
inline constexpr int kNumberBits = 20;
inline constexpr std::uint64_t kMostLive = std::uint64_t{1} << kNumberBits;  // inserted, per worker
inline constexpr int kMostWorkers = (1 << (kSlotShift - kNumberBits)) - 1;

constexpr Key1 populated_key(std::uint64_t slot) { return {{slot << kSlotShift}}; }
constexpr bool is_populated(const Key1& key) {
  return (key.words[0] & ((std::uint64_t{1} << kSlotShift) - 1)) == 0;
}

enum class Kind : std::uint8_t { read, rmw, scan, insert, remove };

struct Operation {
  Key1 key;
  Kind kind;
  std::int8_t change;         // the amount that an update adds
  std::uint16_t scan_length;  // number of rows that a scan visits
};

struct Input {
  std::uint32_t count;
  std::array<Operation, YcsbOptions::kMostOperations> operations;
};

/// Draws inputs.
class InputGenerator {
 public:
  InputGenerator(const YcsbOptions& options, int max_workers)
      : options_(options),
        zipf_(options.records, options.theta),
        scatter_(options.records),
        inserted_(static_cast<std::size_t>(max_workers)) {
    if (max_workers > kMostWorkers) {
      throw std::invalid_argument("ycsb: " + std::to_string(max_workers) +
                                  " workers; allowed: up to " + std::to_string(kMostWorkers));
    }
  }

  void generate(Random& random, int worker, Input& input) const {
    assert(0 <= worker && static_cast<std::size_t>(worker) < inserted_.size());
    input.count = static_cast<std::uint32_t>(options_.operations);
    // A transaction's updates add +1 and -1 in turn, and 0 for an odd one at the end. The populated
    // records' numbers therefore always add up to 0, which the consistency check verifies.
    Operation* unpaired = nullptr;
    for (std::uint32_t i = 0; i < input.count; ++i) {
      Operation& drawn = input.operations[i];
      operation(random, static_cast<std::uint64_t>(worker), drawn);
      if (drawn.kind != Kind::rmw) continue;
      drawn.change = unpaired == nullptr ? 1 : -1;
      unpaired = unpaired == nullptr ? &drawn : nullptr;
    }
    if (unpaired != nullptr) unpaired->change = 0;
  }

 private:
  /// The rows that a worker has inserted and not deleted: numbers [first, next).
  struct alignas(64) Inserted {
    std::uint64_t first = 0;
    std::uint64_t next = 0;
  };

  void operation(Random& random, std::uint64_t worker, Operation& operation) const {
    const std::uint64_t bits = random.next();
    const auto card = static_cast<int>(Random::scale(static_cast<std::uint32_t>(bits), 100));
    const int rmw_end = options_.read_share + options_.rmw_share;
    const int scan_end = rmw_end + options_.scan_share;
    const int insert_end = scan_end + options_.insert_share;
    if (card >= scan_end) return insert_or_remove(worker, card < insert_end, operation);
    operation.kind = card < options_.read_share ? Kind::read
                     : card < rmw_end           ? Kind::rmw
                                                : Kind::scan;
    if (operation.kind == Kind::scan) {
      operation.scan_length = static_cast<std::uint16_t>(
          1 + Random::scale(static_cast<std::uint32_t>(bits >> 32),
                            static_cast<std::uint32_t>(options_.scan_length)));
    }
    operation.key = populated_key(scatter_(zipf_(random)));
  }

  /// If there is nothing to delete, or numbers would run out, an insert becomes a delete or vice
  /// versa: the table stays bounded in runs of any length.
  void insert_or_remove(std::uint64_t worker, bool insert, Operation& operation) const {
    Inserted& rows = inserted_[worker];
    const std::uint64_t live = rows.next - rows.first;
    if (live == 0) insert = true;
    if (live == kMostLive) insert = false;
    operation.kind = insert ? Kind::insert : Kind::remove;
    operation.key = inserted_key(worker, insert ? rows.next++ : rows.first++);
  }

  /// The `number`-th row that `worker` inserts: in a gap drawn by hashing, so that it can be
  /// computed again.
  [[nodiscard]] Key1 inserted_key(std::uint64_t worker, std::uint64_t number) const {
    const std::uint64_t slot = Random::stream(worker, number).below(options_.records);
    return {{slot << kSlotShift | (worker + 1) << kNumberBits | number % kMostLive}};
  }

  YcsbOptions options_;
  Zipf zipf_;
  Scatter scatter_;
  /// A worker writes only its own element: generating is const towards everything shared.
  mutable std::vector<Inserted> inserted_;
};

}  // namespace heddle::ycsb
