#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/result.h"
#include "machine/options.h"
#include "machine/sampling.h"
#include "model/hints.h"
#include "model/options.h"
#include "protocol/compiled_policy.h"
#include "protocol/names.h"

namespace heddle {

/// A policy switch planned for a run.
struct PlannedSwitch {
  double at_s = 0;  ///< since the measured window began
  std::shared_ptr<const CompiledPolicy> policy = nullptr;
};

/// The options of a run.
struct RunOptions {
  std::string protocol = "silo";
  std::map<std::string, std::string> protocol_options = {};
  std::shared_ptr<const CompiledPolicy> policy = nullptr;  ///< for protocols that execute one
  std::string backoff = "exponential";
  double backoff_us = 0;  ///< for backoff "static"
  double seconds = 1.0;   ///< the measured window
  double warmup = 0.0;    ///< seconds before it
  std::uint64_t seed = 1;
  bool take_turns = true;  ///< of workers without a core of their own
  /// Aborts in a row after which no other transaction begins an attempt until it has committed
  /// (driver/exclusive_turns.h); 0: never.
  std::uint32_t exclusive_after = 64;
  double watchdog_s = 10.0;  ///< the longest time that a worker may take without ending an attempt
  /// Options of the admission policy (schedule/admission/options.h); none: transactions start as
  /// they are drawn.
  OptionMap schedule = {};
  double epoch_us = 10'000;  ///< length of an epoch, unless a worker holds it back
  /// The number of events of the measured window recorded at most; 0: none.
  std::size_t timeline_events = 0;
  /// The part of the run that a timeline has. On virtual cores it has all.
  Sampling timeline_sampling = {};
  /// Whether the timeline's JSON has the events as one text (observe/recorded_timeline.h).
  bool timeline_packed = false;
  /// The bytes of history recorded at most (engine/observe/history.h), warm-up included; the run
  /// ends when the limit is reached. 0: none.
  std::size_t history_bytes = 0;
  /// The bytes of a trace recorded at most (observe/recorded_trace.h). Real cores only.
  std::size_t trace_bytes = 0;
  /// The number of equal parts of the measured window that are counted separately, each a whole
  /// number of microseconds; 0: none. They end at the next poll of the run, which on the virtual
  /// machine is exactly on time, and on real cores a few milliseconds later.
  std::size_t intervals = 0;
  /// Policies to switch to, in the order of their times; a switch is made at the next poll as well.
  std::vector<PlannedSwitch> switches = {};
};

/// A worker made no progress; the message says which worker waited for which.
class StuckError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The hints that transactions pass before they start: the i-th transaction is of `types[i]` and
/// passes the next `counts[i]` hints.
struct DrawnHints {
  std::vector<std::uint32_t> types;
  std::vector<std::uint32_t> counts;
  std::vector<Hint> hints;
};

/// A loaded database that runs transactions, one run at a time.
class Session {
 public:
  virtual ~Session() = default;

  /// Runs the workload. `interrupted()` is called every few milliseconds; once it returns true the
  /// run ends and returns what it has measured.
  /// @throws std::invalid_argument for inconsistent options; StuckError; std::runtime_error if an
  ///         external store refuses, or if the run is interrupted before its workers start
  virtual Result run(const RunOptions& options, const std::function<bool()>& interrupted) = 0;

  /// Gives the running policy executor another policy, without stopping it (from another thread).
  /// @throws std::invalid_argument if no policy is running
  virtual void switch_policy(std::shared_ptr<const CompiledPolicy> policy) = 0;

  /// Ends the current run early (from another thread).
  virtual void stop() = 0;

  /// The workload's own consistency conditions: one line per violation.
  [[nodiscard]] virtual std::vector<std::string> check() = 0;

  /// Draws transactions without running them, and returns the hints that they would pass; nothing
  /// if the workload has no hints. Not during a run: a replay continues after the transactions
  /// drawn.
  [[nodiscard]] virtual DrawnHints draw_hints(std::size_t transactions, std::uint64_t seed) = 0;

  [[nodiscard]] virtual const Signature& signature() const = 0;
  /// Whether a run uses only the calling thread.
  [[nodiscard]] virtual bool single_threaded() const = 0;
  /// The bytes by which the database has grown since it was loaded, and its total size.
  [[nodiscard]] virtual std::int64_t grown_bytes() const = 0;
  [[nodiscard]] virtual std::int64_t memory_bytes() const = 0;
};

/// Loads a database for the workload named by option "name", on a machine.
/// @throws std::invalid_argument naming the invalid option and the valid values
[[nodiscard]] std::unique_ptr<Session> open_session(const OptionMap& workload, int workers,
                                                    std::uint64_t seed,
                                                    const MachineOptions& machine = {});
/// The options that a workload reads itself: all but its name.
[[nodiscard]] OptionMap without_workload_name(OptionMap options);
/// Whether the options name an admission policy that schedules.
/// @throws std::invalid_argument naming the invalid option and the valid values
[[nodiscard]] bool schedules(const OptionMap& schedule);
[[nodiscard]] Signature workload_signature(const OptionMap& workload);
[[nodiscard]] std::vector<std::string> workload_names();
[[nodiscard]] std::vector<std::string> machine_names();

}  // namespace heddle
