#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/replay/arrivals.h"
#include "workload/replay/options.h"
#include "workload/replay/program.h"
#include "workload/replay/rotation.h"
#include "workload/replay/shares.h"

namespace heddle {

/// A part of a trace, replayed: the recorded transactions with their recorded inputs, as fast as
/// the workers can (Polyjuice, OSDI 2021, §7.6 and §9), or at their times in the trace.
///
/// Sessions are replayed repeatedly, in rounds. A row that an insert of the trace creates is a
/// different row in every round, so that the insert remains an insert. An access to a row that does
/// not exist, because another worker has not reached its insert yet or has deleted it already,
/// returns nothing, and the transaction continues.
template <class M>
class Replay {
 public:
  using Options = ReplayOptions;
  static constexpr std::string_view kName = "replay";

  struct Input {
    std::uint32_t transaction;
    std::uint32_t round;
    std::uint16_t type;
  };

  static Signature signature(const Options& options) { return options.program->signature(); }

  static std::vector<std::string> type_names(const Options& options) {
    std::vector<std::string> names;
    for (const TypeSpec& type : options.program->signature().types) names.push_back(type.name);
    return names;
  }

  Replay(Storage<M>& storage, const Options& options)
      : program_(options.program),
        scan_length_(options.scan_length),
        hinted_(options.hints),
        rotation_(*program_, storage.max_workers()) {
    if (options.recorded_arrivals) {
      arrivals_.emplace(program_, options.speed.value_or(1));
      shares_.emplace(*program_, storage.max_workers());
    }
    for (const replay::TableSpec& spec : program_->tables()) tables_.emplace_back(storage, spec);
  }

  /// Every row has the same initial value: the seed has no effect.
  void load(std::uint64_t /*seed*/) {
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      const auto number = static_cast<std::uint16_t>(table);
      for (std::uint64_t row = 0; row < program_->tables()[table].rows; ++row) {
        if (program_->born(number, row)) continue;
        with(tables_[table], [&](auto& rows) { rows.load(key_of(row, 0), Row{}); });
      }
    }
  }

  /// Nothing is drawn: the inputs are the trace's, for every seed.
  void generate(Random& /*random*/, int worker, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) const {
    const replay::Turn turn = shares_ ? shares_->next(worker) : rotation_.next(worker);
    input.transaction = turn.transaction;
    input.round = turn.round;
    input.type = program_->type(turn.transaction);
  }

  /// See HasArrivals, driver/arrivals.h.
  [[nodiscard]] bool open_loop() const { return arrivals_.has_value(); }
  [[nodiscard]] double next_arrival_us(int worker) const {
    return arrivals_->at_us(shares_->upcoming(worker));
  }
  [[nodiscard]] double arrived(double us) const { return arrivals_->before(us); }
  [[nodiscard]] double begun() const { return static_cast<double>(shares_->given()); }

  /// See HasOptionalHints, workload/concepts.h.
  [[nodiscard]] bool passes_hints() const { return hinted_ != replay::Hinted::none; }

  /// The keys of the recorded accesses; beyond the most that there may be, the last are left out.
  void hints(const Input& input, Hints& hints) const {
    const std::uint64_t end = program_->end_access(input.transaction);
    for (std::uint64_t at = program_->first_access(input.transaction); at < end; ++at) {
      const replay::Step& step = program_->step(input.type, at);
      if (hinted_ != replay::Hinted::all && !writes(step)) continue;
      if (hints.size() == Hints::kMost) return;
      hints.add(last_state(step), word_of(key_of_access(step, at, input.round)));
    }
  }

