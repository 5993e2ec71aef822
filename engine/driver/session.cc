#include "driver/session.h"

#include <algorithm>
#include <stdexcept>

#include "driver/session_factory.h"
#include "machine/memory_guard.h"
#include "machine/threads.h"
#include "machine/virtual.h"
#include "schedule/admission/options.h"

namespace heddle {

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
  return text;
}

/// Checks that a name is one of `Names`; the error lists them.
void require(const std::string& what, const std::string& name,
             const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw std::invalid_argument(what + " '" + name + "' is not known; valid: " + joined(names));
}

const SessionFactory& factory_of(const OptionMap& workload, const std::string& machine) {
  const auto name = workload.find("name");
  if (name == workload.end()) {
    throw std::invalid_argument("the workload has no 'name'; valid: " + joined(workload_names()));
  }
  require("workload", name->second, workload_names());
  require("machine", machine, machine_names());
  for (const SessionFactory& factory : session_factories()) {
    if (factory.name == name->second && factory.machine == machine) return factory;
  }
  throw std::invalid_argument("workload '" + name->second + "' is not built for machine '" +
                              machine + "'");
}

template <class F>
std::vector<std::string> distinct(F name_of) {
  std::vector<std::string> names;
  for (const SessionFactory& factory : session_factories()) {
    const std::string name(name_of(factory));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

OptionMap without_workload_name(OptionMap options) {
  options.erase("name");
  return options;
}

std::unique_ptr<Session> open_session(const OptionMap& workload, int workers, std::uint64_t seed,
                                      const MachineOptions& machine) {
  const SessionFactory& factory = factory_of(workload, machine.kind);
  const int most = machine.kind == VirtualMachine::kKind ? VirtualMachine::kMostCores
                                                         : ThreadsMachine::kMostCores;
  if (workers < 1 || workers > most) {
    throw std::invalid_argument("workers must be between 1 and " + std::to_string(most) + ", not " +
                                std::to_string(workers));
  }
  const LoadingGuard guard;
  return factory.open(machine, workload, workers, seed);
}

bool schedules(const OptionMap& schedule) {
  return admission::Options::parse(schedule).schedules();
}

Signature workload_signature(const OptionMap& workload) {
  return factory_of(workload, std::string(ThreadsMachine::kKind)).signature(workload);
}

std::vector<std::string> workload_names() {
  return distinct([](const SessionFactory& factory) { return factory.name; });
}

std::vector<std::string> machine_names() {
  return distinct([](const SessionFactory& factory) { return factory.machine; });
}

}  // namespace heddle
