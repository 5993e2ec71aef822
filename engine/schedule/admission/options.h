#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/options.h"
#include "model/signature.h"

namespace heddle::admission {

/// When a transaction lets go of a key, and when it needs it: the rules of the makespan model
/// (schedule/rules.h), in time instead of slots.
enum class Rules : std::uint8_t { occ, lock, mvtso };

/// How the next transaction of a worker is chosen among those that are in flight.
struct Options {
  std::string policy = "fifo";
  int window = 8;
  int samples = 5;  ///< SMF's k
  int barrier = 32;
  double hot = 0.01;  ///< of no account where there is a classifier
  /// As in a policy's file (classifier::Classifier).
  std::string classifier;
  /// For finding out what errors cost (SMF, VLDB 2024, §5.3).
  double wrong_hints = 0;
  double defer = 0.6;
  Rules rules = Rules::occ;
  bool rules_given = false;  ///< or else they are the protocol's
  double probe_us = 1000;    ///< the spans of a Probe
  std::vector<std::string> unscheduled;

  [[nodiscard]] bool schedules() const { return policy != "fifo"; }

  /// Declares each option, and reads it.
  void read(OptionReader& reader);
  /// A classifier is read with the signature at hand (classifier::Classifier::parse).
  /// @throws std::invalid_argument naming the culprit and what is valid
  [[nodiscard]] static Options parse(const OptionMap& options);
  /// What `parse` makes the same of: what a result records.
  [[nodiscard]] OptionMap to_map() const;

  /// Of each type of a workload, whether its transactions are scheduled.
  /// @throws std::invalid_argument if `unscheduled` names a type that there is not
  [[nodiscard]] std::vector<bool> scheduled_types(const Signature& signature) const;
};

/// The rules by which a protocol's transactions are scheduled unless told otherwise: `lock` for
/// two-phase locking, `occ` for all others. That goes for policy tables, mvto and mvschedo, too,
/// though their writes may be seen before the commit: whoever sees them must wait for it, and taken
/// to be through before, transactions are begun too early (measured: docs/admission.md).
[[nodiscard]] Rules rules_of(std::string_view protocol);

}  // namespace heddle::admission
