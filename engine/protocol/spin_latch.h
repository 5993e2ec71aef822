#pragma once

#include <atomic>
#include <cstdint>

#include "machine/shared.h"

namespace heddle {

/// A latch held for some hundred instructions.
template <class M>
class SpinLatch {
 public:
  void latch() noexcept {
    int spins = 0;
    // acquire: what it guards, as the last holder left it.
    while (latched_.exchange(1, std::memory_order_acquire) != 0) M::relax(spins);
  }
  void unlatch() noexcept { latched_.store(0, std::memory_order_release); }  // release: as above

 private:
  Shared<M, std::uint64_t> latched_;
};

}  // namespace heddle
