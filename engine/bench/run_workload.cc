// Runs a workload once and prints its result as JSON: for profilers and instruction counts, which
// Python would disturb.
//
//   heddle_run_workload name=tpcc warehouses=1 mix=full -- protocol=silo workers=1 seconds=1
//
// Before `--`: the workload's options. After it: machine, protocol, backoff, backoff_us, workers,
// seconds, warmup, seed, policy (a policy file), exclusive_after, history_mib or trace_mib (to
// record), schedule.policy and the other schedule options, protocol.conflict and the other options
// of the protocol, and the machine's own options (skew_ns=0). seconds=0 loads the database and runs
// nothing.

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "driver/machine_options.h"
#include "driver/policy_json.h"
#include "driver/session.h"

namespace {

using heddle::OptionMap;

/// Moves the options whose names begin with `prefix` into a map of their own, without it.
OptionMap take_all(OptionMap& options, std::string_view prefix) {
  OptionMap taken;
  for (auto it = options.begin(); it != options.end();) {
    if (it->first.starts_with(prefix)) {
      taken[it->first.substr(prefix.size())] = it->second;
      it = options.erase(it);
    } else {
      ++it;
    }
  }
  return taken;
}

std::string take(OptionMap& options, const std::string& key, const std::string& fallback) {
  const auto found = options.find(key);
  if (found == options.end()) return fallback;
  std::string value = found->second;
  options.erase(found);
  return value;
}

void parse(int count, char** words, OptionMap& workload, OptionMap& run) {
  OptionMap* target = &workload;
  for (int at = 1; at < count; ++at) {
    const std::string word = words[at];
    const std::size_t equals = word.find('=');
    if (word == "--") {
      target = &run;
    } else if (equals == std::string::npos) {
      throw std::invalid_argument("'" + word + "' is not key=value");
    } else {
      (*target)[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
}

std::shared_ptr<const heddle::CompiledPolicy> load_policy(const std::string& path,
                                                          const heddle::Signature& signature) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("policy '" + path + "' can't be read");
  std::ostringstream text;
  text << file.rdbuf();
  return std::make_shared<const heddle::CompiledPolicy>(
      heddle::parse_policy(text.str(), signature));
}

int run(int count, char** words) {
  OptionMap workload;
  OptionMap run;
  parse(count, words, workload, run);
  const int workers = std::stoi(take(run, "workers", "1"));
  const std::string policy = take(run, "policy", "");
  heddle::RunOptions options;
  options.protocol = take(run, "protocol", policy.empty() ? "silo" : "policy_table");
  options.backoff = take(run, "backoff", policy.empty() ? "exponential" : "policy");
  options.backoff_us = std::stod(take(run, "backoff_us", "0"));
  options.seconds = std::stod(take(run, "seconds", "1"));
  options.warmup = std::stod(take(run, "warmup", "0"));
  options.seed = std::stoull(take(run, "seed", "1"));
  options.exclusive_after = static_cast<std::uint32_t>(
      std::stoul(take(run, "exclusive_after", std::to_string(options.exclusive_after))));
  options.history_bytes = std::stoull(take(run, "history_mib", "0")) << 20;
  options.trace_bytes = std::stoull(take(run, "trace_mib", "0")) << 20;
  options.schedule = take_all(run, "schedule.");
  options.protocol_options = take_all(run, "protocol.");
  run["kind"] = take(run, "machine", "threads");
  const heddle::MachineOptions machine = heddle::parse_machine(run);

  const auto session = heddle::open_session(workload, workers, 1, machine);
  if (options.seconds == 0) {
    std::puts("{\"commits\": 0}");
    return 0;
  }
  if (!policy.empty()) options.policy = load_policy(policy, session->signature());
  std::puts(session->run(options, [] { return false; }).to_json().c_str());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(count, words);
  } catch (const std::exception& error) {
    std::cerr << "heddle_run_workload: " << error.what() << '\n';
    return 2;
  }
}
