#pragma once

#include <cstdint>

#include "machine/seeded_fault.h"
#include "machine/shared.h"

namespace heddle {

/// A word that one core publishes and others wait on: bounded spin, then park.
///
/// Bit 0 belongs to the signal: a core is parked. A publisher replaces the whole word in one
/// exchange and so learns whether to wake waiters; a waiter sets the bit on the value it saw and
/// sleeps only while the word still is that value. Both act on one word, whose modifications have
/// one order, so no wake-up is lost and no fence is needed.
template <class M>
class Signal {
 public:
  static constexpr std::uint64_t kParked = 1;
  /// The interval at which a parked waiter checks the stop flag.
  static constexpr std::uint64_t kLookUpUs = 1000;

  [[nodiscard]] std::uint64_t load() const noexcept {
    // acquire: a reader that sees progress also sees what was done before it was published.
    return word_.load(std::memory_order_acquire) & ~kParked;
  }

  /// The value as the publisher itself knows it.
  [[nodiscard]] std::uint64_t own() const noexcept { return word_.peek() & ~kParked; }

  /// Replaces the value (bit 0 clear) and wakes the waiters.
  void publish(std::uint64_t value) noexcept {
    // release is needed, for the waiters' acquire; acquire is not: no read is ordered after it.
    if ((word_.exchange(value, std::memory_order_acq_rel) & kParked) == 0) return;
    if (seeded<M>(SeededFault::lost_wake_up) && (value >> 24) % 8 == 0) return;
    M::unpark(word_.raw());
  }

  /// Waits until `done(value)` or `stopped()`; true if done.
  template <class Done, class Stopped>
  bool wait(Done done, Stopped stopped) noexcept {
    const int limit = M::spins_before_park();
    for (int spin = 0; spin < limit; ++spin) {
      if (done(load())) return true;
      M::pause();
    }
    while (!stopped()) {
      // acquire: as in load(). The bit stays set until the next publish clears it.
      const std::uint64_t seen = word_.fetch_or(kParked, std::memory_order_acquire) & ~kParked;
      if (done(seen)) return true;
      M::park(word_.raw(), seen | kParked, kLookUpUs);
    }
    return done(load());
  }

 private:
  Shared<M, std::uint64_t> word_;
};

}  // namespace heddle
