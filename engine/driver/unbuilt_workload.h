#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "driver/session_factory.h"
#include "driver/workload_options.h"

namespace heddle {

/// A workload on a machine that this build leaves out: its signature is known, but it can't be
/// opened.
template <class M, template <class> class W>
SessionFactory unbuilt_session_factory() {
  return {.name = W<M>::kName,
          .machine = M::kKind,
          .open = [](const MachineOptions&, const OptionMap&, int,
                     std::uint64_t) -> std::unique_ptr<Session> {
            throw std::invalid_argument("workload " + std::string(W<M>::kName) +
                                        " is not built for machine " + std::string(M::kKind) +
                                        ": this build has the covering set of "
                                        "engine/tests/covering_set.cmake");
          },
          .signature =
              [](const OptionMap& options) {
                return W<M>::signature(W<M>::Options::parse(own_options<W<M>>(options)));
              },
          .options = workload_option_specs<W<M>>,
          .built = false};
}

}  // namespace heddle
