#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload/replay/program.h"
#include "workload/replay/shares.h"

namespace heddle::replay {

/// Who replays what as fast as it goes: a worker takes a session, replays its transactions in the
/// order in which they were recorded, and then lays it at the end of the queue and takes the first.
///
/// Sessions come round equally often, but for those that take longer than all others together, so
/// the mix of inputs is the trace's. Were every session one worker's for good, those who wait for
/// contended rows would go round less often than those who don't, and the contention would fade out
/// of the replay. No session is two workers' at once.
class Rotation {
 public:
  /// Throws std::invalid_argument if there are fewer sessions than workers.
  Rotation(const Program& program, int workers);

  /// The next turn of a worker, which alone asks for it. Its round counts those of its session.
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
  /// The session that a worker holds, and the place of its next transaction.
  struct alignas(64) Hand {
    std::uint32_t session;
    std::uint32_t next;
  };

  /// The queue is a ring as long as there are sessions that nobody holds; its front and its end are
  /// one place, so a worker exchanges. Nobody waits for anybody.
  void pass(Hand& hand) const {
    // Relaxed: it only has to be another place each time.
    const std::uint64_t at = front_.fetch_add(1, std::memory_order_relaxed) % queue_.size();
    // Acquire and release: who takes the session sees the rounds that its last holder counted.
    hand.session = queue_[at].exchange(hand.session, std::memory_order_acq_rel);
  }

  std::vector<std::uint32_t> transactions_;  ///< by session, in their order
  std::vector<std::uint32_t> first_;         ///< by session, and one more: its place in these
  // Drawing inputs is const towards everything but whose turn it is.
  mutable std::vector<std::uint32_t> rounds_;  ///< by session; its holder's
  mutable std::vector<Hand> hands_;
  mutable std::vector<std::atomic<std::uint32_t>> queue_;
  alignas(64) mutable std::atomic<std::uint64_t> front_{0};
};

}  // namespace heddle::replay
