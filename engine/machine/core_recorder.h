#pragma once

#include <cstdint>
#include <memory>

#include "machine/core_log.h"
#include "machine/timeline.h"

namespace heddle {

/// Records what real cores do: each core into a log of its own, with times of the time-stamp
/// counter. A transaction is recorded if it begins in one of the sampled stretches of time
/// (machine/sampling.h).
///
/// While nothing is recorded, each place that records costs a load and a branch that is predicted.
/// Procedures have no such place: their accesses are recorded by an observer.
class CoreRecorder {
 public:
  using Ticks = std::uint64_t;

  /// Records the next run that this thread starts; nullptr: does not.
  static void record_into(Timeline* timeline);
  /// Whether the running transaction is recorded.
  [[nodiscard]] static bool recording() noexcept { return log_ != nullptr; }
  /// Whether an access of the running transaction is recorded.
  [[nodiscard]] static bool recording(std::uint32_t state) noexcept {
    return log_ != nullptr && log_->records_access(state);
  }
  static void record(std::uint16_t what, std::uint32_t subject, std::uint64_t number) noexcept {
    if (log_ != nullptr) [[unlikely]]
      record_now(what, subject, number);
  }
  static void record_at(Ticks time, std::uint16_t what, std::uint32_t subject,
                        std::uint64_t number) noexcept {
    if (log_ != nullptr) [[unlikely]]
      log_->add(time, what, subject, number);
  }

  /// The core's measured window begins; records that.
  static void open_window(std::uint16_t what) noexcept;
  /// A transaction begins. Decides whether it is recorded.
  /// @param skip recorded if it is not, but the one before it was
  static void begin_transaction(Ticks time, std::uint16_t skip) noexcept {
    if (own_log_ != nullptr) [[unlikely]]
      sample(time, skip);
  }

 protected:
  class Logs;

  /// The logs of the run that this thread starts; nullptr: it is not recorded.
  static std::shared_ptr<Logs> begin_run(int cores);
  /// The run has ended: sets the timeline to the events of all cores.
  static void end_run(const Logs& logs);

  /// Makes this thread a core of a recorded run while it lives.
  class OnCore {
   public:
    /// @param logs nullptr: the run is not recorded
    OnCore(Logs* logs, int core) noexcept;
    OnCore(const OnCore&) = delete;
    OnCore& operator=(const OnCore&) = delete;
    ~OnCore() { own_log_ = log_ = nullptr; }
  };

 private:
  // Not inline: a protocol has many places that record.
  static void record_now(std::uint16_t what, std::uint32_t subject, std::uint64_t number) noexcept;
  static void sample(Ticks time, std::uint16_t skip) noexcept;

  // initial-exec: reading them must not cost a call.
  /// The log of this thread's core, while a run is recorded.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local CoreLog* own_log_;

 protected:
  /// The same while the core's transaction is recorded.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local CoreLog* log_;
};

}  // namespace heddle
