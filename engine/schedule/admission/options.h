#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/options.h"
#include "model/signature.h"

namespace heddle::admission {

/// When a transaction needs a key and when it releases it: the rules of the makespan model
/// (schedule/rules.h), in time instead of slots.
enum class Rules : std::uint8_t { occ, lock, mvtso };

/// How long a started transaction keeps others from starting: until it is expected to end, or until
/// it has committed.
enum class Until : std::uint8_t { expected, committed };

/// How a worker's next transaction is chosen among those in flight.
struct Options {
  std::string policy = "fifo";
  int window = 8;
  int samples = 5;  ///< SMF's k
  int barrier = 32;
  double hot = 0.01;  ///< not used where there is a classifier
  /// As in a policy's file (classifier::Classifier).
  std::string classifier;
  /// To measure the cost of errors (SMF, VLDB 2024, §5.3).
  double wrong_hints = 0;
  double defer = 0.6;
  Rules rules = Rules::occ;
  bool rules_given = false;  ///< otherwise they are the protocol's
  Until until = Until::expected;
  bool until_given = false;  ///< otherwise it is the protocol's
  double probe_us = 1000;    ///< length of the spans of a Probe
  std::vector<std::string> unscheduled;

  [[nodiscard]] bool schedules() const { return policy != "fifo"; }

  /// Declares each option, and reads it.
  void read(OptionReader& reader);
  /// The classifier is read later, when the signature is known (classifier::Classifier::parse).
  /// @throws std::invalid_argument naming the invalid option and the valid values
  [[nodiscard]] static Options parse(const OptionMap& options);
  /// The options from which `parse` makes the same: recorded in results.
  [[nodiscard]] OptionMap to_map() const;

  /// For each type of a workload, whether its transactions are scheduled.
  /// @throws std::invalid_argument if `unscheduled` names a type that does not exist
  [[nodiscard]] std::vector<bool> scheduled_types(const Signature& signature) const;
};

/// The default rules by which a protocol's transactions are scheduled: `lock` for two-phase
/// locking, `occ` for all others. That includes policy tables, mvto and mvschedo, although their
/// writes may be seen before the commit: readers must wait for that commit, and if the writers
/// counted as ended before it, transactions would begin too early (measured: docs/admission.md).
[[nodiscard]] Rules rules_of(std::string_view protocol);

/// Until when a protocol's transactions keep others from starting, by default: until they have
/// committed in front of a store, where they wait for what no worker sees (docs/external-stores.md
/// has the figures).
[[nodiscard]] Until until_of(std::string_view protocol);

/// The shortest span of a Probe under a protocol, µs: in front of a store a span of a millisecond
/// would see hardly any transaction begin.
[[nodiscard]] double least_probe_us(std::string_view protocol);

}  // namespace heddle::admission
