#include "schedule/admission/options.h"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/admission/registry.h"

namespace heddle::admission {

namespace {

constexpr int kMostInFlight = 64;
constexpr int kFarthestBarrier = 1'000'000;
constexpr double kLongestProbeUs = 1'000'000;

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

std::string_view name_of(Rules rules) {
  switch (rules) {
    case Rules::occ: return "occ";
    case Rules::lock: return "lock";
    case Rules::mvtso: return "mvtso";
  }
  return "";
}

}  // namespace

Options Options::parse(const OptionMap& options) {
  Options parsed;
  OptionReader reader("schedule", options);
  parsed.policy = reader.choice("policy", parsed.policy, policy_names());
  parsed.window = static_cast<int>(reader.integer("window", parsed.window, 1, kMostInFlight));
  parsed.samples = static_cast<int>(reader.integer("k", parsed.samples, 0, kMostInFlight));
  parsed.barrier = static_cast<int>(reader.integer("barrier", parsed.barrier, 0, kFarthestBarrier));
  parsed.hot = reader.real("hot", parsed.hot, 0, 1);
  parsed.classifier = reader.text("classifier");
  parsed.wrong_hints = reader.real("wrong_hints", parsed.wrong_hints, 0, 1);
  parsed.defer = reader.real("defer", parsed.defer, 0, 1);
  const std::string rules = reader.choice("rules", "auto", {"auto", "occ", "lock", "mvtso"});
  parsed.probe_us = reader.real("probe_us", parsed.probe_us, 0, kLongestProbeUs);
  parsed.unscheduled = reader.names("unscheduled");
  reader.finish();
  parsed.rules_given = rules != "auto";
  if (rules == "lock") parsed.rules = Rules::lock;
  if (rules == "mvtso") parsed.rules = Rules::mvtso;
  return parsed;
}

OptionMap Options::to_map() const {
  return {{"policy", policy},
          {"window", std::to_string(window)},
          {"k", std::to_string(samples)},
          {"barrier", std::to_string(barrier)},
          {"hot", text_of(hot)},
          {"classifier", classifier},
          {"wrong_hints", text_of(wrong_hints)},
          {"defer", text_of(defer)},
          {"rules", rules_given ? std::string(name_of(rules)) : "auto"},
          {"probe_us", text_of(probe_us)},
          {"unscheduled", joined(unscheduled)}};
}

std::vector<bool> Options::scheduled_types(const Signature& signature) const {
  std::vector<bool> scheduled(signature.types.size(), true);
  for (const std::string& name : unscheduled) {
    const auto found = std::find_if(signature.types.begin(), signature.types.end(),
                                    [&name](const TypeSpec& type) { return type.name == name; });
    if (found == signature.types.end()) {
      std::vector<std::string> known;
      for (const TypeSpec& type : signature.types) known.push_back(type.name);
      throw std::invalid_argument("schedule: option 'unscheduled' names the type '" + name + "'; " +
                                  signature.workload + " has " + joined(known));
    }
    scheduled[static_cast<std::size_t>(found - signature.types.begin())] = false;
  }
  return scheduled;
}

Rules rules_of(std::string_view protocol) {
  return protocol == "two_phase_locking" ? Rules::lock : Rules::occ;
}

}  // namespace heddle::admission
