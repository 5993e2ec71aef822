#pragma once

#include <string>
#include <vector>

#include "driver/session.h"
#include "driver/session_runs.h"

/// Every way of choosing which transaction starts next, as the tests in this folder run them.
namespace heddle::admission_ways {

/// Every hint names a hot key, or next to none of the transactions of small databases were cold.
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
      {{"policy", "tsdefer"}, {"hot", "0"}},
      {{"policy", "tsdefer"}, {"hot", "0.02"}, {"defer", "1"}, {"probe_us", "20"}},
      {{"policy", "partition"}, {"hot", "0"}},
      {{"policy", "partition"}, {"hot", "0.02"}, {"window", "2"}, {"wrong_hints", "1"}}};
  for (OptionMap& schedule : all) schedule.try_emplace("probe_us", "0");
  return all;
}

/// Each of some ways under each of these.
inline std::vector<session_runs::Way> scheduled(const std::vector<session_runs::Way>& ways) {
  std::vector<session_runs::Way> made;
  for (const session_runs::Way& way : ways) {
    for (const OptionMap& schedule : schedules()) {
      made.push_back(way);
      made.back().options.schedule = schedule;
      for (const auto& [key, value] : schedule) made.back().name += " " + key + "=" + value;
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
