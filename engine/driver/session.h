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
#include "model/hints.h"
#include "model/options.h"
#include "protocol/compiled_policy.h"
#include "protocol/names.h"

namespace heddle {

/// A policy that a run goes over to by itself.
struct PlannedSwitch {
  double at_s = 0;  ///< since the measured window began
  std::shared_ptr<const CompiledPolicy> policy = nullptr;
};

/// How a run is made.
struct RunOptions {
  std::string protocol = "silo";
  std::map<std::string, std::string> protocol_options = {};
  std::shared_ptr<const CompiledPolicy> policy = nullptr;  ///< for protocols that execute one
  std::string backoff = "exponential";
  double backoff_us = 0;  ///< for backoff "static"
  double seconds = 1.0;   ///< the measured window
  double warmup = 0.0;    ///< seconds before it
  std::uint64_t seed = 1;
  bool take_turns = true;    ///< of workers without a core of their own
  double watchdog_s = 10.0;  ///< no worker may go this long without ending an attempt
  /// Which transaction starts next (schedule/admission/options.h); none: as they are drawn.
  OptionMap schedule = {};
  double epoch_us = 10'000;  ///< how long an epoch lasts, where no worker holds it back
  /// How many events of the measured window are recorded at most; 0: none are. Virtual machine
  /// only.
  std::size_t timeline_events = 0;
  /// How many bytes of history are recorded at most (engine/observe/history.h), warm-up included; a
  /// run ends when there are as many. 0: none are.
  std::size_t history_bytes = 0;
  /// How many bytes of a trace are recorded at most (observe/recorded_trace.h). Real
  /// cores only.
  std::size_t trace_bytes = 0;
  /// So many equal parts of the measured window are counted by themselves, each a whole number of
  /// microseconds; 0: none are. They end when the run is next looked after, which on the virtual
  /// machine is exactly then, and on real cores a few milliseconds later.
  std::size_t intervals = 0;
  /// Policies that the executor goes over to, in the order of their times, likewise.
  std::vector<PlannedSwitch> switches = {};
};

/// A worker made no progress: the message says who waited for whom.
class StuckError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What transactions pass before they start: the i-th is of `types[i]` and passes the next
/// `counts[i]` hints.
struct DrawnHints {
  std::vector<std::uint32_t> types;
  std::vector<std::uint32_t> counts;
  std::vector<Hint> hints;
};

/// A loaded database that runs transactions, one run at a time.
class Session {
 public:
  virtual ~Session() = default;

  /// Runs the workload. `interrupted()` is asked every few milliseconds; once it returns true the
  /// run ends and gives what it has measured.
  /// @throws std::invalid_argument for options that make no sense; StuckError
  virtual Result run(const RunOptions& options, const std::function<bool()>& interrupted) = 0;

  /// Gives the running policy executor another policy, without stopping it (from another thread).
  /// @throws std::invalid_argument if no policy is running
  virtual void switch_policy(std::shared_ptr<const CompiledPolicy> policy) = 0;

  /// Ends the current run early (from another thread).
  virtual void stop() = 0;

  /// The workload's own consistency conditions: one line per violation.
  [[nodiscard]] virtual std::vector<std::string> check() = 0;

  /// Draws transactions without running them, and says what they would pass; nothing where the
  /// workload's pass no hints. Not beside a run: a replay goes on behind what was drawn.
  [[nodiscard]] virtual DrawnHints draw_hints(std::size_t transactions, std::uint64_t seed) = 0;

  [[nodiscard]] virtual const Signature& signature() const = 0;
  /// Whether a run needs no thread beside the one that asks for it.
  [[nodiscard]] virtual bool single_threaded() const = 0;
  /// Bytes the database has grown by since it was loaded, and holds in all.
  [[nodiscard]] virtual std::int64_t grown_bytes() const = 0;
  [[nodiscard]] virtual std::int64_t memory_bytes() const = 0;
};

/// Loads a database for a workload named by option "name", on a machine.
/// @throws std::invalid_argument naming the culprit and what is valid
[[nodiscard]] std::unique_ptr<Session> open_session(const OptionMap& workload, int workers,
                                                    std::uint64_t seed,
                                                    const MachineOptions& machine = {});
/// The options a workload itself reads: all but its name.
[[nodiscard]] OptionMap without_workload_name(OptionMap options);
/// Whether options of an admission policy are of one that schedules.
/// @throws std::invalid_argument naming the option at fault and what is valid
[[nodiscard]] bool schedules(const OptionMap& schedule);
[[nodiscard]] Signature workload_signature(const OptionMap& workload);
[[nodiscard]] std::vector<std::string> workload_names();
[[nodiscard]] std::vector<std::string> machine_names();

}  // namespace heddle
