#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace heddle {

/// What can be broken in the engine on purpose, one at a time, to see that the checks notice. Only
/// a machine made for that has faults (`M::seeded_fault`); on every other the places that ask
/// compile to nothing.
enum class SeededFault : std::uint8_t {
  none,
  skip_read_validation,
  skip_node_validation,
  skip_rollback_validation,
  validate_before_locks,      ///< and lock the write set after
  skip_write_locks,           ///< install without
  wrong_lock_order,           ///< every other worker locks its write set the other way round
  release_before_install,     ///< unlock a record with its new version, then write its content
  reuse_version_ids,          ///< commit as the version the worker committed as before
  read_without_second_look,   ///< at the record's version after copying its content
  fetched_from_any_version,   ///< take what is found in a node that changes meanwhile
  own_insert_vouches,         ///< for whatever others have changed in the node before it
  ignore_own_insert,          ///< in the transaction's node set
  pass_over_for_good,         ///< forget what was passed over as uncommitted in a range
  leave_no_version,           ///< of a row inserted and deleted again
  drop_own_write,             ///< of those made after the first, now and then
  skip_dependency_wait,       ///< commit before those it read from
  skip_source_check,          ///< take a dirty version for committed, whatever became of it
  any_write_of_source,        ///< take a dirty version for the one committed, whichever it was
  same_without_looking,       ///< take what has changed since for the same
  drop_read_after_retry,      ///< lose the last entry before the validated point
  keep_reads_after_retry,     ///< forget to undo what was changed after it
  switch_within_transaction,  ///< go over to a new policy in the middle
  lost_wake_up,
  skip_cycle_check,          ///< wait though it closes a cycle
  early_reclamation,         ///< at once, whoever may still read
  forget_to_mark_dead,       ///< a record that leaves its index
  unlink_twice,              ///< a deleted record that lived again and was deleted again
  leave_placeholders,        ///< of aborted inserts in the index
  snapshot_of_now,           ///< read the past from an epoch that goes on
  skip_old_versions,         ///< keep none for those who read the past
  write_behind_readers,      ///< though one with a later timestamp has read the row
  scan_without_timestamp,    ///< leave none with the leaves of the index
  miss_without_timestamp,    ///< nor with a key that is not there
  insert_behind_scans,       ///< though one with a later timestamp has been there
  split_without_timestamp,   ///< forget the readers of the leaf that a new one was split off
  remove_without_timestamp,  ///< forget those of a leaf that leaves the index
  forget_versions,           ///< that somebody may still read
  read_newest,               ///< whatever the timestamp
  count_
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(SeededFault::count_)>
    kSeededFaultNames{"none",
                      "skip_read_validation",
                      "skip_node_validation",
                      "skip_rollback_validation",
                      "validate_before_locks",
                      "skip_write_locks",
                      "wrong_lock_order",
                      "release_before_install",
                      "reuse_version_ids",
                      "read_without_second_look",
                      "fetched_from_any_version",
                      "own_insert_vouches",
                      "ignore_own_insert",
                      "pass_over_for_good",
                      "leave_no_version",
                      "drop_own_write",
                      "skip_dependency_wait",
                      "skip_source_check",
                      "any_write_of_source",
                      "same_without_looking",
                      "drop_read_after_retry",
                      "keep_reads_after_retry",
                      "switch_within_transaction",
                      "lost_wake_up",
                      "skip_cycle_check",
                      "early_reclamation",
                      "forget_to_mark_dead",
                      "unlink_twice",
                      "leave_placeholders",
                      "snapshot_of_now",
                      "skip_old_versions",
                      "write_behind_readers",
                      "scan_without_timestamp",
                      "miss_without_timestamp",
                      "insert_behind_scans",
                      "split_without_timestamp",
                      "remove_without_timestamp",
                      "forget_versions",
                      "read_newest"};

/// Whether the engine is to be wrong here.
template <class M>
[[nodiscard]] constexpr bool seeded([[maybe_unused]] SeededFault fault) noexcept {
  if constexpr (requires { M::seeded_fault; }) {
    return M::seeded_fault == fault;
  } else {
    return false;
  }
}

}  // namespace heddle
