#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "check/trial.h"
#include "model/random.h"
#include "protocol/grant/registry.h"
#include "tables.h"

namespace heddle::test {

/// Properties that all trials are to have and otherwise only some do.
enum class Bias : std::uint8_t {
  none,
  switching,   ///< the table is replaced by others while it runs
  churning,    ///< the same few rows are inserted and deleted all the time, in short epochs
  timestamps,  ///< transactions are ordered by timestamps
  batches,     ///< transactions commit in batches
  partitions,  ///< some data is locked, some validated

  // Only the level is checked:
  snapshots,  ///< snapshot isolation
  committed,  ///< read committed
};

/// Options of two_phase_locking; wait-die in a third of the trials.
inline std::map<std::string, std::string> drawn_locking(Random& random) {
  if (random.below(3) == 0) return {};
  const std::vector<std::string> grants = grant::Policies::names();
  return {{"conflict", "detect"}, {"grant", grants[random.below(grants.size())]}};
}

/// Options of two_phase_locking in partitions.
inline std::map<std::string, std::string> drawn_partitions(Random& random) {
  std::map<std::string, std::string> options = drawn_locking(random);
  options["partitions"] = std::to_string(random.between(1, 4));
  options["span"] = "2";
  return options;
}

/// Options of aria.
inline std::map<std::string, std::string> drawn_batches(Random& random) {
  std::map<std::string, std::string> options;
  if (random.below(2) == 0) options["reordering"] = "off";
  if (random.below(3) == 0) options["batch"] = std::to_string(random.between(1, 4));
  return options;
}

/// A small trial on virtual cores drawn from a number: the transaction types, the protocol or
/// table, the number of cores, and the order of their steps.
/// @param bias the property it is drawn for
inline Trial drawn_trial(std::uint64_t seed, Bias bias = Bias::none) {
  constexpr std::uint64_t kKinds = 11;
  constexpr std::uint64_t kTimestamps = 10;
  constexpr std::uint64_t kBatches = kKinds;  // drawn only where the trial is biased
  constexpr std::uint64_t kPartitions = kKinds + 1;
  constexpr std::uint64_t kWeaker = kKinds + 2;
  Random random(seed);
  const auto between = [&random](int lo, int hi) { return std::to_string(random.between(lo, hi)); };
  Trial trial;
  trial.workload = {{"name", "generic"},
                    {"program", std::to_string(seed)},
                    {"types", between(1, 5)},
                    {"accesses", between(2, 8)},
                    {"ordered_keys", between(2, 10)},
                    {"hash_keys", between(1, 5)},
                    {"rollbacks", between(0, 10)},
                    {"audits", random.below(3) == 0 ? "10" : "0"}};
  const bool churning = bias == Bias::churning || random.below(4) == 0;
  if (churning) {
    trial.workload["churn"] = between(50, 100);
    trial.workload["ordered_keys"] = between(1, 2);
    trial.workload["hash_keys"] = "1";
  }
  trial.workers = static_cast<int>(churning ? random.between(4, 10) : random.between(2, 8));
  trial.seed = seed;
  trial.machine.kind = "virtual";
  trial.machine.seed = seed;
  trial.machine.model.fetches = seed % 2 == 0 ? 0 : 10;
  auto& schedule = trial.machine.schedule;
  schedule.kind = std::array{ScheduleKind::clock, ScheduleKind::delays,
                             ScheduleKind::priorities}[random.below(3)];
  schedule.rescue = false;
  schedule.delay_every = 20 + random.below(200);
  schedule.depth = static_cast<int>(random.between(2, 4));
  schedule.steps = 200 + random.below(2000);
  trial.run.seconds = 0.001;
  trial.run.watchdog_s = 0.02;
  trial.run.epoch_us =
      (churning ? std::array{2.0, 10.0, 20.0} : std::array{10.0, 50.0, 10'000.0})[random.below(3)];
  const Signature signature = workload_signature(trial.workload);
  const bool weaker = bias == Bias::snapshots || bias == Bias::committed;
  const std::uint64_t kind = bias == Bias::timestamps   ? kTimestamps
                             : bias == Bias::batches    ? kBatches
                             : bias == Bias::partitions ? kPartitions
                             : weaker                   ? kWeaker
                                                        : random.below(kKinds);
  if (kind == 0) {
    trial.run.protocol = "silo";
  } else if (kind == 1) {
    trial.run.protocol = "two_phase_locking";
    trial.run.protocol_options = drawn_locking(random);
  } else if (kind == kPartitions) {
    trial.run.protocol = "two_phase_locking";
    trial.run.protocol_options = drawn_partitions(random);
  } else if (kind == kTimestamps) {
    trial.run.protocol = "mvto";
  } else if (kind == kWeaker) {
    trial.isolation = bias == Bias::snapshots ? Isolation::snapshot : Isolation::read_committed;
    trial.run.protocol = "mvto";
    trial.run.protocol_options = {{"isolation", name_of(trial.isolation)}};
  } else if (kind == kBatches) {
    trial.run.protocol = "aria";
    trial.run.protocol_options = drawn_batches(random);
  } else {
    trial.run.protocol = "policy_table";
    switch (kind) {
      case 2: trial.run.policy = tables::ic3(signature); break;
      case 3: trial.run.policy = tables::validating(signature, true); break;
      case 4: trial.run.policy = tables::reckless(signature); break;
      default: trial.run.policy = tables::random(signature, seed); break;
    }
    if (random.below(4) == 0 || bias == Bias::switching) {
      for (std::uint64_t other = 0; other < 3; ++other) {
        trial.switches.push_back(tables::random(signature, seed * 3 + other));
      }
    }
  }
  return trial;
}

}  // namespace heddle::test
