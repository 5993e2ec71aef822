#include "check/copied_trial.h"

#include "check/trial.h"
#include "driver/copied_run.h"
#include "driver/process_copy.h"

namespace heddle {

std::string check_on_copy(Session& session, const RunOptions& options, double finish_s,
                          const std::function<bool()>& interrupted) {
  require_one_thread(session);
  const auto run = [&](CopyProgress& progress) {
    return run_checked(
               session, options, [&progress] { return progress.step(); },
               [&progress] { (void)progress.finish(); })
        .to_json();
  };
  // Virtual seconds do not bound the real duration of one step on a busy machine.
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
