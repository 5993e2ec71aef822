#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/hash_index.h"
#include "storage/look_ahead.h"
#include "storage/ordered_index.h"
#include "storage/record.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "storage/tid.h"
#include "workload/generic/options.h"
#include "workload/generic/program.h"

namespace heddle {

/// A workload for tests of the engine: two tables of few rows, and transaction types drawn at
/// random that use every operation of a stored procedure, in all orders. Half of the rows exist at
/// the start. No two writes have the same content, so that a read identifies its write.
template <class M>
class Generic {
 public:
  using Options = GenericOptions;
  static constexpr std::string_view kName = "generic";

  struct Input {
    std::uint64_t stamp;  ///< of its writes
    std::array<std::uint32_t, generic::kSlots> ordered;
    std::array<std::uint32_t, generic::kSlots> hash;
    std::uint8_t type;
    bool rolls_back;
  };

  static Signature signature(const Options& options) {
    return generic::Program(options).signature();
  }

  static std::vector<std::string> type_names(const Options& options) {
    std::vector<std::string> names;
    for (const TypeSpec& type : signature(options).types) names.push_back(type.name);
    if (options.audits != 0) names.emplace_back("audit");
    return names;
  }

  Generic(Storage<M>& storage, const Options& options)
      : options_(options),
        program_(options),
        ordered_(storage, "ORDERED", options.ordered_keys),
        hash_(storage, "HASH", options.hash_keys) {
    if (options.audits == 0) {
      ordered_.skip_snapshots();
      hash_.skip_snapshots();
    }
  }

  void load(std::uint64_t /*seed*/) {
    for (std::uint64_t key = 0; key < options_.ordered_keys; key += 2) {
      ordered_.load(make_key(key), Whole{{key, 0, 0, 0}, {key, 0, 0, 0}});
    }
    for (std::uint64_t key = 0; key < options_.hash_keys; key += 2) {
      hash_.load(make_key(key), Whole{{key, 0, 0, 0}, {key, 0, 0, 0}});
    }
  }

  void generate(Random& random, int /*worker*/, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) const {
    input.stamp = random.next();
    for (auto& key : input.ordered) {
      key = static_cast<std::uint32_t>(random.below(options_.ordered_keys));
    }
    for (auto& key : input.hash) key = static_cast<std::uint32_t>(random.below(options_.hash_keys));
    const bool audit = options_.audits != 0 && random.below(100) < options_.audits;
    input.type = static_cast<std::uint8_t>(audit ? options_.types : random.below(options_.types));
    input.rolls_back = random.below(100) < options_.rollbacks;
  }

  static int type_of(const Input& input) { return input.type; }
  [[nodiscard]] bool is_snapshot(int type) const {
    return type == static_cast<int>(options_.types);
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    std::uint64_t stamp = input.stamp;
    RowsAhead<M> rows;
    rows.fetch([&](auto ahead) {
      for (const std::uint32_t key : input.ordered) ahead(ordered_, make_key(key), sizeof(Whole));
      for (const std::uint32_t key : input.hash) ahead(hash_, make_key(key), sizeof(Whole));
    });
    for (const generic::Step& step : program_.steps(input.type)) {
      think(stamp);
      if (step.hash) {
        take(txn, hash_, input.hash, step, stamp, rows[generic::kSlots + step.slot]);
      } else {
        take(txn, ordered_, input.ordered, step, stamp, rows[step.slot]);
      }
      if (txn.stop() == Outcome::abort) return Outcome::abort;
      ++stamp;
    }
    return input.rolls_back ? Outcome::rollback : Outcome::commit;
  }

  /// Reads every row as of some moment before now.
  template <class Txn>
  Outcome query(Txn& txn, const Input& /*input*/) {
    txn.scan(kNoState, ordered_, make_key(0u), make_key(options_.ordered_keys - 1),
             Order::ascending, 0, [](const auto&, const auto&) { return true; });
    for (std::uint64_t key = 0; key < std::min(options_.hash_keys, kMostAudited); ++key) {
      (void)txn.read(kNoState, hash_, make_key(key));
    }
    return Outcome::commit;
  }

