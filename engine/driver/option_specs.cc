#include "driver/option_specs.h"

#include <concepts>
#include <stdexcept>

#include "driver/machine_options.h"
#include "driver/session_factory.h"
#include "protocol/protocol.h"
#include "protocol/registry.h"
#include "schedule/admission/options.h"

namespace heddle {

namespace {

std::vector<OptionSpec> workload_specs(const std::string& name) {
  for (const SessionFactory& factory : session_factories()) {
    if (factory.name == name) return factory.options();
  }
  std::string valid;
  for (const std::string& one : workload_names()) valid += (valid.empty() ? "" : ", ") + one;
  throw std::invalid_argument("workload '" + name + "' is not known; valid: " + valid);
}

/// Whether a protocol declares its options, as `Options`.
template <class P>
concept HasOptions = requires { typename P::Options; };

/// Whether one of its options is an isolation level of this engine.
template <class P>
concept HasIsolation = HasOptions<P> && requires(typename P::Options options) {
  { options.isolation } -> std::same_as<Isolation&>;
};

/// Checks values; those that depend on the workload only if `signature` is given.
/// @throws std::invalid_argument
template <class Options>
void check_values(const OptionMap& options, const Signature* signature) {
  if constexpr (requires(const Signature& workload) { Options::parse(options, workload); }) {
    if (signature != nullptr) {
      (void)Options::parse(options, *signature);
      return;
    }
  }
  (void)Options::parse(options);
}

std::vector<OptionSpec> protocol_specs(const std::string& name) {
  std::vector<OptionSpec> specs;
  const bool known = NamedProtocols::visit(name, [&]<class P>(P) {
    if constexpr (HasOptions<P>) specs = specs_of<typename P::Options>();
  });
  if (known) return specs;
  throw std::invalid_argument("protocol '" + name +
                              "' is not known; valid: " + NamedProtocols::joined_names());
}

}  // namespace

void check_protocol(const std::string& name, const OptionMap& options, const Signature* signature) {
  if (protocol_specs(name).empty()) {
    for (const auto& [key, value] : options) reject_protocol_option(name, key, value, "none");
  }
  NamedProtocols::visit(name, [&]<class P>(P) {
    if constexpr (HasOptions<P>) check_values<typename P::Options>(options, signature);
  });
}

Isolation isolation_of(const std::string& name, const OptionMap& options) {
  Isolation isolation = Isolation::serializable;
  NamedProtocols::visit(name, [&]<class P>(P) {
    if constexpr (HasIsolation<P>) isolation = P::Options::parse(options).isolation;
  });
  return isolation;
}

std::vector<OptionSpec> option_specs(const std::string& group, const std::string& name) {
  if (group == "workload") return workload_specs(name);
  if (group == "machine") return machine_specs(name);
  if (group == "machine/costs") return cost_specs();
  if (group == "schedule") return specs_of<admission::Options>();
  if (group == "protocol") return protocol_specs(name);
  throw std::invalid_argument(
      "group '" + group +
      "' is not known; valid: workload, machine, machine/costs, schedule, protocol");
}

}  // namespace heddle
