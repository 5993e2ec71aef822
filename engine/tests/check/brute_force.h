#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "observe/history.h"

namespace heddle::check {

/// Decides whether a small history is serializable by running its transactions in every order
/// against a model of the database. It shares nothing with the checker except the histories.
/// Contents are not compared.
///
/// An order must also fit the clock where rows are inserted and deleted: of two lives of a row in
/// different records, the first must have been able to end before the other began, and a row cannot
/// be missed while the clock says it existed. (Within a record versions give the order, and the
/// clock is not used.) A snapshot reader read at some time after the writers of what it read began,
/// and before the transactions that overwrote it ended. No transaction reads or overwrites a
/// version of a transaction that had not begun.
class BruteForce {
 public:
  explicit BruteForce(const History& history) : history_(history) {
    for (const WorkerLog& log : history.workers) {
      for (std::size_t at = 0; at < log.attempts.size(); ++at) {
        if (log.attempts[at].end != End::aborted) add(log, log.attempts[at]);
      }
    }
    for (Record& record : records_) {
      std::sort(record.versions.begin(), record.versions.end(),
                [](const Made& a, const Made& b) { return a.number < b.number; });
      find_lives(record);
    }
    for (Transaction& transaction : transactions_) {
      if (transaction.attempt.on_snapshot) find_past(transaction);
    }
  }

  [[nodiscard]] bool serializable() const {
    State state;
    state.rows.resize(rows_.size());
    state.installed.resize(records_.size());
    if (!begin(state) || !fits_the_clock()) return false;
    std::vector<bool> done(transactions_.size(), false);
    return extend(state, done, transactions_.size());
  }

 private:
  static constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  struct Transaction {
    Attempt attempt;
    std::vector<Operation> operations;
    std::uint64_t past_from = 0;
    std::uint64_t past_to = kForever;
  };
  struct Made {
    std::uint64_t number;
    Kind kind;
    bool inserted;
    std::size_t by;
  };
  struct Lifetime {
    std::uint64_t first_number;  ///< 0: it existed before
    std::uint64_t began_by;
    std::uint64_t ended_from;
  };
  struct Record {
    std::size_t row;
    std::uint64_t place;
    std::vector<Made> versions;
    std::vector<std::uint64_t> initial;  ///< versions from before the run that were read
    std::vector<Lifetime> lifetimes;
  };

  /// A row as a serial run has left it.
  struct Now {
    std::size_t record = kNone;                                ///< kNone: it does not exist
    std::uint64_t number = 0;                                  ///< 0: as it was before
    std::vector<std::pair<std::size_t, std::uint64_t>> ended;  ///< lives: record, ended_from
    std::uint64_t missed_from = 0;
    bool missed = false;
  };
  struct State {
    std::vector<Now> rows;
    std::vector<std::size_t> installed;  ///< by record: the number of its versions
  };

  // ---- the history as a table ------------------------------------------------------------------

  static bool changes(const Operation& one) {
    return (one.kind == Kind::write || one.kind == Kind::remove) && !one.is(flag::kOwn);
  }

  [[nodiscard]] std::size_t row_of(const Operation& one) const {
    return rows_.find({one.table, one.key})->second;
  }

  /// kNone: no version of it was read or written, except uncommitted ones.
  [[nodiscard]] std::size_t record_of(const Operation& one) const {
    for (std::size_t at = 0; at < records_.size(); ++at) {
      if (records_[at].row == row_of(one) && records_[at].place == one.place) return at;
    }
    return kNone;
  }

  Record& make_record_of(const Operation& one) {
    const std::size_t known = record_of(one);
    if (known != kNone) return records_[known];
    return records_.emplace_back(Record{row_of(one), one.place, {}, {}, {}});
  }

  void add(const WorkerLog& log, const Attempt& attempt) {
    Transaction transaction{attempt, {}};
    for (std::uint32_t at = 0; at < attempt.operations; ++at) {
      const Operation& one = log.operations[attempt.first + at];
      transaction.operations.push_back(one);
      if (one.kind == Kind::range || one.kind == Kind::broken) continue;
      rows_.try_emplace({one.table, one.key}, rows_.size());
      if (changes(one)) {
        make_record_of(one).versions.push_back(
            {one.version, one.kind, one.is(flag::kInserted), transactions_.size()});
      } else if (one.kind == Kind::read && !one.is(flag::kOwn) && !one.is(flag::kUncommitted) &&
                 one.version < history_.first_version) {
        auto& initial = make_record_of(one).initial;
        if (std::find(initial.begin(), initial.end(), one.version) == initial.end()) {
          initial.push_back(one.version);
        }
      }
    }
    transactions_.push_back(std::move(transaction));
  }

