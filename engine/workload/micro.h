#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/look_ahead.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/micro/options.h"
#include "workload/zipf.h"

namespace heddle {

/// The micro-benchmark of Polyjuice (OSDI 2021, §7.4): ten transaction types of eight random
/// updates, 80 states. The first update goes to a hot table, Zipf distributed; the next six to a
/// large one, uniformly; the last to a table of the type's own.
///
/// An update is a read and a write under one access id, as in the paper: one state with both a read
/// version and a write visibility.
template <class M>
class Micro {
 public:
  using Options = MicroOptions;
  static constexpr std::string_view kName = "micro";
  static constexpr int kTypes = 10;
  static constexpr std::size_t kAccesses = 8;

  struct Input {
    std::uint8_t type;
    std::array<std::uint32_t, kAccesses> rows;
  };

  static Signature signature(const Options&) {
    Signature result{.workload = std::string(kName), .types = {}};
    for (int type = 0; type < kTypes; ++type) {
      TypeSpec spec{.name = type_name(type), .accesses = {}};
      const auto add = [&spec](const std::string& name, const std::string& table) {
        spec.accesses.push_back({name, table, AccessKind::read_modify_write, false});
      };
      add("update_hot", "HOT");
      for (std::size_t i = 1; i + 1 < kAccesses; ++i) add("update_" + std::to_string(i), "COLD");
      add("update_own", own_table_name(type));
      result.types.push_back(spec);
    }
    return result;
  }

  static std::vector<std::string> type_names(const Options&) {
    std::vector<std::string> names;
    names.reserve(kTypes);
    for (int type = 0; type < kTypes; ++type) names.push_back(type_name(type));
    return names;
  }

  Micro(Storage<M>& storage, const Options& options)
      : options_(options),
        zipf_(options.hot_records, options.theta),
        hot_(storage, "HOT", options.hot_records),
        cold_(storage, "COLD", options.records) {
    for (int type = 0; type < kTypes; ++type) {
      own_.emplace_back(storage, own_table_name(type), options.own_records);
      own_.back().skip_snapshots();  // no read-only type
    }
    hot_.skip_snapshots();
    cold_.skip_snapshots();
  }

  /// Every record has the same initial value: the seed has no effect.
  void load(std::uint64_t /*seed*/) {
    load_table(hot_, options_.hot_records);
    load_table(cold_, options_.records);
    for (Rows& table : own_) load_table(table, options_.own_records);
  }

  void generate(Random& random, int /*worker*/, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) const {
    input.type = static_cast<std::uint8_t>(random.below(kTypes));
    input.rows.front() = static_cast<std::uint32_t>(zipf_(random));
    for (std::size_t i = 1; i + 1 < kAccesses; ++i) {
      input.rows[i] = static_cast<std::uint32_t>(random.below(options_.records));
    }
    input.rows.back() = static_cast<std::uint32_t>(random.below(options_.own_records));
    // Rows are visited in one global order, so that two-phase locking avoids aborts (§7.1).
    std::sort(input.rows.begin() + 1, input.rows.end() - 1);
  }

  static int type_of(const Input& input) { return input.type; }
  [[nodiscard]] static bool is_snapshot(int) { return false; }

  /// The row of the hot table.
  static void hints(const Input& input, Hints& hints) {
    hints.add(first_state(input), input.rows.front());
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    RowsAhead<M> rows;
    rows.fetch([&](auto ahead) {
      for (std::size_t i = 1; i < kAccesses; ++i) {
        ahead(table_of(i, input), make_key(input.rows[i]), sizeof(Row));
      }
    });
    AccessId state = first_state(input);
    // +1 and -1 in turn: the gains of the hot table are the losses of the own tables; the large one
    // stays at 0.
    std::int64_t change = 1;
    for (std::size_t i = 0; i < kAccesses; ++i) {
      Rows& table = table_of(i, input);
      const auto row =
          txn.read(state, table, make_key(input.rows[i]), i == 0 ? nullptr : rows[i - 1]);
      if (!row) return txn.stop();
      if (!txn.update(state, table, row, [change](Row& value) { value.number += change; })) {
        return txn.stop();
      }
      ++state;
      change = -change;
    }
    return Outcome::commit;
  }

  /// There is no snapshot type.
  template <class Txn>
  Outcome query(Txn&, const Input&) {
    return Outcome::rollback;
  }

  /// Checks the sums of the tables' numbers. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    const std::int64_t hot = sum_of(hot_);
    const std::int64_t cold = sum_of(cold_);
    std::int64_t own = 0;
    for (const Rows& table : own_) own += sum_of(table);
    std::vector<std::string> violations;
    if (hot + own != 0) {
      violations.push_back("HOT adds up to " + std::to_string(hot) + ", the types' own tables to " +
                           std::to_string(own) + ": not opposite, updates were lost or doubled");
    }
    if (cold != 0) {
      violations.push_back("COLD adds up to " + std::to_string(cold) +
                           ", not to 0: updates were lost or doubled");
    }
    return violations;
  }

 private:
  struct Row {
    std::int64_t number;
  };
  static_assert(sizeof(Row) == 8);
  using Rows = Table<M, Key1, Row, HashIndex>;

  Rows& table_of(std::size_t access, const Input& input) {
    return access == 0 ? hot_ : access + 1 < kAccesses ? cold_ : own_[input.type];
  }

  static AccessId first_state(const Input& input) {
    return static_cast<AccessId>(input.type * kAccesses);
  }
  static std::string type_name(int type) { return "type_" + std::to_string(type); }
  static std::string own_table_name(int type) { return "OWN_" + std::to_string(type); }

  static void load_table(Rows& table, std::uint64_t rows) {
    for (std::uint64_t i = 0; i < rows; ++i) table.load(make_key(i), Row{0});
  }

  static std::int64_t sum_of(const Rows& table) {
    std::int64_t sum = 0;
    table.for_each([&sum](const Key1&, const Row& row) { sum += row.number; });
    return sum;
  }

  Options options_;
  Zipf zipf_;
  Rows hot_;
  Rows cold_;
  std::deque<Rows> own_;  // tables don't move
};

}  // namespace heddle
