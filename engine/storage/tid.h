#pragma once

#include <cstdint>

namespace heddle {

/// The TID word of a record (Silo, SOSP 2013, §4.2): lock and status bits next to a version that
/// grows with every commit and contains the commit's epoch.
///
///     63            32 31         7 6        3    2       1       0
///     [   epoch 32   ][ sequence 25 ][ writes 4 ][dead][absent][lock]
///
/// `writes` counts how often the committing transaction wrote the record (Polyjuice, OSDI 2021,
/// §4.4: a unique id for uncommitted versions): a reader of the first of two uncommitted versions
/// of one writer sees that the committed version is the other. `absent` marks a record that does
/// not exist (not yet, or no longer); `dead` one that has left its index and must not be used
/// again.
///
/// Neither counter overflows into the next. A sequence that is used up is an abort (AbortReason
/// epoch_full), or a wait where timestamps are taken, until the epoch advances; an epoch allows
/// kVersionsPerEpoch commits that build on each other. The last epoch, kLastEpoch, never ends.
namespace tid {

inline constexpr std::uint64_t kLock = 1;
inline constexpr std::uint64_t kAbsent = 2;
inline constexpr std::uint64_t kDead = 4;
inline constexpr int kWritesShift = 3;
inline constexpr std::uint64_t kMaxWrites = 15;
inline constexpr int kSequenceShift = 7;
inline constexpr int kEpochShift = 32;
inline constexpr std::uint64_t kStep = std::uint64_t{1} << kSequenceShift;
inline constexpr std::uint64_t kVersionMask = ~(kStep - 1);
inline constexpr std::uint64_t kVersionsPerEpoch = std::uint64_t{1}
                                                   << (kEpochShift - kSequenceShift);
/// One below the greatest that fits: timestamps may exceed it by up to two for each worker.
inline constexpr std::uint64_t kLastEpoch = (std::uint64_t{1} << (64 - kEpochShift)) - 2;

/// The TID word of a loaded row: epoch 1, before any transaction.
inline constexpr std::uint64_t kLoaded = std::uint64_t{1} << kEpochShift;
/// A placeholder that an insert puts into the index before it commits.
inline constexpr std::uint64_t kPlaceholder = kAbsent;

constexpr bool locked(std::uint64_t word) { return (word & kLock) != 0; }
constexpr bool absent(std::uint64_t word) { return (word & kAbsent) != 0; }
constexpr bool dead(std::uint64_t word) { return (word & kDead) != 0; }
constexpr std::uint64_t version(std::uint64_t word) { return word & kVersionMask; }
constexpr std::uint64_t epoch(std::uint64_t word) { return word >> kEpochShift; }
constexpr std::uint64_t first_of_epoch(std::uint64_t epoch) { return epoch << kEpochShift; }

/// The TID word that a commit leaves: its version, the number of its writes to the record, and
/// whether it deleted it.
constexpr std::uint64_t committed(std::uint64_t version, std::uint64_t writes, bool removed) {
  const std::uint64_t count = writes < kMaxWrites ? writes : kMaxWrites;
  return version | (count << kWritesShift) | (removed ? kAbsent : 0);
}

}  // namespace tid
}  // namespace heddle