  void find_lives(Record& record) const {
    const bool was_there = !record.initial.empty() || !record.versions.front().inserted;
    bool alive = was_there;
    if (was_there) record.lifetimes.push_back({0, 0, 0});
    for (const Made& made : record.versions) {
      const Attempt& writer = transactions_[made.by].attempt;
      if (!alive) record.lifetimes.push_back({made.number, kForever, 0});
      Lifetime& life = record.lifetimes.back();
      life.began_by = std::min(life.began_by, writer.ended);
      life.ended_from = std::max(life.ended_from, writer.began);
      alive = made.kind != Kind::remove;
    }
    if (alive) record.lifetimes.back().ended_from = kForever;
  }

  void find_past(Transaction& reader) {
    for (const Operation& read : reader.operations) {
      if (read.kind != Kind::read || record_of(read) == kNone) continue;
      for (const Made& made : records_[record_of(read)].versions) {
        if (made.number == read.version) {
          reader.past_from = std::max(reader.past_from, transactions_[made.by].attempt.began);
        } else if (made.number > read.version) {
          reader.past_to = std::min(reader.past_to, transactions_[made.by].attempt.ended);
          break;
        }
      }
    }
  }

  [[nodiscard]] bool fits_the_clock() const {
    const auto before = [this](std::size_t writer, const Attempt& later) {
      return transactions_[writer].attempt.began <= later.ended;
    };
    for (const Record& record : records_) {
      for (std::size_t at = 1; at < record.versions.size(); ++at) {
        const std::size_t by = record.versions[at].by;
        if (by != record.versions[at - 1].by &&
            !before(record.versions[at - 1].by, transactions_[by].attempt)) {
          return false;
        }
      }
    }
    for (const Transaction& reader : transactions_) {
      for (const Operation& read : reader.operations) {
        if (read.kind != Kind::read || read.is(flag::kOwn) || read.is(flag::kUncommitted) ||
            record_of(read) == kNone) {
          continue;
        }
        for (const Made& made : records_[record_of(read)].versions) {
          if (made.number == read.version && !before(made.by, reader.attempt)) return false;
        }
      }
    }
    return true;
  }

  // ---- a serial run ----------------------------------------------------------------------------

