#pragma once

#include <memory>

#include "driver/session_factory.h"
#include "driver/workload_session.h"

namespace heddle {

template <class M, template <class> class W>
SessionFactory make_session_factory() {
  return {.name = W<M>::kName,
          .machine = M::kKind,
          .open = [](const MachineOptions& machine, const OptionMap& options, int workers,
                     std::uint64_t seed) -> std::unique_ptr<Session> {
            return std::make_unique<WorkloadSession<M, W<M>>>(options, workers, seed, machine);
          },
          .signature =
              [](const OptionMap& options) {
                return W<M>::signature(W<M>::Options::parse(without_workload_name(options)));
              },
          .options = specs_of<typename W<M>::Options>};
}

}  // namespace heddle
