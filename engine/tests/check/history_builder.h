#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "check/checker.h"
#include "observe/history.h"

namespace heddle::check {

/// Handmade histories. Versions are 1, 2, 3, ... of each row; 0 is the version before the run.

/// The version word of the `number`-th version, whose writer wrote the row `writes` times.
constexpr std::uint64_t version(std::uint64_t number, std::uint64_t writes = 1) {
  return number == 0 ? std::uint64_t{1} << 32 : (number + 1) << 32 | writes << 3;
}

/// A row: its key, and its record. Rows inserted again may get another record.
struct Row {
  std::uint64_t key;
  std::uint64_t place = 1;
};

/// One operation, or a range and its reads. Misses and ranges happen when their transaction begins,
/// unless given otherwise.
using Step = std::vector<Operation>;
inline constexpr std::uint64_t kWhenItBegan = ~std::uint64_t{0};

inline Operation operation(Kind kind, Row row, std::uint64_t number) {
  Operation operation;
  operation.key = row.key;
  operation.version = number;
  operation.place = row.place;
  operation.kind = kind;
  return operation;
}
inline Step read(Row row, std::uint64_t number) {
  return {operation(Kind::read, row, version(number))};
}
/// A read of content: `digest` stands for it.
inline Step read(Row row, std::uint64_t number, std::uint32_t digest, std::uint16_t bytes = 8) {
  Step step = read(row, number);
  step[0].digest = digest;
  step[0].bytes = bytes;
  return step;
}
/// A read of the `writes`-th write of a worker's attempt that had not committed.
inline Step dirty_read(Row row, std::uint32_t worker, std::uint64_t incarnation,
                       std::uint32_t writes = 1) {
  Step step{operation(Kind::read, row, Dirty{worker, incarnation, writes}.packed())};
  step[0].flags = flag::kUncommitted;
  return step;
}
inline Step miss(Row row, std::uint64_t when = kWhenItBegan) {
  return {operation(Kind::miss, row, when)};
}
inline Step write(Row row, std::uint64_t number, std::uint64_t writes = 1) {
  return {operation(Kind::write, row, version(number, writes))};
}
/// A write of content.
inline Step write_content(Row row, std::uint64_t number, std::uint32_t digest,
                          std::uint16_t bytes = 8) {
  Step step = write(row, number);
  step[0].digest = digest;
  step[0].bytes = bytes;
  return step;
}
inline Step insert(Row row, std::uint64_t number) {
  Step step = write(row, number);
  step[0].flags = flag::kInserted;
  return step;
}
inline Step remove(Row row, std::uint64_t number) {
  return {operation(Kind::remove, row, version(number) | 2)};
}
/// A write that a rollback took back.
inline Step taken_back(Row row) {
  Step step = write(row, 0);
  step[0].flags = flag::kOwn;
  return step;
}
inline Step broken(Fault fault, Row row) {
  return {operation(Kind::broken, row, static_cast<std::uint64_t>(fault))};
}
/// All rows from one key to another: those found, each a read.
inline Step range(std::uint64_t first, std::uint64_t last, std::initializer_list<Step> found,
                  std::uint64_t when = kWhenItBegan) {
  Step step{operation(Kind::range, {first, last}, when)};
  step[0].digest = static_cast<std::uint32_t>(found.size());
  for (const Step& one : found) {
    step.push_back(one[0]);
    step.back().flags |= flag::kOfRange;
  }
  return step;
}

/// The time of an attempt; by default all ran at once.
struct Time {
  std::uint64_t began = 1;
  std::uint64_t ended = 1000;
};

/// Builds a history. Workers count from 0; the reports call worker 1's first attempt "w1:0", and
/// the row of key 7 "rows/7".
class Story {
 public:
  using Steps = std::vector<Step>;

  Story& commit(std::uint32_t worker, const Steps& steps, Time time = {}) {
    return add(worker, steps, time, {});
  }
  /// A transaction whose writes others could see before it committed.
  Story& publish(std::uint32_t worker, std::uint64_t incarnation, const Steps& steps,
                 Time time = {}) {
    return add(worker, steps, time, {.incarnation = incarnation});
  }
  Story& abort(std::uint32_t worker, std::uint64_t incarnation, Time time = {}) {
    return add(worker, {}, time, {.incarnation = incarnation, .end = End::aborted});
  }
  /// @param incarnation 0: its writes were not visible
  Story& roll_back(std::uint32_t worker, const Steps& steps, Time time = {},
                   std::uint64_t incarnation = 0) {
    return add(worker, steps, time, {.incarnation = incarnation, .end = End::rolled_back});
  }
  Story& read_the_past(std::uint32_t worker, const Steps& steps, Time time = {}) {
    return add(worker, steps, time, {.on_snapshot = true});
  }

  [[nodiscard]] History history() const {
    History history;
    history.tables = {"rows"};
    history.types = {"type"};
    history.first_version = version(0) + 1;
    for (const Told& told : told_) {
      if (told.worker >= history.workers.size()) {
        history.workers.resize(std::size_t{told.worker} + 1);
      }
      WorkerLog& log = history.workers[told.worker];
      Attempt attempt = told.attempt;
      attempt.first = log.operations.size();
      attempt.operations = static_cast<std::uint32_t>(told.operations.size());
      for (const Operation& operation : told.operations) log.operations.push_back(operation);
      log.attempts.push_back(attempt);
    }
    return history;
  }
  [[nodiscard]] Report check(Isolation isolation = Isolation::serializable) const {
    return check_history(history(), isolation);
  }

 private:
  struct Told {
    std::uint32_t worker;
    Attempt attempt;
    std::vector<Operation> operations;
  };

  Story& add(std::uint32_t worker, const Steps& steps, Time time, Attempt attempt) {
    attempt.began = time.began;
    attempt.ended = time.ended;
    Told& told = told_.emplace_back(Told{worker, attempt, {}});
    for (const Step& step : steps) {
      for (Operation operation : step) {
        const bool timed = operation.kind == Kind::miss || operation.kind == Kind::range;
        if (timed && operation.version == kWhenItBegan) operation.version = time.began;
        told.operations.push_back(operation);
      }
    }
    return *this;
  }

  std::vector<Told> told_;
};

}  // namespace heddle::check