  /// The rows as they must have been before the run. Returns false if that is impossible.
  bool begin(State& state) const {
    for (std::size_t at = 0; at < records_.size(); ++at) {
      const Record& record = records_[at];
      const auto twice =
          std::adjacent_find(record.versions.begin(), record.versions.end(),
                             [](const Made& a, const Made& b) { return a.number == b.number; });
      if (twice != record.versions.end() || record.initial.size() > 1) return false;
      if (record.initial.empty() && record.versions.front().inserted) continue;
      if (state.rows[record.row].record != kNone) return false;
      state.rows[record.row].record = at;
    }
    return true;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as there are transactions
  bool extend(const State& state, std::vector<bool>& done, std::size_t left) const {
    if (left == 0) return true;
    for (std::size_t next = 0; next < transactions_.size(); ++next) {
      if (done[next]) continue;
      State after = state;
      if (!run(transactions_[next], state, after)) continue;
      done[next] = true;
      if (extend(after, done, left - 1)) return true;
      done[next] = false;
    }
    return false;
  }

  /// Whether all reads and writes of a transaction are correct if it comes now.
  bool run(const Transaction& transaction, const State& before, State& state) const {
    std::vector<bool> own(rows_.size(), false);
    for (const Operation& one : transaction.operations) {
      if (one.kind == Kind::broken) return false;
      if (one.kind == Kind::range) {
        if (!runs_range(transaction, one, own, before, state)) return false;
      } else if (one.kind == Kind::miss) {
        if (!misses(transaction, one.version, row_of(one), own, before, state)) return false;
      } else if (one.kind == Kind::read) {
        if (!one.is(flag::kOwn) && !reads(one, before.rows[row_of(one)])) return false;
      } else {
        if (!one.is(flag::kOwn) && !change(one, state)) return false;
        own[row_of(one)] = true;
      }
    }
    return true;
  }

  bool reads(const Operation& read, const Now& now) const {
    if (now.record == kNone || now.record != record_of(read)) return false;
    if (!read.is(flag::kUncommitted)) {
      return read.version < history_.first_version ? now.number == 0 : now.number == read.version;
    }
    const Dirty dirty = Dirty::unpack(read.version);
    if (dirty.worker >= history_.workers.size()) return false;
    const WorkerLog& log = history_.workers[dirty.worker];
    for (std::size_t at = 0; at < log.attempts.size(); ++at) {
      const Attempt& writer = log.attempts[at];
      if (writer.incarnation != dirty.incarnation || writer.end != End::committed) continue;
      for (std::uint32_t offset = 0; offset < writer.operations; ++offset) {
        const Operation& one = log.operations[writer.first + offset];
        if (changes(one) && one.table == read.table && one.key == read.key &&
            one.place == read.place && writes_of(one.version) == dirty.writes) {
          return now.number == one.version;
        }
      }
    }
    return false;
  }

  bool misses(const Transaction& transaction, std::uint64_t when, std::size_t row,
              const std::vector<bool>& own, const State& before, State& state) const {
    if (own[row]) return true;  // its own writes have no information about others
    if (before.rows[row].record != kNone) return false;
    // The insert of the row later on is timed by that.
    for (const Operation& one : transaction.operations) {
      if (changes(one) && row_of(one) == row) return true;
    }
    const bool past = transaction.attempt.on_snapshot;
    const std::uint64_t from = past ? transaction.past_from : when;
    const std::uint64_t to = std::min(transaction.attempt.ended, transaction.past_to);
    Now& now = state.rows[row];
    for (const auto& [record, ended_from] : now.ended) {
      if (ended_from >= to) return false;
    }
    now.missed = true;
    now.missed_from = std::max(now.missed_from, from);
    return true;
  }

  bool runs_range(const Transaction& transaction, const Operation& range,
                  const std::vector<bool>& own, const State& before, State& state) const {
    const auto given = [&](const std::pair<std::uint8_t, std::uint64_t>& name) {
      auto one = static_cast<std::size_t>(&range - transaction.operations.data()) + 1;
      for (; one < transaction.operations.size(); ++one) {
        const Operation& read = transaction.operations[one];
        if (!read.is(flag::kOfRange)) return false;
        if (read.key == name.second) return true;
      }
      return false;
    };
    for (const auto& [name, row] : rows_) {
      if (name.first != range.table || name.second < range.key || name.second > range.place) {
        continue;
      }
      // The rows given are reads, and checked as such.
      if (!given(name) && !misses(transaction, range.version, row, own, before, state)) {
        return false;
      }
    }
    return true;
  }

  bool change(const Operation& one, State& state) const {
    const std::size_t at = record_of(one);
    const Record& record = records_[at];
    if (record.versions[state.installed[at]].number != one.version) return false;
    ++state.installed[at];
    Now& now = state.rows[record.row];
    if (one.is(flag::kInserted)) {
      if (now.record != kNone) return false;
      const std::uint64_t began_by = life_of(record, one.version).began_by;
      for (const auto& [other, ended_from] : now.ended) {
        if (other != at && ended_from >= began_by) return false;
      }
      if (now.missed && now.missed_from >= began_by) return false;
    } else if (now.record != at) {
      return false;
    }
    now.number = one.version;
    now.record = at;
    if (one.kind == Kind::remove) {
      now.record = kNone;
      now.ended.emplace_back(at, life_of(record, one.version).ended_from);
    }
    return true;
  }

  static const Lifetime& life_of(const Record& record, std::uint64_t number) {
    auto life = record.lifetimes.end() - 1;
    while (life->first_number > number) --life;
    return *life;
  }

  const History& history_;
  std::vector<Transaction> transactions_;
  std::vector<Record> records_;
  std::map<std::pair<std::uint8_t, std::uint64_t>, std::size_t> rows_;
};

}  // namespace heddle::check
