#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/random.h"
#include "observe/history.h"

namespace heddle::check {

/// The composition of a synthetic history. Shares are in percent of operations; the rest reads.
struct HistoryShape {
  std::uint64_t transactions = 1'000'000;
  std::uint64_t keys = 1'000'000;
  std::uint32_t operations = 10;
  std::uint32_t workers = 16;
  double skew = 0;            ///< 0: uniform; else keys are drawn as keys * u^(1 + skew)
  std::uint32_t writes = 50;  ///< reads, then overwrites
  std::uint32_t churn = 0;    ///< inserts missing rows, deletes existing ones
  std::uint32_t ranges = 0;   ///< scans a few neighbours
  std::uint32_t hot = 0;      ///< of all accesses, to one row of ten
};

/// A serializable history as a run produces it: transactions take effect one after the other, and
/// each overlaps with some before and after it.
class SyntheticHistory {
 public:
  explicit SyntheticHistory(const HistoryShape& shape) : shape_(shape), rows_(shape.keys) {
    history_.tables = {"rows"};
    history_.types = {"type"};
    history_.first_version = kFirst;
    history_.workers.resize(shape.workers);
    for (Row& row : rows_) row = {kFirst - 1, true};
  }

  History make() {
    for (std::uint64_t number = 0; number < shape_.transactions; ++number) add(number);
    return std::move(history_);
  }

 private:
  static constexpr std::uint64_t kFirst = std::uint64_t{2} << 32;
  static constexpr std::uint64_t kRangeKeys = 8;
  struct Row {
    std::uint64_t version;
    bool there;
  };

  std::uint64_t draw_key() {
    if (random_.below(100) < shape_.hot) return random_.below(10);
    if (shape_.skew == 0) return random_.below(shape_.keys);
    const double uniform = static_cast<double>(random_.next() >> 11) * 0x1p-53;
    const double scaled = std::pow(uniform, 1 + shape_.skew);
    return std::min(shape_.keys - 1,
                    static_cast<std::uint64_t>(scaled * static_cast<double>(shape_.keys)));
  }

  void add(std::uint64_t number) {
    WorkerLog& log = history_.workers[number % shape_.workers];
    Attempt attempt;
    // The clock ticks once a transaction; each takes as long as those of all workers.
    attempt.began = number + 1;
    attempt.ended = number + 1 + shape_.workers;
    now_ = number + shape_.workers / 2;
    attempt.first = log.operations.size();
    version_ = kFirst + ((number + 1) << 7) + 8;
    own_.clear();
    while (log.operations.size() - attempt.first < shape_.operations) step(log);
    attempt.operations = static_cast<std::uint32_t>(log.operations.size() - attempt.first);
    log.attempts.push_back(attempt);
  }

  void step(WorkerLog& log) {
    const std::uint64_t kind = random_.below(100);
    const std::uint64_t key = draw_key();
    if (std::find(own_.begin(), own_.end(), key) != own_.end()) return;
    if (kind < shape_.ranges) return look_at_range(log, key);
    if (kind < shape_.ranges + shape_.churn) {
      own_.push_back(key);
      const bool there = rows_[key].there;
      look(log, key, 0);
      return change(log, key, !there, there ? 0 : flag::kInserted);
    }
    look(log, key, 0);
    if (kind >= shape_.ranges + shape_.churn + shape_.writes || !rows_[key].there) return;
    own_.push_back(key);
    change(log, key, true, 0);
  }

  void push(WorkerLog& log, Kind kind, std::uint64_t key, std::uint64_t version,
            std::uint64_t place, std::uint8_t flags) {
    Operation one;
    one.kind = kind;
    one.key = key;
    one.version = version;
    one.place = place;
    one.flags = flags & 15;
    if (kind == Kind::read || kind == Kind::write) {
      one.bytes = 8;
      one.digest = static_cast<std::uint32_t>(version * 0x9e37'79b9U + key);
    }
    log.operations.push_back(one);
  }

  void look(WorkerLog& log, std::uint64_t key, std::uint8_t flags) {
    if (rows_[key].there) {
      push(log, Kind::read, key, rows_[key].version, key + 1, flags);
    } else if (flags == 0) {
      push(log, Kind::miss, key, now_, 0, 0);
    }
  }

  void look_at_range(WorkerLog& log, std::uint64_t key) {
    const std::uint64_t last = std::min(key + kRangeKeys, shape_.keys) - 1;
    for (const std::uint64_t own : own_) {
      if (own >= key && own <= last) return;
    }
    const std::size_t range = log.operations.size();
    push(log, Kind::range, key, now_, last, 0);
    for (std::uint64_t at = key; at <= last; ++at) look(log, at, flag::kOfRange);
    const std::size_t rows = log.operations.size() - range - 1;
    log.operations[range].digest = static_cast<std::uint32_t>(rows);
  }

  void change(WorkerLog& log, std::uint64_t key, bool there, std::uint8_t flags) {
    rows_[key] = {there ? version_ : version_ | 2, there};
    push(log, there ? Kind::write : Kind::remove, key, rows_[key].version, key + 1, flags);
  }

  HistoryShape shape_;
  Random random_{1};
  History history_;
  std::vector<Row> rows_;
  std::vector<std::uint64_t> own_;
  std::uint64_t now_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace heddle::check
