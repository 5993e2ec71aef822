#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload/replay/program.h"
#include "workload/replay/shares.h"

namespace heddle::replay {

/// Distributes sessions for a replay at full speed: a worker takes a session, replays its
/// transactions in the order in which they were recorded, appends it to the queue and takes the
/// first one.
///
/// Sessions are replayed equally often, except for those that take longer than all others together,
/// so the mix of inputs is the trace's. If every session belonged to one worker for good, sessions
/// that wait for contended rows would be replayed less often than others, and the contention of the
/// replay would fade. No two workers have the same session at once.
class Rotation {
 public:
  /// Throws std::invalid_argument if there are fewer sessions than workers.
  Rotation(const Program& program, int workers);

  /// The next turn of a worker, called only by that worker. Its round counts those of its session.
  [[nodiscard]] Turn next(int worker) const {
    Hand& hand = hands_[static_cast<std::size_t>(worker)];
    if (hand.next == first_[hand.session + 1]) {
      ++rounds_[hand.session];
      if (!queue_.empty()) pass(hand);
      hand.next = first_[hand.session];
    }
    return {transactions_[hand.next++], rounds_[hand.session]};
  }

 private:
  /// The session that a worker holds, and the position of its next transaction.
  struct alignas(64) Hand {
    std::uint32_t session;
    std::uint32_t next;
  };

  /// The queue is a ring whose length is the number of sessions without a worker; its front and its
  /// end are one slot, so a worker exchanges its session for another. No worker waits.
  void pass(Hand& hand) const {
    // Relaxed: it only has to be a different slot each time.
    const std::uint64_t at = front_.fetch_add(1, std::memory_order_relaxed) % queue_.size();
    // Acquire and release: a worker that takes the session sees the rounds that its last holder
    // counted.
    hand.session = queue_[at].exchange(hand.session, std::memory_order_acq_rel);
  }

  std::vector<std::uint32_t> transactions_;  ///< by session, in their order
  std::vector<std::uint32_t> first_;         ///< by session, and one more: its position in these
  // Drawing inputs is const towards everything except the turns.
  mutable std::vector<std::uint32_t> rounds_;  ///< by session; its holder's
  mutable std::vector<Hand> hands_;
  mutable std::vector<std::atomic<std::uint32_t>> queue_;
  alignas(64) mutable std::atomic<std::uint64_t> front_{0};
};

}  // namespace heddle::replay
