#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/chunked.h"

namespace heddle::check {

/// The record of a run for the checker. It is independent of the engine: a history consists of
/// attempts at transactions, and the versions of rows that they read and wrote.

/// The kind of an operation.
enum class Kind : std::uint8_t {
  read,    ///< read a version of a row.
  miss,    ///< found no such row.
  write,   ///< wrote a version of a row.
  remove,  ///< deleted a row
  range,   ///< scanned all rows of a range: the reads of kOfRange that follow.
  broken,  ///< read something that no order of transactions explains; `version` is a Fault.
};

/// What an operation of Kind::broken has read.
enum class Fault : std::uint8_t {
  foreign_row = 1,  ///< the row of another key.
  out_of_order,     ///< a scan's rows in the wrong order, or one of them twice.
  out_of_range,     ///< a row outside a scan's bounds.
  own_write,        ///< not what the transaction itself had just written or deleted.
  lost_write,       ///< a write that is missing from the commit.
  count_
};

/// Flags of an operation, one bit each.
namespace flag {
inline constexpr std::uint8_t kOfRange = 1;  ///< a read: one of the rows of the range before it.
inline constexpr std::uint8_t kUncommitted = 2;  ///< a read, a miss: `version` is a Dirty version.
inline constexpr std::uint8_t kInserted = 4;     ///< a write: the row did not exist before.
/// A read of the transaction's own write. A write or delete: taken back by a rollback.
inline constexpr std::uint8_t kOwn = 8;
}  // namespace flag

/// One operation of an attempt that committed or rolled back. Several writes to one row are
/// recorded once, with the last content.
struct Operation {
  std::uint64_t key = 0;  ///< a range: its first key
  /// The version: greater than every earlier version of the record. Bits 3 to 6 count how often its
  /// writer wrote the row (15: that often or more). For a miss or a range: the time of the
  /// operation.
  std::uint64_t version = 0;
  /// The record that held the row: a row that is deleted and inserted again may get another one,
  /// and versions are only ordered within a record. For a range: its last key.
  std::uint64_t place = 0;
  std::uint32_t digest = 0;  ///< of the content; of a range: the number of its rows
  std::uint16_t bytes = 0;   ///< length of the digested content, from the row's first byte
  std::uint8_t table = 0;
  Kind kind : 4 = Kind::read;
  std::uint8_t flags : 4 = 0;

  [[nodiscard]] bool is(std::uint8_t one_flag) const { return (flags & one_flag) != 0; }
  [[nodiscard]] std::uint32_t rows() const { return digest; }
};
static_assert(sizeof(Operation) == 32);

/// How often the writer of a version had written the row; 15: that often or more.
constexpr std::uint64_t writes_of(std::uint64_t version) { return version >> 3 & 15; }

/// A version that was uncommitted when it was read: its writer's worker, the number of that
/// worker's publishing attempt (`Attempt::incarnation`), and the number of writes up to it.
struct Dirty {
  std::uint32_t worker;
  std::uint64_t incarnation;
  std::uint32_t writes;

  [[nodiscard]] constexpr std::uint64_t packed() const {
    return std::uint64_t{worker} << 48 | incarnation << 4 | writes;
  }
  static constexpr Dirty unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 48), (word & ((std::uint64_t{1} << 48) - 1)) >> 4,
            static_cast<std::uint32_t>(word & 15)};
  }
};

enum class End : std::uint8_t {
  committed,
  rolled_back,  ///< by the transaction itself; what it read must be consistent all the same.
  aborted,      ///< by the protocol, to be retried: its operations are not kept.
};

/// One attempt at a transaction.
struct Attempt {
  /// Readings of one clock: if `one.ended <= other.began`, the first had ended when the other
  /// began.
  std::uint64_t began = 0;
  std::uint64_t ended = 0;
  std::uint64_t first = 0;        ///< its operations: the first in its worker's log
  std::uint32_t operations = 0;   ///< and their number
  std::uint64_t incarnation = 0;  ///< 0: nothing was visible to others before it committed
  std::uint16_t type = 0;
  End end = End::committed;
  bool on_snapshot = false;  ///< it read a state of the database from some time before it began
  std::uint8_t reason = 0;   ///< the abort reason: an index into History::reasons
};

/// One worker's attempts, in the order in which it made them.
struct WorkerLog {
  Chunked<Attempt> attempts;
  Chunked<Operation> operations;

  /// Reserves memory for about `bytes`.
  void reserve(std::size_t bytes) {
    // A short transaction has about five operations.
    const std::size_t transactions = bytes / (sizeof(Attempt) + 5 * sizeof(Operation));
    attempts.reserve(transactions);
    operations.reserve((bytes - transactions * sizeof(Attempt)) / sizeof(Operation));
  }
  [[nodiscard]] std::size_t bytes() const {
    return attempts.size() * sizeof(Attempt) + operations.size() * sizeof(Operation);
  }
};

/// Everything recorded of one run.
struct History {
  std::vector<WorkerLog> workers;
  std::vector<std::string> tables;
  std::vector<std::string> types;
  std::vector<std::string> reasons;
  /// Versions below this one existed before the run.
  std::uint64_t first_version = 0;
};

}  // namespace heddle::check
