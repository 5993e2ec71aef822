#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "driver/session.h"
#include "machine/threads.h"
#include "model/options.h"
#include "model/random.h"

namespace heddle::test {

/// Real threads with delays: at some accesses to shared memory a thread pauses or yields its core.
/// Every window between two accesses is therefore sometimes wide open, also inside the commit
/// protocol, which a test can't reach otherwise.
struct RestlessMachine : ThreadsMachine {
  static void on_load(const void*, std::size_t = 0) noexcept { dawdle(); }
  static void on_store(const void*, std::size_t = 0) noexcept { dawdle(); }
  static void on_exchange(const void*) noexcept { dawdle(); }

 private:
  /// One access in this many is delayed.
  static constexpr std::uint64_t kSeldom = 64;
  static constexpr std::uint64_t kLongest = 128;  // pauses
  static constexpr std::uint64_t kYields = 8;     // one delay in this many yields the core

  static void dawdle() noexcept {
    static std::atomic<std::uint64_t> threads{0};
    thread_local Random random(threads.fetch_add(1, std::memory_order_relaxed));  // a seed each
    const std::uint64_t draw = random.next();
    if (draw % kSeldom != 0) [[likely]]
      return;
    if ((draw >> 32) % kYields == 0) return yield();
    for (std::uint64_t left = (draw >> 40) % kLongest; left > 0; --left) pause();
  }
};

/// open_session() of workload `generic` on that machine, for runs that are recorded.
[[nodiscard]] std::unique_ptr<Session> open_restless(const OptionMap& workload, int workers,
                                                     std::uint64_t seed,
                                                     const MachineOptions& machine);

}  // namespace heddle::test
