#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace heddle {

/// A row by its table and its key in one word (word_of(), storage/key.h). Two rows whose words are
/// equal are one row to a lock.
struct LockedKey {
  std::size_t table;
  std::uint64_t key;
  auto operator<=>(const LockedKey&) const = default;
};

struct KeyRequest {
  LockedKey row;
  bool exclusive;
};

/// The rows that one worker locks together, each once, in the order of their keys.
class KeyRequests {
 public:
  void clear() { requests_.clear(); }
  void add(const LockedKey& row, bool exclusive) { requests_.push_back({row, exclusive}); }

  /// Call it after the last add().
  void sort() {
    // Of several requests for a row the exclusive one comes first, and remains.
    std::sort(requests_.begin(), requests_.end(), [](const KeyRequest& one, const KeyRequest& two) {
      return one.row != two.row ? one.row < two.row : one.exclusive > two.exclusive;
    });
    const auto end = std::unique(
        requests_.begin(), requests_.end(),
        [](const KeyRequest& one, const KeyRequest& two) { return one.row == two.row; });
    requests_.erase(end, requests_.end());
  }

  /// Whether the lock of a row is among them, in that mode or a stronger one.
  [[nodiscard]] bool covers(const LockedKey& row, bool exclusive) const {
    const auto found =
        std::lower_bound(requests_.begin(), requests_.end(), row,
                         [](const KeyRequest& one, const LockedKey& key) { return one.row < key; });
    return found != requests_.end() && found->row == row && (found->exclusive || !exclusive);
  }

  [[nodiscard]] std::span<const KeyRequest> all() const { return requests_; }

 private:
  std::vector<KeyRequest> requests_;
};

/// Locks on rows outside of the store that has them, shared and exclusive.
///
/// A worker locks all rows that its transaction names before the transaction begins, in one order
/// common to all workers, so that no two of them wait for each other (DIBS, Gaffney et al., PVLDB
/// 14, 2021, §3.1). Each lock is granted first come, first served: no request is overtaken, and
/// none starves. A transaction in a store takes far longer than an operation here, so one mutex
/// guards all locks.
class KeyLocks {
 public:
  /// @param stop nonzero: every wait must end
  explicit KeyLocks(const std::atomic<std::uint64_t>* stop) : stop_(stop) {}

  /// Waits until all requests are granted. False: the run ended first, and none is held.
  [[nodiscard]] bool lock(std::span<const KeyRequest> requests) {
    std::unique_lock guard(mutex_);
    for (std::size_t at = 0; at < requests.size(); ++at) {
      if (take(guard, requests[at])) continue;
      release(requests.first(at));
      return false;
    }
    return true;
  }

  void unlock(std::span<const KeyRequest> requests) {
    const std::lock_guard guard(mutex_);
    release(requests);
  }

  /// Ends all waits, after the stop word has been set.
  void wake() {
    const std::lock_guard guard(mutex_);
    for (auto& [row, lock] : locks_) {
      for (Waiter* waiter : lock.waiting) waiter->called.notify_one();
    }
  }

  /// The number of rows that are locked.
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard guard(mutex_);
    return locks_.size();
  }

 private:
  struct Waiter {
    bool exclusive;
    bool granted = false;
    std::condition_variable called = {};
  };

  struct Lock {
    std::size_t holders = 0;
    bool exclusive = false;       ///< its one holder has it alone
    std::deque<Waiter*> waiting;  ///< first come first; each is on its owner's stack

    [[nodiscard]] bool admits(bool alone) const { return holders == 0 || (!exclusive && !alone); }
    void grant(bool alone) {
      ++holders;
      exclusive = alone;
    }
  };

  struct Hash {
    std::size_t operator()(const LockedKey& row) const {
      constexpr std::uint64_t kSpread = 0x9e37'79b9'7f4a'7c15;
      return (row.key ^ row.table) * kSpread;
    }
  };

  [[nodiscard]] bool stopped() const {
    // relaxed: it carries no data, and wake() comes after it, through the mutex.
    return stop_->load(std::memory_order_relaxed) != 0;
  }

  bool take(std::unique_lock<std::mutex>& guard, const KeyRequest& request) {
    Lock& lock = locks_[request.row];  // a reference into the map outlives other insertions
    if (lock.waiting.empty() && lock.admits(request.exclusive)) {
      lock.grant(request.exclusive);
      return true;
    }
    Waiter waiter{.exclusive = request.exclusive};
    lock.waiting.push_back(&waiter);
    waiter.called.wait(guard, [&] { return waiter.granted || stopped(); });
    if (waiter.granted) return true;
    std::erase(lock.waiting, &waiter);
    pass_on(request.row, lock);  // those behind it may be compatible with the holders
    return false;
  }

  void release(std::span<const KeyRequest> requests) {
    for (const KeyRequest& request : requests) {
      const auto found = locks_.find(request.row);
      --found->second.holders;
      pass_on(request.row, found->second);
    }
  }

  /// Grants a lock to those that have waited longest, and forgets a lock that is free.
  void pass_on(const LockedKey& row, Lock& lock) {
    while (!lock.waiting.empty() && lock.admits(lock.waiting.front()->exclusive)) {
      Waiter& next = *lock.waiting.front();
      lock.waiting.pop_front();
      lock.grant(next.exclusive);
      next.granted = true;
      next.called.notify_one();
    }
    if (lock.holders == 0 && lock.waiting.empty()) locks_.erase(row);
  }

  const std::atomic<std::uint64_t>* stop_;
  mutable std::mutex mutex_;
  std::unordered_map<LockedKey, Lock, Hash> locks_;  ///< those that are held or waited for
};

}  // namespace heddle
