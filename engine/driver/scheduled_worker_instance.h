#pragma once

#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "driver/admission_state.h"
#include "driver/scheduled.h"
#include "driver/scheduled_worker.h"
#include "protocol/registry.h"

namespace heddle {

template <class M, class W>
std::shared_ptr<AdmissionState<M, W>> make_admission_state(const OptionMap& schedule,
                                                           std::string_view protocol, int workers,
                                                           const Signature& signature) {
  admission::Options options = admission::Options::parse(schedule);
  if (!options.schedules()) return nullptr;
  if (!options.rules_given) options.rules = admission::rules_of(protocol);
  return std::make_shared<AdmissionState<M, W>>(options, workers, signature);
}

template <class M, class W, class P>
void run_scheduled_worker(const WorkerSetup<M, W, P>& setup, std::shared_ptr<void>& keeper) {
  using Loop = Worker<M, W, P, Unobserved, SchedulingOf<M, W>>;
  const auto loop = std::make_shared<Loop>(setup, Unobserved{});
  keeper = loop;
  loop->run();
}

template <class M, class W>
ScheduleResult schedule_result(const AdmissionState<M, W>& state,
                               const std::vector<Measurements<M>>& workers) {
  ScheduleResult result{.options = state.recorded_options()};
  for (const Measurements<M>& worker : workers) {
    const AdmissionCounts& counts = worker.admission;
    result.hot += counts.hot;
    result.cold += counts.cold;
    result.overtaking += counts.overtaking;
    result.forced += counts.forced;
    result.deferred += counts.deferred;
    result.moved += counts.moved;
    result.choosing_s += M::microseconds(worker.choosing) / 1e6;
    result.held_s += M::microseconds(worker.held) / 1e6;
  }
  return result;
}

/// Naming a function makes the compiler write it down: a workload's, under every protocol.
template <class M, template <class> class W>
struct ScheduledWorkers {
  template <class... Ps>
  static auto under_all(Registry<Ps...>) {
    if constexpr (HasHints<W<M>>) {
      return std::tuple{&make_admission_state<M, W<M>>, &schedule_result<M, W<M>>,
                        &run_scheduled_worker<M, W<M>, Ps>...};
    } else {
      return std::tuple{};
    }
  }
};

}  // namespace heddle
