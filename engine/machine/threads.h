#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#include <x86intrin.h>
#endif

#include "machine/core_recorder.h"
#include "machine/options.h"

namespace heddle {

/// How a crew of workers is started.
struct CrewOptions {
  int workers = 1;
  bool pin = true;                     ///< pin worker w to the w-th core this process may use
  std::uint64_t poll_us = 2000;        ///< interval of the monitor
  std::uint64_t grace_us = 5'000'000;  ///< how long workers may take to leave after the stop
  /// Whether workers without a core of their own take turns at transaction boundaries. If false,
  /// the kernel preempts them anywhere: slower, and the harder test.
  bool take_turns = true;
};

class Turns;

/// One worker of a crew, as it sees itself between transactions.
///
/// Where there are more workers than cores, as many run as there are cores, and each passes its
/// turn on at a transaction boundary. A worker that holds a lock, or is waited for, is therefore
/// running: no convoy forms behind a worker that the kernel has descheduled.
class CrewMember {
 public:
  CrewMember(int worker, Turns* turns) : worker_(worker), turns_(turns) {}

  [[nodiscard]] int worker() const { return worker_; }
  /// Whether workers take turns at all.
  [[nodiscard]] bool crowded() const { return turns_ != nullptr; }
  /// Whether this worker's turn has ended, so that it should pass it on.
  [[nodiscard]] bool turn_over(std::uint64_t now) const { return crowded() && now >= turn_end_; }
  /// Lets another worker run, and waits for its own next turn. It must hold nothing.
  void pass_turn();
  /// Waits for `duration`, during part of which another worker may have its turn. The worker must
  /// hold nothing. Returns early once `stop` is set.
  void rest(std::uint64_t duration, const std::atomic<std::uint64_t>& stop);

 private:
  friend class Turns;
  int worker_;
  Turns* turns_;
  std::uint64_t turn_end_ = 0;
};

/// The production machine: pinned threads, real atomics, the time-stamp counter.
///
/// A machine is a set of static functions; protocol, storage and workload code is a template over
/// it and names no thread, clock or pause of its own. Here every memory hook is empty. A simulated
/// machine implements the same functions differently.
struct ThreadsMachine : CoreRecorder {
  static constexpr std::string_view kKind = "threads";
  static constexpr int kMostCores = 1024;
  /// Whether all workers of a crew run in the thread that starts it.
  static constexpr bool kSingleThreaded = false;
  /// Whether recording takes time. If so, a sample of the transactions can be recorded, accesses
  /// are recorded by an observer, and neither keys nor events that only drawings show are.
  static constexpr bool kSamples = true;

  /// Hooks before an access to shared memory: nothing to charge on real hardware.
  static void on_load(const void*, std::size_t = 0) noexcept {}
  static void on_store(const void*, std::size_t = 0) noexcept {}
  static void on_exchange(const void*) noexcept {}
  /// Hooks before a procedure looks a row up, before it inserts one, before it continues with a row
  /// it has or a scan reaches one, before concurrency control beyond Silo's acts, and before a
  /// transaction begins: empty as well.
  static void on_lookup() noexcept {}
  static void on_insert() noexcept {}
  static void on_row() noexcept {}
  static void on_control() noexcept {}
  static void on_transaction() noexcept {}

  /// Starts fetching some cache lines without waiting for them.
  static void prefetch(const std::byte* from, std::size_t bytes) noexcept {
    constexpr std::size_t kLine = 64;
    for (std::size_t at = 0; at < bytes; at += kLine) {
#if defined(__x86_64__)
      // Not __builtin_prefetch: gcc treats a function that does nothing else as one without effect,
      // and drops calls of it.
      __asm__ volatile("prefetcht0 %0" : : "m"(from[at]));
#else
      __builtin_prefetch(from + at);
#endif
    }
  }

  /// Whether rows are fetched before they are used (storage/look_ahead.h), and how.
  [[nodiscard]] static constexpr bool looks_ahead() noexcept { return true; }
  static void fetch_ahead(const void* from, std::size_t bytes) noexcept {
    prefetch(static_cast<const std::byte*>(from), bytes);
  }

