#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

namespace heddle::store {

/// Admits one writer at a time, first come, first served.
///
/// SQLite lets one transaction write, and others poll for its lock, a millisecond or more apart.
/// In the queue a writer wakes when the one before it ends.
class WriterQueue {
 public:
  explicit WriterQueue(const std::atomic<std::uint64_t>* stop) : stop_(stop) {}

  /// Waits until the caller may write. False: the run ended first.
  [[nodiscard]] bool enter() {
    std::unique_lock lock(mutex_);
    if (!taken_ && waiting_.empty()) return taken_ = true;
    Ticket ticket;
    waiting_.push_back(&ticket);
    ticket.called.wait(lock, [&] { return ticket.admitted || stopped(); });
    if (!ticket.admitted) std::erase(waiting_, &ticket);
    return ticket.admitted;
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    taken_ = !waiting_.empty();
    if (!taken_) return;
    Ticket& next = *waiting_.front();
    waiting_.pop_front();
    next.admitted = true;
    next.called.notify_one();
  }

  /// After the stop word has been set.
  void wake() {
    const std::lock_guard lock(mutex_);
    for (Ticket* ticket : waiting_) ticket->called.notify_one();
  }

 private:
  struct Ticket {
    std::condition_variable called;
    bool admitted = false;
  };

  [[nodiscard]] bool stopped() const {
    // relaxed: it carries no data, and wake() comes after it, through the mutex.
    return stop_->load(std::memory_order_relaxed) != 0;
  }

  const std::atomic<std::uint64_t>* stop_;
  std::mutex mutex_;
  std::deque<Ticket*> waiting_;  ///< first come first; the tickets are on their owners' stacks
  bool taken_ = false;
};

}  // namespace heddle::store
