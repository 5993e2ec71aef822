#pragma once

// A lock table driven step by step in one thread: requests that wait are polled.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machine/seeded_fault.h"
#include "machine/threads.h"
#include "protocol/grant/registry.h"
#include "protocol/lock_table.h"
#include "protocol/locking_options.h"
#include "protocol/wait_graph.h"

namespace heddle::test {

/// Real threads, with an engine that can have a seeded fault.
struct FaultyThreads : ThreadsMachine {
  static inline SeededFault seeded_fault = SeededFault::none;
};

/// Seeds a fault for the length of a scope.
class WithFault {
 public:
  explicit WithFault(SeededFault fault) { FaultyThreads::seeded_fault = fault; }
  WithFault(const WithFault&) = delete;
  WithFault& operator=(const WithFault&) = delete;
  ~WithFault() { FaultyThreads::seeded_fault = SeededFault::none; }
};

/// Workers, each with a transaction, and what each holds and waits for as the answers of the table
/// say: the test's own record of it.
class LockSteps {
 public:
  using M = FaultyThreads;
  /// Worker n has a transaction of type n modulo this.
  static constexpr std::size_t kTypes = 3;

  enum class State : std::uint8_t { runs, waits };

  struct Worker {
    LockOwner<M> owner;
    State state = State::runs;
    LockAge age;
    std::deque<LockRequest<M>> held;  // the last one may wait
    LockRequest<M>* waiting = nullptr;
    bool upgrades = false;   // if it waits
    std::size_t losses = 0;  // of its transaction
  };

  LockSteps(std::size_t workers, std::size_t records, const LockingOptions& options)
      : records_(records),
        rule_(options.rule),
        workers_(workers),
        table_(static_cast<int>(workers), stop_, graph(workers, options)) {
    for (std::size_t number = 0; number < workers; ++number) {
      workers_[number].owner.worker = static_cast<int>(number);
      workers_[number].owner.type = static_cast<int>(number % kTypes);
      begin(number);
    }
  }

  Worker& worker(std::size_t number) { return workers_[number]; }
  [[nodiscard]] std::size_t size() const { return workers_.size(); }
  [[nodiscard]] bool runs(std::size_t number) const {
    return workers_[number].state == State::runs;
  }
  /// Whether the worker holds a lock on the record.
  [[nodiscard]] bool holds(std::size_t number, std::size_t record) const {
    const Worker& worker = workers_[number];
    return std::any_of(worker.held.begin(), worker.held.end(), [&](const LockRequest<M>& request) {
      return request.record == &records_[record] && (&request != worker.waiting || worker.upgrades);
    });
  }

  /// A new transaction; the last one has released its locks.
  void begin(std::size_t number) {
    workers_[number].age = {.began = ++clock_, .worker = static_cast<int>(number)};
    workers_[number].losses = 0;
  }

  /// The worker asks for a lock that it does not hold.
  LockAnswer ask(std::size_t number, std::size_t record, bool exclusive) {
    Worker& worker = workers_[number];
    const bool ordered = std::all_of(
        worker.held.begin(), worker.held.end(),
        [&](const LockRequest<M>& request) { return request.record < &records_[record]; });
    LockRequest<M>& request = worker.held.emplace_back();
    request.record = &records_[record];
    request.owner = &worker.owner;
    request.age = worker.age;
    request.exclusive = exclusive;
    worker.owner.held = static_cast<std::uint32_t>(worker.held.size() - 1);
    return answered(number, table_.ask(request, ordered, rule_), request, false);
  }

  /// The worker asks to upgrade a lock that it holds.
  LockAnswer ask_upgrade(std::size_t number, LockRequest<M>& request) {
    workers_[number].owner.held = static_cast<std::uint32_t>(workers_[number].held.size());
    return answered(number, table_.ask_upgrade(request, rule_), request, true);
  }

  /// Releases all locks of a worker that does not wait.
  void release(std::size_t number) {
    Worker& worker = workers_[number];
    for (LockRequest<M>& request : worker.held) {
      if (rule_ == ConflictRule::detect) {
        table_.release_by_graph(request);
      } else {
        table_.release(request);
      }
    }
    worker.held.clear();
  }

  /// Ends the waits that others have ended; a victim releases its locks. Returns the victims.
  std::vector<std::size_t> poll() {
    std::vector<std::size_t> victims;
    for (bool any = true; any;) {
      any = false;
      for (std::size_t number = 0; number < workers_.size(); ++number) {
        const Worker& worker = workers_[number];
        if (runs(number) || worker.owner.granted.own() == worker.owner.before_wait) continue;
        any = true;
        if (!end_wait(number)) victims.push_back(number);
      }
    }
    return victims;
  }

