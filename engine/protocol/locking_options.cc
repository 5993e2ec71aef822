#include "protocol/locking_options.h"

#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/grant/registry.h"
#include "protocol/protocol.h"

namespace heddle {

namespace {

constexpr std::string_view kProtocol = "two_phase_locking";
constexpr std::array<std::pair<std::string_view, ConflictRule>, 3> kRules{
    {{"wait_die", ConflictRule::wait_die},
     {"no_wait", ConflictRule::no_wait},
     {"detect", ConflictRule::detect}}};
constexpr std::array<std::string_view, 2> kDependencies{"approximate", "exact"};

template <class Names, class NameOf>
std::string choices(std::string text, const Names& names, NameOf name_of) {
  char separator = '=';
  for (const auto& name : names) {
    text += separator + std::string(name_of(name));
    separator = '|';
  }
  return text;
}

std::string valid() {
  const auto itself = [](std::string_view name) { return name; };
  return choices("conflict", kRules, [](const auto& rule) { return rule.first; }) + ", " +
         choices("grant", grant::Policies::names(), itself) + ", " +
         choices("dependency", kDependencies, itself) + ", " +
         choices("delay", grant::kDelays, [](const auto& delay) { return delay.name; });
}

[[noreturn]] void refuse(const std::string& option, const std::string& cure) {
  throw std::invalid_argument("protocol " + std::string(kProtocol) + ": option '" + option +
                              "' has no effect; " + cure);
}

bool uses_dependencies(const std::string& grant) {
  return grant == grant::Ldsf::kName || grant == grant::Bldsf::kName ||
         grant == grant::Hldsf::kName;
}

}  // namespace

LockingOptions locking_options(const std::map<std::string, std::string>& options) {
  LockingOptions parsed;
  parsed.policy.delay = grant::delay_factor(grant::kDelays.front().name);
  for (const auto& [key, value] : options) {
    bool known = false;
    if (key == "conflict") {
      for (const auto& [name, rule] : kRules) {
        if (name != value) continue;
        parsed.rule = rule;
        known = true;
      }
    } else if (key == "grant") {
      parsed.grant = value;
      known = grant::Policies::visit(value, [](auto) {});
    } else if (key == "dependency") {
      parsed.policy.exact = value == "exact";
      known = parsed.policy.exact || value == "approximate";
    } else if (key == "delay") {
      parsed.policy.delay = grant::delay_factor(value);
      known = static_cast<bool>(parsed.policy.delay);
    }
    if (!known) reject_protocol_option(kProtocol, key, value, valid());
  }
  // wait_die lets a request wait for those ahead of it only: another order would let it wait for
  // others, and the transactions might wait in a circle.
  if (parsed.grant != grant::Fifo::kName && parsed.rule != ConflictRule::detect) {
    refuse("grant=" + parsed.grant, "it needs conflict=detect");
  }
  if (options.contains("dependency") && !uses_dependencies(parsed.grant)) {
    refuse("dependency=" + options.at("dependency"), "it needs grant=ldsf, bldsf or hldsf");
  }
  if (options.contains("delay") && parsed.grant != grant::Bldsf::kName) {
    refuse("delay=" + options.at("delay"), "it needs grant=bldsf");
  }
  return parsed;
}

}  // namespace heddle
