#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "driver/session.h"
#include "driver/session_runs.h"
#include "scale.h"

/// Every admission policy, as the tests in this folder run them.
namespace heddle::admission_ways {

/// Every hint names a hot key; otherwise hardly any transactions of small databases were cold.
inline std::vector<OptionMap> schedules() {
  std::vector<OptionMap> all{
      {{"policy", "smf"}, {"hot", "0"}},
      {{"policy", "smf"},
       {"hot", "0"},
       {"window", "16"},
       {"probe_us", "20"},
       {"wrong_hints", "0.5"}},
      {{"policy", "smf"}, {"hot", "0.02"}, {"k", "0"}, {"window", "16"}, {"barrier", "4"}},
      {{"policy", "smf"}, {"hot", "0"}, {"window", "1"}, {"rules", "mvtso"}},
      {{"policy", "smf"}, {"hot", "0"}, {"until", "committed"}, {"barrier", "4"}},
      {{"policy", "tsdefer"}, {"hot", "0"}},
      {{"policy", "tsdefer"}, {"hot", "0.02"}, {"until", "committed"}},
      {{"policy", "tsdefer"}, {"hot", "0.02"}, {"defer", "1"}, {"probe_us", "20"}},
      {{"policy", "partition"}, {"hot", "0"}},
      {{"policy", "partition"}, {"hot", "0.02"}, {"window", "2"}, {"wrong_hints", "1"}}};
  for (OptionMap& schedule : all) schedule.try_emplace("probe_us", "0");
  return all;
}

/// Some ways under these: every pair in a long test, else some, in which each occurs.
inline std::vector<session_runs::Way> scheduled(const std::vector<session_runs::Way>& ways) {
  constexpr std::size_t kApart = 4;
  const std::vector<OptionMap> all = schedules();
  std::vector<session_runs::Way> made;
  for (std::size_t way = 0; way < ways.size(); ++way) {
    for (std::size_t schedule = 0; schedule < all.size(); ++schedule) {
      const bool some = ways.size() > 1 && !test::full_length();
      if (some && (way + schedule) % kApart != 0) continue;
      made.push_back(ways[way]);
      made.back().options.schedule = all[schedule];
      for (const auto& [key, value] : all[schedule]) made.back().name += " " + key + "=" + value;
    }
  }
  return made;
}

/// Protocols, and tables that wait, publish and read dirty.
inline std::vector<session_runs::Way> some_ways(const Signature& signature) {
  std::vector<session_runs::Way> ways = session_runs::protocols();
  ways.push_back(session_runs::with_policy(tables::ic3(signature)));
  ways.push_back(session_runs::with_policy(tables::reckless(signature)));
  ways.push_back(session_runs::with_policy(tables::random(signature, 1)));
  return ways;
}

}  // namespace heddle::admission_ways
