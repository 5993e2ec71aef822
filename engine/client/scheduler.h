#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include "client/queue.h"
#include "client/request.h"

namespace heddle::client {

/// One queue of the waiting transactions of an application, which starts those that may run.
///
/// With Mode::kSmf it is the scheduler of Cheng et al., "Towards Optimal Transaction Scheduling",
/// VLDB 2024, §4.1.3, where a key is free when those that use it have ended, not when they are
/// expected to: of the transactions that conflict with no running one the oldest starts.
///
/// The oldest waiting one is *due* once `barrier` later ones have started since it is the oldest,
/// or when it has been the oldest for `longest_wait`. It then takes the next free place, whatever
/// conflicts, and no other starts before. With Mode::kLocks none is ever due. Time and starts count
/// from when it is the oldest: in a long queue for one key all would be due otherwise.
///
/// It knows neither threads nor connections. A transaction in a database takes far longer than an
/// operation here, so one mutex guards everything. No function waits for anything else.
class Scheduler final : public Queue {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Scheduler(const Options& options = {}) : options_(options) {}

  Submitted submit(Request request) override;
  bool on_start(Ticket ticket, std::function<void()> call) override;
  bool cancel(Ticket ticket) override;
  void release(Ticket ticket) override;
  void force(Ticket ticket) override;
  std::optional<std::chrono::microseconds> poll(Ticket ticket) override;

  /// Replaces the options. Running transactions keep their keys; waiting ones keep their order.
  void configure(const Options& options);

  void enable(bool on) override;
  [[nodiscard]] bool enabled() const override;
  [[nodiscard]] Counters counters() const override;
  [[nodiscard]] std::chrono::microseconds oldest_wait() const override;

  [[nodiscard]] Options options() const;

  /// Keys that running or waiting transactions name.
  [[nodiscard]] std::size_t keys() const;

