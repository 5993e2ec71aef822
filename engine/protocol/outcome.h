#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/access_id.h"

namespace heddle {

/// What a stored procedure returns.
enum class Outcome : std::uint8_t {
  commit,
  rollback,  ///< by the transaction's specification
  abort,     ///< by the protocol: run it again
};

/// How an access proceeds, as the protocol decides when it begins.
enum class Begin : std::uint8_t {
  plain,    ///< make the access without notifying the protocol
  proceed,  ///< make the access, then notify the protocol: log_*(), end_*()
  replay,   ///< the access precedes the validated point of a retry: serve it from the log
  stop,     ///< the transaction has to run again
};

/// How an attempt that has failed continues, as the protocol decides.
enum class Retry : std::uint8_t {
  no,        ///< it has to abort
  run,       ///< run the procedure again
  conclude,  ///< the procedure's result stands: try to end the transaction again
};

/// The result of accessing one record.
enum class Look : std::uint8_t {
  present,
  absent,
  gone,  ///< the record has just left its index: search for the key again
  stop,
};

/// The reason why the protocol aborted an attempt.
enum class AbortReason : std::uint8_t {
  none,
  read_validation,    ///< a record that was read has changed since.
  node_validation,    ///< an index node that a scan or a miss relied on has changed: a phantom.
  early_validation,   ///< early validation kept failing at the same publication point.
  dirty_source,       ///< the writer of a dirty version aborted, or wrote the record again.
  wait_cycle,         ///< transactions waited for each other to commit.
  lock_conflict,      ///< wait-die or no-wait denied a lock.
  record_unlinked,    ///< the record left its index while in use.
  stopped,            ///< the run ended.
  late_write,         ///< a transaction with a later timestamp has read the row as it was before.
  late_insert,        ///< or the range of the index that the row belongs to.
  epoch_full,         ///< the epoch has no version left that is later than those it saw.
  deadlock,           ///< the victim of a deadlock between transactions that waited for locks.
  write_after_write,  ///< an earlier transaction of the batch writes the row too.
  read_after_write,   ///< an earlier transaction of the batch writes a row that was read.
  count_,
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(AbortReason::count_)>
    kAbortReasonNames{"none",         "read_validation",   "node_validation", "early_validation",
                      "dirty_source", "wait_cycle",        "lock_conflict",   "record_unlinked",
                      "stopped",      "late_write",        "late_insert",     "epoch_full",
                      "deadlock",     "write_after_write", "read_after_write"};

}  // namespace heddle
