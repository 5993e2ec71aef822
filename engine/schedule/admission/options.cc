#include "schedule/admission/options.h"

#include <algorithm>
#include <cstddef>
#include <optional>
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

std::string_view name_of(Until until) {
  switch (until) {
    case Until::expected: return "expected";
    case Until::committed: return "committed";
  }
  return "";
}

}  // namespace

void Options::read(OptionReader& reader) {
  std::optional<Rules> chosen;
  std::optional<Until> chosen_until;
  reader.choice("policy", policy, policy_names(),
                "which transaction in flight starts next; fifo: as they are drawn");
  reader.integer("window", window, 1, kMostInFlight,
                 "with smf or tsdefer, transactions in flight at a worker; with partition, "
                 "capacity for those of other workers");
  reader.integer("k", samples, 0, kMostInFlight,
                 "with smf, transactions of the window that it compares, the oldest among them; "
                 "0: all");
  reader.integer("barrier", barrier, 0, kFarthestBarrier,
                 "with smf or tsdefer, transactions that may overtake one before it starts");
  reader.real("hot", hot, 0, 1,
              "share of a worker's transactions that must name a key for it to be hot; 0: every "
              "key is hot");
  reader.text("classifier", classifier,
              "classifier of heddle lab classify, which predicts hot keys instead of hot; "
              "null: by the hints alone");
  reader.real("wrong_hints", wrong_hints, 0, 1,
              "share of the transactions that are mistaken for another of their type, to measure "
              "the cost of errors");
  reader.real("defer", defer, 0, 1,
              "with tsdefer, the probability that a transaction with a conflict is deferred");
  reader.choice(
      "rules", chosen,
      {{"auto", std::nullopt}, {"occ", Rules::occ}, {"lock", Rules::lock}, {"mvtso", Rules::mvtso}},
      "with smf or tsdefer, when a conflict ends; auto: lock for two_phase_locking and "
      "external, occ for all others");
  reader.choice(
      "until", chosen_until,
      {{"auto", std::nullopt}, {"expected", Until::expected}, {"committed", Until::committed}},
      "with smf or tsdefer, whether a started transaction keeps others from starting "
      "until its expected end or until it has committed; auto: committed for external, "
      "expected for all others");
  reader.real("probe_us", probe_us, 0, kLongestProbeUs,
              "with smf or tsdefer, microseconds of a span that tests whether scheduling pays; "
              "0: no test; with external at least 100000");
  reader.names("unscheduled", unscheduled, "transaction types that start as they are drawn");
  rules_given = chosen.has_value();
  rules = chosen.value_or(Rules::occ);
  until_given = chosen_until.has_value();
  until = chosen_until.value_or(Until::expected);
}

Options Options::parse(const OptionMap& options) {
  OptionReader reader("schedule", options);
  return read_options<Options>(reader);
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
          {"until", until_given ? std::string(name_of(until)) : "auto"},
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
  return protocol == "two_phase_locking" || protocol == "external" ? Rules::lock : Rules::occ;
}

Until until_of(std::string_view protocol) {
  return protocol == "external" ? Until::committed : Until::expected;
}

double least_probe_us(std::string_view protocol) {
  constexpr double kInFrontOfStoreUs = 100'000;
  return protocol == "external" ? kInFrontOfStoreUs : 0;
}

}  // namespace heddle::admission
