#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/options.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/storage.h"
#include "storage/table.h"

namespace heddle::killed {

inline constexpr std::uint64_t kCounters = 4;

/// A row of the table ENTRIES.
struct Entry {
  std::uint64_t counter;  ///< the row of COUNTERS that counts it
  std::uint64_t key;      ///< its own
};

/// Keys that no two transactions share.
[[nodiscard]] inline std::uint64_t entry_key(int worker, std::uint64_t number) {
  constexpr int kNumberBits = 40;
  return static_cast<std::uint64_t>(worker) << kNumberBits | number;
}

/// Every transaction inserts an entry of its own and increments the counter of the entry, so that
/// one that is lost, made in part or made twice shows in the database.
///
/// A worker draws its next transaction, or the first of its next group, when those before have
/// committed and are counted. What the driver counts is written to a pipe at that moment.
template <class M>
class Tally {
 public:
  struct Options {
    int acknowledged = -1;       ///< the end of the pipe
    std::size_t group_size = 1;  ///< the transactions that commit together

    static Options parse(const OptionMap& options) {
      return {.acknowledged = std::stoi(options.at("acknowledged")),
              .group_size = std::stoul(options.at("group_size"))};
    }
  };
  struct Input {
    std::uint64_t key;
    std::uint64_t counter;
  };
  static constexpr std::string_view kName = "tally";

  static Signature signature(const Options&) {
    return {.workload = "tally",
            .types = {{"add",
                       {{"counter", "COUNTERS", AccessKind::read_modify_write, false},
                        {"entry", "ENTRIES", AccessKind::insert, false}}}}};
  }
  static std::vector<std::string> type_names(const Options&) { return {"add"}; }

  Tally(Storage<M>& storage, const Options& options)
      : options_(options),
        counters_(storage, "COUNTERS", kCounters),
        entries_(storage, "ENTRIES", 1),
        workers_(static_cast<std::size_t>(storage.max_workers())) {}
  void load(std::uint64_t /*seed*/) {
    for (std::uint64_t at = 0; at < kCounters; ++at) counters_.load(make_key(at), {0});
  }

  void generate(Random& random, int worker, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) {
    PerWorker& own = workers_[static_cast<std::size_t>(worker)];
    if (own.begun.size() == options_.group_size) {
      // One write of less than PIPE_BUF bytes: it is made as a whole, or not at all.
      const std::size_t bytes = own.begun.size() * sizeof(own.begun.front());
      (void)!write(options_.acknowledged, own.begun.data(), bytes);
      own.begun.clear();
    }
    input = {.key = entry_key(worker, own.drawn++), .counter = random.next() % kCounters};
    own.begun.push_back(input.key);
  }
  static int type_of(const Input&) { return 0; }
  [[nodiscard]] static bool is_snapshot(int) { return false; }
  void hints(const Input& input, Hints& hints) const {
    hints.add(0, input.counter);
    hints.add(1, input.key);
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    const auto row = txn.read(0, counters_, make_key(input.counter));
    if (!row) return txn.stop();
    if (!txn.update(0, counters_, row, [](Counter& counter) { ++counter.entries; })) {
      return txn.stop();
    }
    return txn.insert(1, entries_, make_key(input.key), Entry{input.counter, input.key})
               ? Outcome::commit
               : txn.stop();
  }
  template <class Txn>
  Outcome query(Txn&, const Input&) {
    return Outcome::rollback;
  }
  [[nodiscard]] static std::vector<std::string> check() { return {}; }

 private:
  struct Counter {
    std::uint64_t entries;
  };
  struct alignas(64) PerWorker {
    std::uint64_t drawn = 0;
    std::vector<std::uint64_t> begun;  ///< the keys that are not known to have committed
  };

  Options options_;
  Table<M, Key1, Counter, HashIndex> counters_;
  Table<M, Key1, Entry, HashIndex> entries_;
  std::vector<PerWorker> workers_;
};

}  // namespace heddle::killed
