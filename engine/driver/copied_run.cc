#include "driver/copied_run.h"

#include <stdexcept>

#include "check/trial.h"
#include "driver/process_copy.h"

namespace heddle {

namespace {

void require_one_thread(const Session& session) {
  if (session.single_threaded()) return;
  throw std::invalid_argument(
      "only a run on the virtual machine can be made on a copy of its database");
}

}  // namespace

std::string run_on_copy(Session& session, const RunOptions& options, bool check,
                        const std::function<bool()>& interrupted) {
  require_one_thread(session);
  const auto run = [&](CopyProgress& progress) {
    Result result = session.run(options, [&progress] { return progress.step(); });
    const bool told_to_end = progress.finish();
    if (check && !told_to_end) result.violations = session.check();
    return result.to_json();
  };
  return in_copy_of_process(run, {.step_s = options.watchdog_s}, interrupted);
}

std::string check_on_copy(Session& session, const RunOptions& options, double finish_s,
                          const std::function<bool()>& interrupted) {
  require_one_thread(session);
  const auto run = [&](CopyProgress& progress) {
    return run_checked(
               session, options, [&progress] { return progress.step(); },
               [&progress] { (void)progress.finish(); })
        .to_json();
  };
  // Virtual seconds say nothing about how long one step takes a busy machine.
  const CopyPatience patience{.step_s = finish_s, .finish_s = finish_s};
  try {
    return in_copy_of_process(run, patience, interrupted);
  } catch (const CopyLostError& error) {
    return Verdict::crashed(error.what()).to_json();
  } catch (const StuckError& error) {
    return Verdict::stuck(error.what()).to_json();
  }
}

}  // namespace heddle
