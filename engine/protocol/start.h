#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "protocol/external.h"
#include "protocol/external_run.h"
#include "protocol/names.h"
#include "protocol/registry.h"
#include "protocol/run.h"

namespace heddle {

template <class M>
std::unique_ptr<ProtocolRun<M>> start_protocol(std::string_view name, const RunSetup<M>& setup) {
  if (name == External::kName) {
    if constexpr (External::kRunsOn<M>) return std::make_unique<ExternalRun<M>>(setup);
  }
  std::unique_ptr<ProtocolRun<M>> run;
  Protocols::visit(name, [&]<class P>(P) { run = std::make_unique<RunningProtocol<M, P>>(setup); });
  if (run == nullptr) {
    throw std::invalid_argument("protocol '" + std::string(name) +
                                "' is not known; valid: " + joined_protocol_names());
  }
  return run;
}

}  // namespace heddle
