#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload/replay/program.h"

namespace heddle::replay {

/// A turn: a transaction, and the number of times it has been replayed before.
struct Turn {
  std::uint32_t transaction;
  std::uint32_t round;
};

/// The number of transactions of each session. Throws std::invalid_argument if fewer sessions than
/// workers have any.
[[nodiscard]] std::vector<std::uint32_t> session_lengths(const Program& program, int workers);

/// Distributes sessions for a replay at the times of the trace: every session belongs to one
/// worker, which replays the transactions of its sessions in the order in which they were recorded,
/// and then starts over.
///
/// The shares are as even as whole sessions allow: starting with the longest session, each is
/// assigned to the worker with the fewest transactions. The arrival times keep the workers
/// together.
class Shares {
 public:
  /// Throws std::invalid_argument if there are fewer sessions than workers.
  Shares(const Program& program, int workers);

  /// The turn that `next` will give a worker, called only by that worker.
  [[nodiscard]] Turn upcoming(int worker) const {
    const Share& share = shares_[static_cast<std::size_t>(worker)];
    if (share.next == share.transactions.size()) {
      return {share.transactions.front(), share.round + 1};
    }
    return {share.transactions[share.next], share.round};
  }

  /// The number of turns given to all workers. Quiescent only.
  [[nodiscard]] std::uint64_t given() const {
    std::uint64_t turns = 0;
    for (const Share& share : shares_) {
      turns += share.round * share.transactions.size() + share.next;
    }
    return turns;
  }

  /// The next turn of a worker, called only by that worker.
  [[nodiscard]] Turn next(int worker) const {
    Share& share = shares_[static_cast<std::size_t>(worker)];
    if (share.next == share.transactions.size()) {
      share.next = 0;
      ++share.round;
    }
    return {share.transactions[share.next++], share.round};
  }

 private:
  struct alignas(64) Share {
    std::vector<std::uint32_t> transactions;
    std::size_t next = 0;
    std::uint32_t round = 0;
  };

  /// A worker writes only its own element: drawing inputs is const towards everything shared.
  mutable std::vector<Share> shares_;
};

}  // namespace heddle::replay
