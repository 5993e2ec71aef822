#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "check/report.h"
#include "driver/result.h"
#include "driver/session.h"
#include "machine/options.h"
#include "model/options.h"
#include "protocol/compiled_policy.h"

namespace heddle {

/// A run that is recorded and then looked at for anything wrong.
struct Trial {
  OptionMap workload;
  int workers = 4;
  std::uint64_t seed = 1;  ///< of what is loaded and of the transactions' inputs
  MachineOptions machine = {};
  RunOptions run = {};  ///< `seed` and `history_bytes` are the trial's
  /// Given to the running policy executor one after the other, as often as the run is watched.
  std::vector<std::shared_ptr<const CompiledPolicy>> switches = {};
  /// At most so much history, in bytes; a run that has made it ends.
  std::size_t history_bytes = std::size_t{256} << 20;
};

/// What came of a trial.
struct Verdict {
  check::Report report;
  /// Everything wrong, in words: anomalies, workers that were stuck, conditions of the workload
  /// that do not hold, transaction types that never ended, counts that do not add up.
  std::vector<std::string> findings;
  Result result;  ///< with the history
  /// Bytes by which the database has grown, once everything that can be reclaimed was.
  std::int64_t grown_bytes = 0;
  bool interrupted = false;

  /// Of a run that made no progress, and of one that took its process with it.
  [[nodiscard]] static Verdict stuck(const std::string& how);
  [[nodiscard]] static Verdict crashed(const std::string& how);
  /// The findings, the report and the growth.
  [[nodiscard]] std::string to_json() const;
};

/// Makes a run that records its history (`history_bytes`) on a database that nothing has run on
/// yet, and checks it.
/// @param watch asked every few milliseconds; once true, the run ends
/// @param on_end called once the run is over, before it is checked
/// @throws std::invalid_argument for options that make no sense
[[nodiscard]] Verdict run_checked(
    Session& session, const RunOptions& options, const std::function<bool()>& watch,
    const std::function<void()>& on_end = [] {});

using OpenSession = std::function<std::unique_ptr<Session>(
    const OptionMap& workload, int workers, std::uint64_t seed, const MachineOptions& machine)>;

/// Opens a database, runs the trial there and checks it (run_checked()).
/// @param open how databases are opened
/// @throws std::invalid_argument for a trial that makes no sense
[[nodiscard]] Verdict run_trial(const Trial& trial, const std::function<bool()>& interrupted,
                                const OpenSession& open = open_session);

}  // namespace heddle
