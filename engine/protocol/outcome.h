#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/access_id.h"

namespace heddle {

/// What a stored procedure returns.
enum class Outcome : std::uint8_t {
  commit,
  rollback,  ///< the transaction's own wish, by its specification
  abort,     ///< the protocol's: run it again
};

/// What a protocol says when an access begins.
enum class Begin : std::uint8_t {
  plain,    ///< make the access; the protocol need not hear of it
  proceed,  ///< make the access, then tell the protocol: log_*(), end_*()
  replay,   ///< the access was made before a retry from a validated point: serve it from the log
  stop,     ///< the transaction has to run again
};

/// What a protocol says to an attempt that has failed.
enum class Retry : std::uint8_t {
  no,        ///< it has to abort
  run,       ///< run the procedure again
  conclude,  ///< what the procedure did stands: try to end the transaction again
};

/// What came of looking at one record.
enum class Look : std::uint8_t {
  present,
  absent,
  gone,  ///< the record has just left its index: look the key up again
  stop,
};

/// Why the protocol made a transaction run again.
enum class AbortReason : std::uint8_t {
  none,
  read_validation,   ///< a record read has changed since
  node_validation,   ///< an index node that a scan or a miss relied on has changed: a phantom
  early_validation,  ///< early validation kept failing at the same point
  dirty_source,      ///< the writer of a dirty version aborted, or wrote the record again
  wait_cycle,        ///< transactions waited for each other to commit
  lock_conflict,     ///< wait-die or no-wait refused a lock
  record_unlinked,   ///< the record left its index while in use
  stopped,           ///< the run ended
  late_write,        ///< a transaction with a later timestamp has read the row as it was before
  late_insert,       ///< or the range of the index that the row belongs in
  epoch_full,        ///< the epoch has no version left that is later than those it saw
  count_,
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(AbortReason::count_)>
    kAbortReasonNames{"none",         "read_validation", "node_validation", "early_validation",
                      "dirty_source", "wait_cycle",      "lock_conflict",   "record_unlinked",
                      "stopped",      "late_write",      "late_insert",     "epoch_full"};

}  // namespace heddle
