#include "driver/session.h"

#include <stdexcept>

#include "driver/session_factory.h"
#include "machine/threads.h"
#include "protocol/registry.h"

namespace heddle {

namespace {

constexpr int kMostWorkers = 1024;

const SessionFactory& factory_of(const OptionMap& workload) {
  const auto name = workload.find("name");
  std::string valid;
  for (const SessionFactory& factory : session_factories()) {
    if (name != workload.end() && factory.name == name->second) return factory;
    valid += (valid.empty() ? "" : ", ") + std::string(factory.name);
  }
  if (name == workload.end()) {
    throw std::invalid_argument("the workload has no 'name'; valid: " + valid);
  }
  throw std::invalid_argument("workload '" + name->second + "' is not known; valid: " + valid);
}

}  // namespace

OptionMap without_workload_name(OptionMap options) {
  options.erase("name");
  return options;
}

std::unique_ptr<Session> open_session(const OptionMap& workload, int workers, std::uint64_t seed) {
  if (workers < 1 || workers > kMostWorkers) {
    throw std::invalid_argument("workers must be between 1 and " + std::to_string(kMostWorkers) +
                                ", not " + std::to_string(workers));
  }
  return factory_of(workload).open(workload, workers, seed);
}

Signature workload_signature(const OptionMap& workload) {
  return factory_of(workload).signature(workload);
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const SessionFactory& factory : session_factories()) names.emplace_back(factory.name);
  return names;
}

std::vector<std::string> protocol_names() { return Protocols::names(); }

}  // namespace heddle