  /// Index entries that are not rows: placeholders and dead records left behind. Quiescent.
  [[nodiscard]] std::vector<std::string> check() const {
    std::vector<std::string> violations;
    const auto look_for_leavings = [&violations](const auto& table) {
      table.index().for_each([&](const Key1& key, const Record<M>* record) {
        const std::uint64_t word = record->word.peek();
        if (!tid::absent(word) && !tid::locked(word)) return;
        violations.push_back(table.name() + " has a record left behind under key " +
                             std::to_string(key.words[0]) + ", TID word " + std::to_string(word));
      });
    };
    look_for_leavings(ordered_);
    look_for_leavings(hash_);
    return violations;
  }

 private:
  struct Half {
    std::uint64_t stamp, echo, more, rest;
  };
  struct Prefix {
    Half first;
  };
  struct Whole {
    Half first;
    Half second;
  };
  static_assert(sizeof(Whole) == 64);
  using Ordered = Table<M, Key1, Whole, OrderedIndex>;
  using Hash = Table<M, Key1, Whole, HashIndex>;
  using Slots = std::array<std::uint32_t, generic::kSlots>;

  static constexpr std::uint32_t kMostAudited = 1000;
  static constexpr std::uint32_t kMostSummed = 3;

  static Half half(std::uint64_t stamp) { return {stamp, ~stamp, stamp * 3, stamp ^ 0x5a5a}; }
  static void overwrite(Prefix& row, std::uint64_t stamp) { row.first = half(stamp); }
  static void overwrite(Whole& row, std::uint64_t stamp) {
    row.first = half(stamp);
    row.second = half(stamp + (std::uint64_t{1} << 32));
  }

  template <class Txn, class T>
  void take(Txn& txn, T& table, const Slots& slots, const generic::Step& step, std::uint64_t stamp,
            Record<M>* found) {
    if (step.whole) {
      take_with<Whole>(txn, table, slots, step, stamp, found);
    } else {
      take_with<Prefix>(txn, table, slots, step, stamp, found);
    }
  }

  /// If the row does not exist, the rest of the step is skipped.
  template <class P, class Txn, class T>
  void take_with(Txn& txn, T& table, const Slots& slots, const generic::Step& step,
                 std::uint64_t stamp, Record<M>* found) {
    using generic::Act;
    const Key1 key = make_key(slots[step.slot]);
    const AccessId state = step.state;
    const auto write = [stamp](P& row) { overwrite(row, stamp); };
    switch (step.act) {
      case Act::read: (void)txn.template read<P>(state, table, key, found); return;
      case Act::update:
        if (const auto row = txn.template read<P>(state, table, key, found)) {
          (void)txn.update(state, table, row, write);
        }
        return;
      case Act::rewrite:
        if (const auto row = txn.template read<P>(state, table, key, found)) {
          (void)txn.update(second(state), table, row, write);
        }
        return;
      case Act::insert: {
        Whole fresh{};
        overwrite(fresh, stamp);
        (void)txn.insert(state, table, key, fresh);
        return;
      }
      case Act::remove:
        if (const auto row = txn.template read<P>(state, table, key, found)) {
          (void)txn.remove(second(state), table, row);
        }
        return;
      case Act::sum:
        for (std::uint32_t at = 0; at < std::min(slots[step.slot] + 1, kMostSummed); ++at) {
          (void)txn.template read<P>(state, table, make_key(at));
          if (txn.stop() == Outcome::abort) return;
        }
        txn.passed(state);
        return;
      case Act::scan: return scan<P>(txn, table, slots, step);
      case Act::count_: return;
    }
  }

  template <class P, class Txn, class T>
  void scan(Txn& txn, T& table, const Slots& slots, const generic::Step& step) {
    if constexpr (std::is_same_v<T, Ordered>) {
      const auto [lo, hi] = std::minmax(slots[step.slot], slots[step.end_slot]);
      (void)txn.template scan<P>(step.state, table, make_key(lo), make_key(hi),
                                 step.descending ? Order::descending : Order::ascending, step.limit,
                                 [](const auto&, const auto&) { return true; });
    }
  }

  static AccessId second(AccessId state) { return static_cast<AccessId>(state + 1); }

  /// Sometimes waits for a moment.
  void think(std::uint64_t stamp) const {
    if (options_.pauses == 0) return;
    const std::uint64_t draw = Random(stamp).next();
    if (draw % options_.pauses != 0) return;
    if ((draw >> 32) % 4 == 0) return M::yield();
    for (std::uint64_t left = (draw >> 34) % 256; left > 0; --left) M::pause();
  }

  Options options_;
  generic::Program program_;
  Ordered ordered_;
  Hash hash_;
};

}  // namespace heddle
