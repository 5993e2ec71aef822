#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "driver/session.h"
#include "machine/threads.h"
#include "model/options.h"
#include "model/random.h"

namespace heddle::test {

/// Real threads that dawdle: before an access to shared memory, now and then, a pause or the core
/// given away. So every window between two accesses is sometimes wide open, in the commit protocol
/// too, where a test can't otherwise reach.
struct RestlessMachine : ThreadsMachine {
  static void on_load(const void*, std::size_t = 0) noexcept { dawdle(); }
  static void on_store(const void*, std::size_t = 0) noexcept { dawdle(); }
  static void on_exchange(const void*) noexcept { dawdle(); }

 private:
  /// One access in so many is held up.
  static constexpr std::uint64_t kSeldom = 64;
  static constexpr std::uint64_t kLongest = 128;  // pauses
  static constexpr std::uint64_t kYields = 8;     // one hold-up in so many gives the core away

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
