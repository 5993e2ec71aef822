#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace heddle::store {

/// Admits a number of threads at a time, first come, first served, until the run ends.
class FairSemaphore {
 public:
  /// @param stop nonzero: every wait must end
  explicit FairSemaphore(const std::atomic<std::uint64_t>* stop, std::size_t permits = 1)
      : stop_(stop), free_(permits) {}

  /// Waits for a permit. False: the run ended first.
  [[nodiscard]] bool acquire() {
    std::unique_lock lock(mutex_);
    if (free_ != 0) {  // then no other waits
      --free_;
      return true;
    }
    Ticket ticket;
    waiting_.push_back(&ticket);
    ticket.called.wait(lock, [&] { return ticket.admitted || stopped(); });
    if (!ticket.admitted) std::erase(waiting_, &ticket);
    return ticket.admitted;
  }

  /// Gives a permit back, to the one that has waited longest.
  void release() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      ++free_;
      return;
    }
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
  std::size_t free_;
};

}  // namespace heddle::store
