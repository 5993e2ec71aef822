#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "model/options.h"
#include "protocol/backoff_range.h"
#include "store/store.h"

namespace heddle {

/// What is locked outside of the store before a transaction begins in it.
enum class OutsideLocks : std::uint8_t {
  off,    ///< nothing
  hints,  ///< the rows that its hints name
};

/// What a transaction reads in one step when it begins, where a store has round trips.
enum class Prefetch : std::uint8_t {
  off,    ///< nothing
  hints,  ///< the rows that its hints name
};

/// With merge, what happens to a transaction that only reads.
enum class MergedReads : std::uint8_t {
  together,  ///< it waits for its group, like one that writes
  alone,     ///< it runs at once
};

/// The options of external.
struct ExternalOptions {
  std::string store = "sqlite";
  std::string folder;  ///< empty: the system's folder for temporary files
  store::Durability durability = store::Durability::full;
  store::Begin begin = store::Begin::immediate;
  store::Isolation isolation = store::Isolation::serializable;
  store::Conflicts conflicts = store::Conflicts::optimistic;
  std::string dsn;        ///< a server that is there already; empty: the store starts its own
  std::size_t merge = 1;  ///< most transactions of a worker that the store commits as one
  MergedReads reads = MergedReads::together;
  /// The most transactions that are in the store at a time; empty: one for each worker.
  std::optional<std::size_t> concurrency;
  OutsideLocks locks = OutsideLocks::off;
  Prefetch prefetch = Prefetch::hints;
  double sync_us = 0;  ///< simulated time of a wait for the disk; 0: the disk's own
  /// Conflicts last as long as a commit, which waits for a disk.
  BackoffRange backoff{.first_us = 500, .longest_us = 32'000};

  /// What a store receives of them. The folder is not the run's yet.
  [[nodiscard]] store::StoreSetup setup() const;

  /// Declares each option and reads its value.
  void read(OptionReader& reader);

  /// @throws std::invalid_argument for an option or value that does not exist or that the store
  /// does
  ///         not have, and for a store that is not built
  [[nodiscard]] static ExternalOptions parse(const OptionMap& options);
};

}  // namespace heddle
