#pragma once

#include <memory>
#include <tuple>

#include "driver/recorded_worker.h"
#include "driver/scheduled.h"
#include "protocol/registry.h"

namespace heddle {

template <class M, class W, class P, class Record>
void run_recorded_worker(const WorkerSetup<M, W, P>& setup, Record& record,
                         std::shared_ptr<void>& keeper) {
  using Observer = typename Record::template Observer<M>;
  using Loop = Worker<M, W, P, Observer, SchedulingOf<M, W>>;
  const auto loop = std::make_shared<Loop>(setup, Observer(record, setup.member.worker()));
  keeper = loop;
  loop->run();
}

/// Naming a function makes the compiler write it down: a workload's, under every protocol.
template <class M, template <class> class W, class Record>
struct RecordedWorkers {
  template <class... Ps>
  static auto under_all(Registry<Ps...>) {
    return std::tuple{&run_recorded_worker<M, W<M>, Ps, Record>...};
  }
};

}  // namespace heddle
