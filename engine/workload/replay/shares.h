#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload/replay/program.h"

namespace heddle::replay {

/// A transaction's turn: which, and how often it has been replayed before.
struct Turn {
  std::uint32_t transaction;
  std::uint32_t round;
};

/// How many transactions each session has. Throws std::invalid_argument if there are fewer sessions
/// with any than workers.
[[nodiscard]] std::vector<std::uint32_t> session_lengths(const Program& program, int workers);

/// Who replays what at the times of the trace: every session is one worker's, who replays the
/// transactions of its sessions in the order in which they were recorded, and then from the
/// beginning.
///
/// The shares are as even as whole sessions allow: the longest session first, each goes to whoever
/// has the fewest transactions. The arrivals keep the workers together.
class Shares {
 public:
  /// Throws std::invalid_argument if there are fewer sessions than workers.
  Shares(const Program& program, int workers);

  /// The turn that `next` gives a worker, which alone asks for it.
  [[nodiscard]] Turn upcoming(int worker) const {
    const Share& share = shares_[static_cast<std::size_t>(worker)];
    if (share.next == share.transactions.size()) {
      return {share.transactions.front(), share.round + 1};
    }
    return {share.transactions[share.next], share.round};
  }

  /// How many turns were given, to all workers. Quiescent only.
  [[nodiscard]] std::uint64_t given() const {
    std::uint64_t turns = 0;
    for (const Share& share : shares_) {
      turns += share.round * share.transactions.size() + share.next;
    }
    return turns;
  }

  /// The next turn of a worker, which alone asks for it.
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

  /// A worker counts in its own element only: drawing inputs is const towards everything shared.
  mutable std::vector<Share> shares_;
};

}  // namespace heddle::replay
