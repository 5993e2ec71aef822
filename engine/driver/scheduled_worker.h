#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "driver/measurements.h"
#include "driver/result.h"
#include "driver/worker.h"
#include "model/options.h"
#include "model/signature.h"

namespace heddle {

// How a run's transactions are scheduled (driver/admission.h), for those who start it. Defined in
// scheduled_worker_instance.h, for source files of their own, as recorded workers are
// (driver/recorded_worker.h): a run that schedules nothing has the code that it would have without.

/// What the workers of a run share to schedule; nullptr: the options say `fifo`.
/// @throws std::invalid_argument naming the option at fault and what is valid
template <class M, class W>
[[nodiscard]] std::shared_ptr<AdmissionState<M, W>> make_admission_state(
    const OptionMap& schedule, std::string_view protocol, int workers, const Signature& signature);

/// Runs a worker whose transactions are scheduled, to the end.
/// @param keeper is given the worker before it begins
template <class M, class W, class P>
void run_scheduled_worker(const WorkerSetup<M, W, P>& setup, std::shared_ptr<void>& keeper);

/// What came of it.
template <class M, class W>
[[nodiscard]] ScheduleResult schedule_result(const AdmissionState<M, W>& state,
                                             const std::vector<Measurements<M>>& workers);

}  // namespace heddle
