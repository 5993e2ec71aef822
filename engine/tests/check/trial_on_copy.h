#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "check/trial.h"
#include "driver/process_copy.h"
#include "driver/session.h"

/// Trials on copies of one loaded database, where loading one takes longer than a trial.
namespace heddle::test {

/// What a copy answers of its trial.
struct CopiedVerdict {
  std::uint64_t transactions = 0;
  std::uint64_t committed = 0;
  std::uint64_t operations = 0;
  std::uint64_t scheduled = 0;  ///< begun, hot or cold
  std::uint64_t overtaking = 0;
  std::uint64_t deferred = 0;
  std::uint64_t moved = 0;
  double held_s = 0;
  std::string findings;  ///< empty: none
};

/// Records and checks a run (run_checked(), check/trial.h) on a copy of a database that no run has
/// used. Its numbers and findings are those of a trial that loads a database of its own.
/// @throws CopyLostError if the copy dies or hangs
inline CopiedVerdict trial_on_copy(Session& session, RunOptions options, std::uint64_t seed = 1) {
  options.seed = seed;
  options.history_bytes = Trial{}.history_bytes;
  const auto work = [&](CopyProgress& progress) {
    const Verdict verdict = run_checked(
        session, options, [&progress] { return progress.step(); },
        [&progress] { (void)progress.finish(); });
    const ScheduleResult schedule = verdict.result.schedule.value_or(ScheduleResult{});
    std::ostringstream answer;
    answer.precision(17);
    answer << verdict.report.transactions << ' ' << verdict.report.committed << ' '
           << verdict.report.operations << ' ' << schedule.hot + schedule.cold << ' '
           << schedule.overtaking << ' ' << schedule.deferred << ' ' << schedule.moved << ' '
           << schedule.held_s << '\n';
    for (const std::string& finding : verdict.findings) answer << finding;
    return answer.str();
  };
  // Virtual seconds do not bound the real duration of one step on a busy machine.
  const CopyPatience patience{.step_s = 120, .finish_s = 120};
  const std::string answer = in_copy_of_process(work, patience, [] { return false; });
  CopiedVerdict verdict;
  std::istringstream numbers(answer);
  numbers >> verdict.transactions >> verdict.committed >> verdict.operations >> verdict.scheduled >>
      verdict.overtaking >> verdict.deferred >> verdict.moved >> verdict.held_s;
  verdict.findings = std::string_view(answer).substr(answer.find('\n') + 1);
  return verdict;
}

}  // namespace heddle::test
