#pragma once

#include <memory>
#include <tuple>

#include "driver/recorded_worker.h"
#include "protocol/registry.h"

namespace heddle {

template <class M, class W, class P>
void run_recorded_worker(const WorkerSetup<M, W, P>& setup, RecordedHistory& history,
                         std::shared_ptr<void>& keeper) {
  using Observer = RecordedHistory::Observer<M>;
  const auto loop =
      std::make_shared<Worker<M, W, P, Observer>>(setup, Observer(history, setup.member.worker()));
  keeper = loop;
  loop->run();
}

/// Naming a function makes the compiler write it down: a workload's, under every protocol.
template <class M, template <class> class W>
struct RecordedWorkers {
  template <class... Ps>
  static auto under_all(Registry<Ps...>) {
    return std::tuple{&run_recorded_worker<M, W<M>, Ps>...};
  }
};

}  // namespace heddle
