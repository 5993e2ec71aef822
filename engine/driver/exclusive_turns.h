#pragma once

#include <atomic>
#include <cstdint>

#include "machine/shared.h"
#include "machine/signal.h"

namespace heddle {

/// Bounds how often a transaction aborts, under any protocol: one that has aborted too often takes
/// a turn, in which no other transaction begins an attempt. Attempts that run already end, and then
/// it runs without others and cannot conflict.
///
/// Turns are taken in the order of requests, so none waits for more turns than there are workers.
///
/// A worker holds nothing between two attempts, and waits here only then. So the transaction whose
/// turn it is never waits for one that waits here, and no cycle closes.
///
/// Serializability does not depend on any of this, so no order between these words and those of the
/// database is needed: a worker that misses a request begins one more attempt.
template <class M>
class ExclusiveTurns {
 public:
  using Ticket = std::uint64_t;
  static constexpr Ticket kNone = 0;

  /// Whether some transaction has a turn or waits for one. One load of a line that hardly anyone
  /// writes; simulated cores are not charged for it, so that results without turns are the same.
  [[nodiscard]] bool any() const { return requests_.peek() != 0; }

  /// Requests a turn. Never kNone.
  [[nodiscard]] Ticket request() {
    // relaxed: a count, which makes any() true and stops the others within an attempt each.
    requests_.fetch_add(1, std::memory_order_relaxed);
    // relaxed: only the order of the numbers matters.
    return tickets_.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  /// Waits for the turn of a ticket.
  template <class Stopped>
  void await(Ticket ticket, Stopped stopped) {
    ended_.wait([ticket](std::uint64_t value) { return value >> kShift == ticket - 1; }, stopped);
  }
  /// Waits until there is no turn.
  template <class Stopped>
  void await_none(Stopped stopped) {
    ended_.wait([this](std::uint64_t) { return none(); }, stopped);
  }
  [[nodiscard]] bool is_turn_of(Ticket ticket) const {
    return ended_.load() >> kShift == ticket - 1;
  }
  [[nodiscard]] bool none() const {
    // relaxed: as in request().
    return requests_.load(std::memory_order_relaxed) == 0;
  }

  /// Ends the turn of a ticket, by its transaction.
  void end(Ticket ticket) {
    // relaxed: the exchange of the signal releases it to those that the signal wakes.
    requests_.fetch_add(~std::uint64_t{0}, std::memory_order_relaxed);
    ended_.publish(ticket << kShift);
  }

 private:
  static constexpr int kShift = 1;  // bit 0 belongs to the signal

  alignas(64) Shared<M, std::uint64_t> requests_;  ///< turns requested and not ended
  alignas(64) Shared<M, std::uint64_t> tickets_;   ///< the last one given
  Signal<M> ended_;                                ///< the last ticket whose turn has ended
};

}  // namespace heddle