  static int type_of(const Input& input) { return input.type; }
  /// The share of a type in the trace. A delayed transaction delays its session, not the others.
  [[nodiscard]] double share(int type) const { return program_->share(type); }
  [[nodiscard]] static bool is_snapshot(int) { return false; }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    const std::uint64_t first = program_->first_access(input.transaction);
    const std::uint64_t end = program_->end_access(input.transaction);
    RowsAheadInLoop<M> rows;
    for (std::uint64_t at = first; at < end; ++at) {
      auto* const found = rows.turn(at - first, end - first, [&](std::size_t turn, auto ahead) {
        const std::uint64_t access = first + turn;
        const replay::Step& step = program_->step(input.type, access);
        with(tables_[step.table], [&](const auto& table) {
          ahead(table, key_of_access(step, access, input.round), sizeof(Row));
        });
      });
      const replay::Step& step = program_->step(input.type, at);
      with(tables_[step.table],
           [&](auto& table) { make(txn, table, step, at, input.round, found); });
      if (txn.stop() == Outcome::abort) return Outcome::abort;
      if ((program_->marks(at) & replay::kCloses) != 0) txn.passed(last_state(step));
    }
    return program_->rolls_back(input.transaction) ? Outcome::rollback : Outcome::commit;
  }

  /// There is no snapshot type.
  template <class Txn>
  Outcome query(Txn&, const Input&) {
    return Outcome::rollback;
  }

  /// Checks that no row is torn, and that the rows that always exist add up to 0. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    std::vector<std::string> violations;
    std::int64_t sum = 0;
    for (const Rows& rows : tables_) {
      std::uint64_t torn = 0;
      with(rows, [&](const auto& table) {
        table.for_each([&](const Key1&, const Row& row) {
          torn += row.words.front() != row.words.back();
          sum += row.words.front();
        });
      });
      if (torn != 0) {
        violations.push_back(rows.name + ": " + std::to_string(torn) + " torn rows");
      }
    }
    if (sum != 0) {
      violations.push_back("the rows add up to " + std::to_string(sum) +
                           ", not to 0: updates were lost or doubled");
    }
    return violations;
  }

 private:
  /// Its first and its last word hold the same number, initially 0; the words between are padding.
  struct Row {
    std::array<std::int64_t, 8> words;
  };
  static_assert(sizeof(Row) == 64);
  using Hashed = Table<M, Key1, Row, HashIndex>;
  using Ordered = Table<M, Key1, Row, OrderedIndex>;

  /// One table of the trace, with the index that it needs.
  struct Rows {
    Rows(Storage<M>& storage, const replay::TableSpec& spec) : name(spec.name) {
      const auto rows = static_cast<std::size_t>(spec.rows);
      if (spec.ordered) {
        ordered = std::make_unique<Ordered>(storage, spec.name, rows);
        ordered->skip_snapshots();  // no read-only type
      } else {
        hashed = std::make_unique<Hashed>(storage, spec.name, rows);
        hashed->skip_snapshots();
      }
    }
    std::string name;
    std::unique_ptr<Hashed> hashed;
    std::unique_ptr<Ordered> ordered;
  };

  template <class F>
  static void with(const Rows& rows, F f) {
    if (rows.ordered != nullptr) {
      f(*rows.ordered);
    } else {
      f(*rows.hashed);
    }
  }

  /// The copies of a row that rounds create are adjacent, between its neighbours.
  static Key1 key_of(std::uint64_t row, std::uint32_t round) { return make_key(row << 32 | round); }

  [[nodiscard]] Key1 key_of_access(const replay::Step& step, std::uint64_t access,
                                   std::uint32_t round) const {
    const std::uint32_t row = program_->row(access);
    return key_of(row, program_->born(step.table, row) ? round : 0);
  }

  static bool writes(const replay::Step& step) {
    return step.act != replay::Act::read && step.act != replay::Act::scan;
  }

  /// The last of its states.
  static AccessId last_state(const replay::Step& step) {
    return static_cast<AccessId>(step.state + (step.act == replay::Act::remove ? 1 : 0));
  }

  /// If the row does not exist, or exists already for an insert, the access is skipped.
  template <class Txn, class T>
  void make(Txn& txn, T& table, const replay::Step& step, std::uint64_t at, std::uint32_t round,
            Record<M>* found) {
    const Key1 key = key_of_access(step, at, round);
    switch (step.act) {
      case replay::Act::read: (void)txn.read(step.state, table, key, found); return;
      case replay::Act::update:
        return update(txn, table, step.state, key, program_->marks(at), found);
      case replay::Act::insert: (void)txn.insert(step.state, table, key, Row{}); return;
      case replay::Act::remove:
        if (const auto row = txn.read(step.state, table, key, found)) {
          (void)txn.remove(last_state(step), table, row);
        }
        return;
      case replay::Act::scan: return scan(txn, table, step.state, key);
    }
  }

  template <class Txn, class T>
  void update(Txn& txn, T& table, AccessId state, const Key1& key, std::uint8_t marks,
              Record<M>* found) {
    const auto read = txn.read(state, table, key, found);
    if (!read) return;
    const std::int64_t change = (marks & replay::kAdds) != 0    ? 1
                                : (marks & replay::kTakes) != 0 ? -1
                                                                : 0;
    (void)txn.update(state, table, read, [change](Row& row) {
      row.words.front() += change;
      row.words.back() = row.words.front();
    });
  }

  template <class Txn, class T>
  void scan(Txn& txn, T& table, AccessId state, const Key1& from) {
    if constexpr (std::is_same_v<T, Ordered>) {
      (void)txn.template scan<Row>(state, table, from, Key1::max(), Order::ascending, scan_length_,
                                   [](const Key1&, const auto&) { return true; });
    }
  }

  std::shared_ptr<const replay::Program> program_;
  std::uint32_t scan_length_;
  replay::Hinted hinted_;
  replay::Rotation rotation_;
  std::optional<replay::Arrivals> arrivals_;
  std::optional<replay::Shares> shares_;  ///< if there are arrivals
  std::vector<Rows> tables_;
};

}  // namespace heddle