  /// Stops a worker that waits.
  void stop(std::size_t number) {
    stop_.store(1, std::memory_order_relaxed);
    end_wait(number);
    stop_.store(0, std::memory_order_relaxed);
  }

  /// Whether two that are incompatible hold a lock on one record.
  [[nodiscard]] bool conflicts() const {
    struct Holders {
      int shared = 0;
      int exclusive = 0;
    };
    std::vector<Holders> holders(records_.size());
    for (const Worker& worker : workers_) {
      for (const LockRequest<M>& request : worker.held) {
        Holders& of_record = holders[record_of(request)];
        if (&request == worker.waiting) {
          of_record.shared += worker.upgrades ? 1 : 0;
        } else {
          (request.exclusive ? of_record.exclusive : of_record.shared) += 1;
        }
      }
    }
    return std::any_of(holders.begin(), holders.end(), [](const Holders& of_record) {
      return of_record.exclusive > 1 || (of_record.exclusive == 1 && of_record.shared > 0);
    });
  }

  /// Whether a transaction that waits for the record would wait for itself.
  [[nodiscard]] bool would_wait_for_itself(std::size_t number, std::size_t record) const {
    std::vector<bool> met(workers_.size());
    return reaches(number, record, number, met);
  }
  [[nodiscard]] bool has_cycle() const {
    std::vector<Visit> visits(workers_.size(), Visit::none);
    for (std::size_t number = 0; number < workers_.size(); ++number) {
      if (closes_cycle(number, visits)) return true;
    }
    return false;
  }

  [[nodiscard]] std::size_t record_of(const LockRequest<M>& request) const {
    return static_cast<std::size_t>(request.record - records_.data());
  }

 private:
  static std::unique_ptr<WaitGraph<M>> graph(std::size_t workers, const LockingOptions& options) {
    if (options.rule != ConflictRule::detect) return nullptr;
    return std::make_unique<WaitGraph<M>>(static_cast<int>(workers), kTypes,
                                          grant::make_policy(options.grant, options.policy),
                                          options.policy.exact);
  }

  LockAnswer answered(std::size_t number, LockAnswer answer, LockRequest<M>& request,
                      bool upgrades) {
    Worker& worker = workers_[number];
    if (answer == LockAnswer::waits) {
      worker.state = State::waits;
      worker.waiting = &request;
      worker.upgrades = upgrades;
    } else if (answer == LockAnswer::dies) {
      if (!upgrades) worker.held.pop_back();
      ++worker.losses;
    }
    return answer;
  }

  bool end_wait(std::size_t number) {
    Worker& worker = workers_[number];
    const bool granted = table_.await(*worker.waiting);
    worker.state = State::runs;
    worker.waiting = nullptr;
    if (granted) return true;
    if (!worker.upgrades) worker.held.pop_back();
    ++worker.losses;
    release(number);
    return false;
  }

  enum class Visit : std::uint8_t { none, begun, ended };

  /// Whether one of those that the worker waits for, directly or not, waits for another of them.
  bool closes_cycle(std::size_t number, std::vector<Visit>& visits) const {
    if (visits[number] != Visit::none) return visits[number] == Visit::begun;
    visits[number] = Visit::begun;
    if (!runs(number)) {
      const std::size_t record = record_of(*workers_[number].waiting);
      for (std::size_t other = 0; other < workers_.size(); ++other) {
        if (other == number || !holds(other, record)) continue;
        if (closes_cycle(other, visits)) return true;
      }
    }
    visits[number] = Visit::ended;
    return false;
  }

  bool reaches(std::size_t number, std::size_t record, std::size_t target,
               std::vector<bool>& met) const {
    for (std::size_t other = 0; other < workers_.size(); ++other) {
      if (other == number || !holds(other, record)) continue;
      if (other == target) return true;
      if (met[other] || runs(other)) continue;
      met[other] = true;
      if (reaches(other, record_of(*workers_[other].waiting), target, met)) return true;
    }
    return false;
  }

  Shared<M, std::uint64_t> stop_{0};
  std::vector<Record<M>> records_;
  ConflictRule rule_;
  std::vector<Worker> workers_;
  LockTable<M> table_;
  std::uint64_t clock_ = 0;
};

}  // namespace heddle::test
