#include "driver/copied_run.h"

#include <stdexcept>

#include "driver/process_copy.h"

namespace heddle {

void require_one_thread(const Session& session) {
  if (session.single_threaded()) return;
  throw std::invalid_argument(
      "only a run on the virtual machine can be made on a copy of its database");
}

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

}  // namespace heddle
