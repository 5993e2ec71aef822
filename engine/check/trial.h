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
#include "model/isolation.h"
#include "model/options.h"
#include "protocol/compiled_policy.h"

namespace heddle {

/// A run that is recorded and then checked for errors.
struct Trial {
  OptionMap workload;
  int workers = 4;
  std::uint64_t seed = 1;  ///< for the data loaded and the transactions' inputs
  MachineOptions machine = {};
  RunOptions run = {};  ///< the trial sets `seed` and `history_bytes`
  /// Given to the running policy executor one after the other, one at each poll of the run.
  std::vector<std::shared_ptr<const CompiledPolicy>> switches = {};
  /// The most history, in bytes; a run that reaches it ends.
  std::size_t history_bytes = std::size_t{256} << 20;
  /// What the history must satisfy. Under a weaker level than `serializable` the consistency
  /// conditions of the workload need not hold, and are not findings.
  Isolation isolation = Isolation::serializable;
};

/// The result of a trial.
struct Verdict {
  check::Report report;
  /// A description of every error: anomalies, stuck workers, consistency conditions of the workload
  /// that do not hold, transaction types that never ended, counts that do not add up.
  std::vector<std::string> findings;
  Result result;  ///< with the history
  /// Bytes by which the database has grown, after everything that can be reclaimed was.
  std::int64_t grown_bytes = 0;
  bool interrupted = false;

  /// The verdict on a run that made no progress, or whose process ended.
  [[nodiscard]] static Verdict stuck(const std::string& how);
  [[nodiscard]] static Verdict crashed(const std::string& how);
  /// The findings, the report and the growth.
  [[nodiscard]] std::string to_json() const;
};

/// Runs a database that no run has used before, records its history (`history_bytes`), and checks
/// it.
/// @param watch called every few milliseconds; once it returns true, the run ends
/// @param on_end called after the run has ended, before it is checked
/// @param isolation see Trial
/// @throws std::invalid_argument for inconsistent options
[[nodiscard]] Verdict run_checked(
    Session& session, const RunOptions& options, const std::function<bool()>& watch,
    const std::function<void()>& on_end = [] {}, Isolation isolation = Isolation::serializable);

using OpenSession = std::function<std::unique_ptr<Session>(
    const OptionMap& workload, int workers, std::uint64_t seed, const MachineOptions& machine)>;

/// Opens a database, runs the trial there and checks it (run_checked()).
/// @param open opens a database
/// @throws std::invalid_argument for an inconsistent trial
[[nodiscard]] Verdict run_trial(const Trial& trial, const std::function<bool()>& interrupted,
                                const OpenSession& open = open_session);

}  // namespace heddle
