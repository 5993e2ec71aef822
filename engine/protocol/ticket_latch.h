#pragma once

#include <atomic>
#include <cstdint>

#include "machine/shared.h"

namespace heddle {

/// A latch that is granted in the order of requests, and a number that its holders pass on.
///
/// A waiter looks at the latch the less often, the more others are before it. If all looked all the
/// time, each grant would move the line to every waiter, one after the other, before the next
/// holder could go on.
template <class M>
class TicketLatch {
 public:
  TicketLatch() = default;
  /// @param first the first ticket, for a test of the bound
  explicit TicketLatch(std::uint32_t first)
      : tickets_(first), state_(std::uint64_t{first} << kTurnShift) {}

  /// The number as the last holder left it. Read without the latch, it may be out of date at once.
  [[nodiscard]] std::uint32_t number() const noexcept {
    // acquire: pairs with the unlatch that changed the number.
    return static_cast<std::uint32_t>(state_.load(std::memory_order_acquire));
  }

  void latch() noexcept {
    // relaxed: the order of requests carries no data; the load of the turn acquires.
    const auto ticket =
        static_cast<std::uint32_t>(tickets_.fetch_add(1, std::memory_order_relaxed));
    int spins = 0;
    while (true) {
      const std::uint32_t before = ticket - turn();
      if (before == 0) return;
      for (std::uint32_t i = 0; i < (before - 1) * kPausesPerHolder; ++i) M::pause();
      M::relax(spins);
    }
  }

  [[nodiscard]] bool try_latch() noexcept {
    // relaxed: the compare-exchange decides, and turn() acquires.
    std::uint64_t next = tickets_.load(std::memory_order_relaxed);
    return static_cast<std::uint32_t>(next) == turn() &&
           tickets_.compare_exchange(next, next + 1, std::memory_order_relaxed);
  }

  void unlatch(std::uint32_t number) noexcept {
    const std::uint64_t turn = (state_.peek() >> kTurnShift) + 1;
    // release: what the latch guards, as this holder leaves it.
    state_.store((turn << kTurnShift) | number, std::memory_order_release);
  }

 private:
  static constexpr int kTurnShift = 32;
  /// Less than the time that a holder takes: to look too late costs all that wait behind.
  static constexpr std::uint32_t kPausesPerHolder = 2;

  [[nodiscard]] std::uint32_t turn() const noexcept {
    // acquire: what the latch guards, as the last holder left it.
    return static_cast<std::uint32_t>(state_.load(std::memory_order_acquire) >> kTurnShift);
  }

  // Tickets start over after 2^32. Those that wait at one time are as many as there are workers.
  Shared<M, std::uint64_t> tickets_;  ///< the requests so far; the low 32 bits are the next ticket
  Shared<M, std::uint64_t> state_;    ///< [ the ticket that holds the latch 32 | number 32 ]
};

}  // namespace heddle
