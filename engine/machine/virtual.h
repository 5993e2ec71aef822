#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "machine/options.h"
#include "machine/timeline.h"

namespace heddle {

/// How a crew of virtual cores is started. The names are those of CrewOptions.
struct VirtualCrewOptions {
  int workers = 1;
  std::uint64_t poll_us = 50;          ///< interval of the monitor, in virtual time
  std::uint64_t grace_us = 5'000'000;  ///< how long workers may take to leave, in virtual time
  bool take_turns = true;  ///< every worker has a core of its own, so no turns are taken
  MachineOptions machine = {};
  std::size_t memory_bytes = 0;  ///< size of the database; caches hold a share of it from the start
};

/// One virtual core, as its worker sees it between transactions.
class VirtualCrewMember {
 public:
  explicit VirtualCrewMember(int worker) : worker_(worker) {}
  [[nodiscard]] int worker() const { return worker_; }
  [[nodiscard]] static bool crowded() { return false; }
  [[nodiscard]] static bool turn_over(std::uint64_t /*now*/) { return false; }
  static void pass_turn() {}
  /// As `VirtualMachine::idle`.
  static void rest(std::uint64_t duration, const std::atomic<std::uint64_t>& stop);

 private:
  int worker_;
};

/// N cores simulated in one thread, in virtual time.
///
/// Each core is a fiber with a clock of its own. Before every access to shared memory it is charged
/// the cost of the access. Once it is ahead of the others by more than the skew, the core whose
/// clock is lowest runs. Accesses happen one after the other, in the order of their virtual times
/// up to the skew, and the same run gives bit-identical results on every host. Waiting costs no
/// steps: a parked core is not scheduled until the word it waits for changes.
///
/// To reach orders that the costs would never produce, another rule may pick the next core
/// (machine/schedule.h).
///
/// Outside a run (population, checks) nothing is charged and time stands still.
struct VirtualMachine {
  static constexpr std::string_view kKind = "virtual";
  static constexpr bool kSingleThreaded = true;
  static constexpr bool kSamples = false;

  using Ticks = std::uint64_t;
  static constexpr double kTicksPerUs = 16'000;

  static void on_load(const void* address, std::size_t bytes = sizeof(std::uint64_t)) noexcept;
  static void on_store(const void* address, std::size_t bytes = sizeof(std::uint64_t)) noexcept;
  static void on_exchange(const void* address) noexcept;
  static void on_lookup() noexcept;
  static void on_insert() noexcept;
  static void on_row() noexcept;
  static void on_control() noexcept;
  static void prefetch(const std::byte* from, std::size_t bytes) noexcept;
  static void on_transaction() noexcept;
  /// An access of a transaction begins; `state` is its number in the workload.
  static void on_access(std::uint32_t state) noexcept;
  /// Whether the cores fetch rows before they use them: if the model lets them fetch lines ahead.
  [[nodiscard]] static bool looks_ahead() noexcept;
  static void fetch_ahead(const void* from, std::size_t bytes) noexcept;

  /// A number for hashing shared objects. Not the address, which differs in every process: lines
  /// are numbered as they are touched.
  [[nodiscard]] static std::uintptr_t number_of(const void* object) noexcept;
  /// A number for a global order of shared objects. As if by address, but the same in every process
  /// (Pages::place). Not the order of first touch: that would put the hottest objects first, as on
  /// no real machine, and transactions that lock in this order would hold them longest.
  [[nodiscard]] static std::uintptr_t order_of(const void* object) noexcept;

  /// The core's clock; outside a run, the end time of this thread's last one.
  [[nodiscard]] static Ticks now() noexcept;
  /// Outside a run: sets the time from which this thread continues.
  static void resume_at(Ticks time) noexcept;
  [[nodiscard]] static double ticks_per_us() noexcept { return kTicksPerUs; }
  [[nodiscard]] static Ticks ticks(double us) noexcept {
    return static_cast<Ticks>(us * kTicksPerUs);
  }
  [[nodiscard]] static double microseconds(Ticks ticks) noexcept {
    return static_cast<double>(ticks) / kTicksPerUs;
  }

  static void relax(int& spins, const void* on = nullptr) noexcept;
  /// A wait parks at once: parking is free here, and a wake-up is as fast as a spinning core would
  /// be.
  [[nodiscard]] static int spins_before_park() noexcept { return 0; }
  static void pause() noexcept;
  static void yield() noexcept;
  static void park(const std::atomic<std::uint64_t>& word, std::uint64_t expected,
                   std::uint64_t timeout_us) noexcept;
  static void unpark(const std::atomic<std::uint64_t>& word) noexcept;
  static void unpark_all() noexcept;
  static void idle(Ticks duration, const std::atomic<std::uint64_t>& stop) noexcept;

  /// Records the run of this thread from here on; nullptr: stops recording.
  static void record_into(Timeline* timeline) noexcept;
  [[nodiscard]] static bool recording() noexcept;
  /// Every access of a recorded run is.
  [[nodiscard]] static bool recording(std::uint32_t /*state*/) noexcept { return recording(); }
  /// Records an event of the running core at its time.
  static void record(std::uint16_t what, std::uint32_t subject, std::uint64_t number) noexcept;
  /// The same; the running core's time is the time given.
  static void record_at(Ticks /*time*/, std::uint16_t what, std::uint32_t subject,
                        std::uint64_t number) noexcept {
    record(what, subject, number);
  }
  static void open_window(std::uint16_t what) noexcept { record(what, 0, 0); }
  /// Every transaction is recorded.
  static void begin_transaction(Ticks /*time*/, std::uint16_t /*skip*/) noexcept {}

  /// The greatest number of cores that can be simulated.
  [[nodiscard]] static int cores() noexcept { return kMostCores; }
  static constexpr int kMostCores = 256;

  using Crew = VirtualCrewOptions;
  using Member = VirtualCrewMember;

  [[nodiscard]] static Crew crew(const MachineOptions& machine, int workers, bool take_turns,
                                 std::size_t memory_bytes) {
    // A core that spins forever does so until then; schedule exploration, which looks for such
    // cores, uses a short limit.
    constexpr std::uint64_t kExploringGraceUs = 100'000;
    const bool explores = machine.schedule.kind != ScheduleKind::clock;
    return {.workers = workers,
            .grace_us = explores ? kExploringGraceUs : Crew{}.grace_us,
            .take_turns = take_turns,
            .machine = machine,
            .memory_bytes = memory_bytes};
  }

  /// Runs `body(member)` on every virtual core, and `monitor()` every `poll_us` of virtual time
  /// until it returns false; then until every core has returned.
  ///
  /// False: some cores never will, and were left where they stood; left_behind() gives the reason.
  /// That is the case if all are parked with none left to wake them, if one is parked on a word
  /// that has changed, or if one has not returned `grace_us` after the monitor's end. Their stacks
  /// are kept for good, and everything they use must be kept, too.
  [[nodiscard]] static bool run_crew(const VirtualCrewOptions& options,
                                     std::function<void(Member&)> body,
                                     const std::function<bool()>& monitor);
  /// The reason why the last run in this thread left cores behind; empty if it did not.
  [[nodiscard]] static const std::string& left_behind() noexcept;
};

}  // namespace heddle
