#include "check/trial.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "check/checker.h"
#include "check/printable.h"

namespace heddle {

namespace {

/// A type without an end among this many transactions per type is starved.
constexpr std::uint64_t kEnoughForEachType = 2'000;

/// No type may be starved, whatever the policy.
void look_for_starved(const Verdict& verdict, std::vector<std::string>& findings) {
  const auto& types = verdict.result.types;
  if (verdict.report.transactions < kEnoughForEachType * types.size()) return;
  for (std::size_t type = 0; type < types.size(); ++type) {
    if (verdict.report.committed_by_type[type] != 0) continue;
    findings.push_back("starved: no transaction of type " + check::printable(types[type].name) +
                       " ended, of " + std::to_string(verdict.report.transactions) + "\n");
  }
}

/// The measurements and the history are independent accounts of one run.
void compare_counts(const Verdict& verdict, std::vector<std::string>& findings) {
  std::uint64_t commits = 0;
  std::uint64_t aborts = 0;
  for (const TypeResult& type : verdict.result.types) {
    commits += type.commits;
    aborts += type.aborts;
  }
  const bool add_up = commits == verdict.report.transactions &&
                      aborts + verdict.result.cut_off_attempts == verdict.report.aborted;
  if (add_up) return;
  findings.push_back("counts do not add up: measured " + std::to_string(commits) + " commits and " +
                     std::to_string(aborts) + " aborts, recorded " +
                     std::to_string(verdict.report.transactions) + " and " +
                     std::to_string(verdict.report.aborted) + "\n");
}

Verdict found(std::string finding) {
  Verdict verdict;
  verdict.findings.push_back(std::move(finding));
  return verdict;
}

}  // namespace

Verdict Verdict::stuck(const std::string& how) { return found("stuck: " + how); }

Verdict Verdict::crashed(const std::string& how) { return found("crashed: " + how + "\n"); }

std::string Verdict::to_json() const {
  const nlohmann::ordered_json json = {{"findings", findings},
                                       {"report", nlohmann::ordered_json::parse(report.to_json())},
                                       {"grown_bytes", grown_bytes}};
  return json.dump();
}

Verdict run_checked(Session& session, const RunOptions& options, const std::function<bool()>& watch,
                    const std::function<void()>& on_end, Isolation isolation) {
  Verdict verdict;
  try {
    verdict.result = session.run(options, watch);
  } catch (const StuckError& error) {
    return Verdict::stuck(error.what());
  }
  on_end();
  if (!verdict.result.failure.empty()) {
    // What it has committed is only in the store.
    verdict.findings.push_back("failed: " + verdict.result.failure + "\n");
    return verdict;
  }
  verdict.interrupted = verdict.result.interrupted;
  verdict.report = check::check_history(*verdict.result.history, isolation);
  for (const check::Anomaly& anomaly : verdict.report.anomalies) {
    verdict.findings.push_back(anomaly.text);
  }
  // The check reclaims what the run has left.
  const std::vector<std::string> violations = session.check();
  if (isolation == Isolation::serializable) {
    for (const std::string& violation : violations) {
      verdict.findings.push_back("inconsistent: " + violation + "\n");
    }
  }
  verdict.grown_bytes = session.grown_bytes();
  look_for_starved(verdict, verdict.findings);
  if (options.warmup == 0) compare_counts(verdict, verdict.findings);
  return verdict;
}

Verdict run_trial(const Trial& trial, const std::function<bool()>& interrupted,
                  const OpenSession& open) {
  const std::unique_ptr<Session> session =
      open(trial.workload, trial.workers, trial.seed, trial.machine);
  RunOptions options = trial.run;
  options.seed = trial.seed;
  options.history_bytes = trial.history_bytes;
  std::size_t next = 0;
  const auto watch = [&] {
    if (!trial.switches.empty()) {
      session->switch_policy(trial.switches[next++ % trial.switches.size()]);
    }
    return interrupted();
  };
  return run_checked(*session, options, watch, [] {}, trial.isolation);
}

}  // namespace heddle