 private:
  static constexpr std::chrono::microseconds kLeastPause{1'000};

  using Calls = std::list<std::function<void()>>;  // elements move between lists: no allocation

  struct Transaction {
    Request request;
    Clock::time_point since;
    bool holds = false;  ///< it runs, and its keys count
    Calls started = {};  ///< at most one
  };
  using Transactions = std::map<Ticket, Transaction>;  // nodes move between maps: no allocation

  struct Waiter {
    bool exclusive;
    Transaction* transaction;
  };

  /// A key that is named by a running or waiting transaction.
  struct KeyState {
    std::size_t readers = 0;
    std::size_t writers = 0;  ///< more than one only if some were forced
    std::map<Ticket, Waiter> waiting = {};
  };

  [[nodiscard]] bool names_keys(const Transaction& transaction) const {
    return transaction.request.scheduled || options_.mode == Mode::kLocks;
  }
  [[nodiscard]] bool place_free() const {
    return options_.concurrency == 0 || running_.size() < options_.concurrency;
  }
  [[nodiscard]] bool oldest_due(Clock::time_point now) const {
    return options_.mode == Mode::kSmf &&
           (overtaken_ >= options_.barrier || now - oldest_since_ >= options_.longest_wait);
  }
  void oldest_changes(Clock::time_point now) {
    overtaken_ = 0;
    oldest_since_ = now;
  }

  [[nodiscard]] bool may_start(Ticket ticket, const Transaction& transaction) const;
  void enqueue(Ticket ticket, Transaction& transaction);
  void dequeue(Ticket ticket, const Transaction& transaction);
  void offer(const Transaction& transaction);
  void drop_key_if_unused(std::uint64_t hash);
  void withdraw(Transactions::iterator at, Clock::time_point now);
  void start(Transactions::iterator at, Clock::time_point now, Calls& calls);
  void dispatch(Clock::time_point now, Calls& calls);
  static void call_all(Calls& calls) {
    for (const std::function<void()>& call : calls) call();
  }

  mutable std::mutex mutex_;
  Options options_;
  bool enabled_ = true;
  Ticket last_ = kUnscheduled;
  std::uint64_t overtaken_ = 0;  ///< starts of others since the oldest waiting one is the oldest
  Clock::time_point oldest_since_;
  Transactions waiting_;  ///< oldest first
  Transactions running_;
  std::set<Ticket> runnable_;  ///< waiting ones that had no conflict when it was last checked
  std::unordered_map<std::uint64_t, KeyState> keys_;
  Counters counters_;
};

inline bool Scheduler::may_start(Ticket ticket, const Transaction& transaction) const {
  if (options_.mode == Mode::kFifo || !names_keys(transaction)) return true;
  for (const Key& key : transaction.request.keys) {
    const auto found = keys_.find(key.hash);
    if (found == keys_.end()) continue;
    const KeyState& state = found->second;
    if (state.writers > 0 || (key.exclusive && state.readers > 0)) return false;
    if (options_.mode != Mode::kLocks) continue;
    for (const auto& [other, waiter] : state.waiting) {
      if (other >= ticket) break;
      if (waiter.exclusive || key.exclusive) return false;
    }
  }
  return true;
}

inline void Scheduler::enqueue(Ticket ticket, Transaction& transaction) {
  if (names_keys(transaction)) {
    for (const Key& key : transaction.request.keys) {
      keys_[key.hash].waiting.emplace(ticket, Waiter{key.exclusive, &transaction});
    }
  }
  if (may_start(ticket, transaction)) runnable_.insert(ticket);
}

inline void Scheduler::dequeue(Ticket ticket, const Transaction& transaction) {
  runnable_.erase(ticket);
  for (const Key& key : transaction.request.keys) {
    const auto found = keys_.find(key.hash);
    if (found != keys_.end()) found->second.waiting.erase(ticket);
  }
}

inline void Scheduler::drop_key_if_unused(std::uint64_t hash) {
  const auto found = keys_.find(hash);
  if (found == keys_.end()) return;
  const KeyState& state = found->second;
  if (state.readers == 0 && state.writers == 0 && state.waiting.empty()) keys_.erase(found);
}

/// Finds those that may start because a transaction has left its keys.
///
/// Behind the first that needs a key alone, no other is runnable until that one has run, or has
/// left the set of runnable ones: its keys are then offered again. So a long queue for one key is
/// not searched by each that ends.
inline void Scheduler::offer(const Transaction& transaction) {
  if (options_.mode == Mode::kFifo) return;  // all that wait are runnable
  for (const Key& key : transaction.request.keys) {
    const auto found = keys_.find(key.hash);
    if (found == keys_.end() || found->second.writers > 0) continue;
    for (const auto& [ticket, waiter] : found->second.waiting) {
      if (waiter.exclusive && found->second.readers > 0) {
        if (options_.mode == Mode::kLocks) break;
        continue;
      }
      const bool runnable = may_start(ticket, *waiter.transaction);
      if (runnable) runnable_.insert(ticket);
      // With locks nothing overtakes one that needs the key alone.
      if (waiter.exclusive && (runnable || options_.mode == Mode::kLocks)) break;
    }
  }
}

inline void Scheduler::withdraw(Transactions::iterator at, Clock::time_point now) {
  if (at == waiting_.begin()) oldest_changes(now);
  dequeue(at->first, at->second);
  const auto node = waiting_.extract(at);
  offer(node.mapped());
  for (const Key& key : node.mapped().request.keys) drop_key_if_unused(key.hash);
}

inline void Scheduler::start(Transactions::iterator at, Clock::time_point now, Calls& calls) {
  Transaction& transaction = at->second;
  const bool overtakes = at != waiting_.begin();
  calls.splice(calls.end(), transaction.started);
  dequeue(at->first, transaction);
  transaction.holds = names_keys(transaction);
  if (transaction.holds) {
    for (const Key& key : transaction.request.keys) {
      KeyState& state = keys_[key.hash];  // it is there: enqueue() has made it
      ++(key.exclusive ? state.writers : state.readers);
    }
  }
  ++counters_.started;
  if (overtakes) {
    ++overtaken_;
    ++counters_.overtakings;
  } else {
    oldest_changes(now);
  }
  const auto wait = std::chrono::duration_cast<std::chrono::microseconds>(now - transaction.since);
  counters_.longest_wait = std::max(counters_.longest_wait, wait);
  running_.insert(waiting_.extract(at));
}

inline void Scheduler::dispatch(Clock::time_point now, Calls& calls) {
  while (place_free() && !waiting_.empty()) {
    const auto oldest = waiting_.begin();
    if (oldest_due(now)) {
      if (!may_start(oldest->first, oldest->second)) ++counters_.forced;
      start(oldest, now, calls);
      continue;
    }
    if (runnable_.empty()) return;
    const auto next = waiting_.find(*runnable_.begin());
    if (may_start(next->first, next->second)) {
      start(next, now, calls);
      continue;
    }
    // One that started since conflicts with it, but not with all that wait for the same keys.
    runnable_.erase(next->first);
    offer(next->second);
  }
}

inline Scheduler::Submitted Scheduler::submit(Request request) {
  merge_keys(request.keys);
  Calls calls;
  Submitted submitted{kUnscheduled, true};
  {
    const std::lock_guard guard(mutex_);
    if (!enabled_) {
      ++counters_.passed;
      return submitted;
    }
    const Clock::time_point now = Clock::now();
    const Ticket ticket = ++last_;
    const auto [at, added] =
        waiting_.emplace(ticket, Transaction{.request = std::move(request), .since = now});
    if (waiting_.size() == 1) oldest_changes(now);
    try {
      enqueue(ticket, at->second);
    } catch (...) {
      withdraw(at, now);
      throw;
    }
    dispatch(now, calls);
    submitted = {ticket, running_.contains(ticket)};
    if (!submitted.started) ++counters_.waited;
  }
  call_all(calls);
  return submitted;
}

inline bool Scheduler::on_start(Ticket ticket, std::function<void()> call) {
  const std::lock_guard guard(mutex_);
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return false;
  found->second.started.push_back(std::move(call));
  return true;
}

inline bool Scheduler::cancel(Ticket ticket) {
  Calls calls;
  Calls dropped;  // it is destroyed without the mutex
  {
    const std::lock_guard guard(mutex_);
    const auto found = waiting_.find(ticket);
    if (found == waiting_.end()) return false;
    dropped.splice(dropped.end(), found->second.started);
    ++counters_.cancelled;
    const Clock::time_point now = Clock::now();
    withdraw(found, now);
    dispatch(now, calls);
  }
  call_all(calls);
  return true;
}

inline void Scheduler::release(Ticket ticket) {
  if (ticket == kUnscheduled) return;
  Calls calls;
  {
    const std::lock_guard guard(mutex_);
    const auto found = running_.find(ticket);
    if (found == running_.end()) {
      throw std::invalid_argument("transaction " + std::to_string(ticket) +
                                  " does not run: release a transaction once, after it started");
    }
    const auto node = running_.extract(found);
    const Transaction& transaction = node.mapped();
    if (transaction.holds) {
      for (const Key& key : transaction.request.keys) {
        KeyState& state = keys_.find(key.hash)->second;
        --(key.exclusive ? state.writers : state.readers);
      }
      offer(transaction);
      for (const Key& key : transaction.request.keys) drop_key_if_unused(key.hash);
    }
    if (!waiting_.empty()) dispatch(Clock::now(), calls);
  }
  call_all(calls);
}

inline void Scheduler::force(Ticket ticket) {
  Calls calls;
  {
    const std::lock_guard guard(mutex_);
    const auto found = waiting_.find(ticket);
    if (found == waiting_.end()) return;
    ++counters_.forced;
    start(found, Clock::now(), calls);
  }
  call_all(calls);
}

inline std::optional<std::chrono::microseconds> Scheduler::poll(Ticket ticket) {
  Calls calls;
  std::optional<std::chrono::microseconds> next;
  {
    const std::lock_guard guard(mutex_);
    const Clock::time_point now = Clock::now();
    dispatch(now, calls);
    // Most wait for a release(), which starts them. Time matters to one that becomes the oldest.
    next = std::max(options_.longest_wait, kLeastPause);
    const auto found = waiting_.find(ticket);
    if (found == waiting_.end()) {
      next.reset();
    } else if (options_.mode == Mode::kSmf && found == waiting_.begin() && !oldest_due(now)) {
      next =
          std::chrono::ceil<std::chrono::microseconds>(oldest_since_ + options_.longest_wait - now);
    }
  }
  call_all(calls);
  return next;
}

inline void Scheduler::configure(const Options& options) {
  Calls calls;
  {
    const std::lock_guard guard(mutex_);
    for (auto& [ticket, transaction] : waiting_) dequeue(ticket, transaction);
    options_ = options;
    for (auto& [ticket, transaction] : waiting_) enqueue(ticket, transaction);
    for (auto& [ticket, transaction] : waiting_) {
      for (const Key& key : transaction.request.keys) drop_key_if_unused(key.hash);
    }
    dispatch(Clock::now(), calls);
  }
  call_all(calls);
}

inline void Scheduler::enable(bool on) {
  Calls calls;
  {
    const std::lock_guard guard(mutex_);
    enabled_ = on;
    const Clock::time_point now = Clock::now();
    while (!on && !waiting_.empty()) {
      ++counters_.forced;
      start(waiting_.begin(), now, calls);
    }
  }
  call_all(calls);
}

inline bool Scheduler::enabled() const {
  const std::lock_guard guard(mutex_);
  return enabled_;
}

inline Options Scheduler::options() const {
  const std::lock_guard guard(mutex_);
  return options_;
}

inline Counters Scheduler::counters() const {
  const std::lock_guard guard(mutex_);
  Counters counters = counters_;
  counters.running = running_.size();
  counters.waiting = waiting_.size();
  return counters;
}

inline std::chrono::microseconds Scheduler::oldest_wait() const {
  const std::lock_guard guard(mutex_);
  if (waiting_.empty()) return std::chrono::microseconds{0};
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() -
                                                               waiting_.begin()->second.since);
}

inline std::size_t Scheduler::keys() const {
  const std::lock_guard guard(mutex_);
  return keys_.size();
}

}  // namespace heddle::client