  /// A number for hashing shared objects, and a number for a global order of them: the address.
  [[nodiscard]] static std::uintptr_t number_of(const void* object) noexcept {
    return reinterpret_cast<std::uintptr_t>(object);
  }
  [[nodiscard]] static std::uintptr_t order_of(const void* object) noexcept {
    return number_of(object);
  }

  using Ticks = CoreRecorder::Ticks;

  /// The clock: cheap, monotonic on every core of one machine.
  [[nodiscard]] static Ticks now() noexcept {
#if defined(__x86_64__)
    if (invariant_tsc_) [[likely]]
      return __rdtsc();
#endif
    return steady_nanoseconds();
  }

  /// Time cannot be set on this machine.
  static void resume_at(Ticks /*time*/) noexcept {}

  /// Ticks in one microsecond, measured against the system clock when the program starts.
  [[nodiscard]] static double ticks_per_us() noexcept { return ticks_per_us_; }
  [[nodiscard]] static Ticks ticks(double us) noexcept {
    return static_cast<Ticks>(us * ticks_per_us_);
  }
  [[nodiscard]] static double microseconds(Ticks ticks) noexcept {
    return static_cast<double>(ticks) / ticks_per_us_;
  }

  /// One step of a short wait for a core that is about to finish: pauses at first, and yields the
  /// core once the holder is more likely preempted than busy.
  /// @param on the object waited for, where it is one word: for a machine that records
  static void relax(int& spins, const void* /*on*/ = nullptr) noexcept {
    if (recording()) [[unlikely]]
      return relax_recorded(spins);
    relax_unrecorded(spins);
  }

  /// The number of pauses that a wait may spend before it parks: many where every worker has a core
  /// of its own, few where the other worker may need this very core to run.
  [[nodiscard]] static int spins_before_park() noexcept {
    // relaxed: a tuning hint, set before the workers start.
    return spins_before_park_.load(std::memory_order_relaxed);
  }

  static void pause() noexcept {
#if defined(__x86_64__)
    _mm_pause();
#endif
  }
  static void yield() noexcept;

  /// Sleeps while `*word == expected`, at most `timeout_us`. May return early.
  static void park(const std::atomic<std::uint64_t>& word, std::uint64_t expected,
                   std::uint64_t timeout_us) noexcept;
  /// Wakes all threads parked on `word`.
  static void unpark(const std::atomic<std::uint64_t>& word) noexcept;

  /// Wakes all threads, where that is cheap; here parked threads check by themselves soon enough.
  static void unpark_all() noexcept {}

  /// Waits for `duration` without using the database. Returns early once `stop` is set.
  static void idle(Ticks duration, const std::atomic<std::uint64_t>& stop) noexcept;

  /// The number of cores that this process may use.
  [[nodiscard]] static int cores() noexcept;

  using Crew = CrewOptions;
  using Member = CrewMember;

  [[nodiscard]] static Crew crew(const MachineOptions& /*machine*/, int workers, bool take_turns,
                                 std::size_t /*memory_bytes*/) {
    return {.workers = workers, .take_turns = take_turns};
  }

  /// Runs `body(member)` on every worker, and `monitor()` on the calling thread every `poll_us`
  /// until it returns false; then waits for the workers. Returns false if a worker had not returned
  /// `grace_us` after the monitor ended: its thread is abandoned and everything it uses must be
  /// kept alive for good.
  [[nodiscard]] static bool run_crew(const CrewOptions& options, std::function<void(Member&)> body,
                                     const std::function<bool()>& monitor);

 private:
  static constexpr int kSpinsBeforeYield = 256;
  static void relax_unrecorded(int& spins) noexcept {
    if (++spins < kSpinsBeforeYield) {
      pause();
    } else {
      yield();
    }
  }
  static void relax_recorded(int& spins) noexcept;
  static Ticks steady_nanoseconds() noexcept;
  static bool detect_invariant_tsc() noexcept;
  static double calibrate() noexcept;
  static const bool invariant_tsc_;
  static const double ticks_per_us_;
  static std::atomic<int> spins_before_park_;
};

}  // namespace heddle
