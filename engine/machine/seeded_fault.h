#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace heddle {

/// The defects that can be seeded into the engine, one at a time, to test that the checks detect
/// them. Only a machine built for that has faults (`M::seeded_fault`); on all others the queries
/// compile to nothing.
enum class SeededFault : std::uint8_t {
  none,
  skip_read_validation,
  skip_node_validation,
  skip_rollback_validation,
  validate_before_locks,     ///< Validate first, then lock the write set.
  skip_write_locks,          ///< Install without locks.
  wrong_lock_order,          ///< Every other worker locks its write set in reverse order.
  release_before_install,    ///< Unlock a record with its new version, then write its content.
  reuse_version_ids,         ///< Commit under the worker's previous version.
  read_without_second_look,  ///< Skip the check of the record's version after its content is
                             ///< copied.
  fetched_from_any_version,  ///< Accept entries of a node that changes meanwhile.
  own_insert_vouches,        ///< Accept all earlier changes of a node after an own insert.
  ignore_own_insert,         ///< Do not update the transaction's node set for its own insert.
  pass_over_for_good,        ///< Forget the uncommitted records that were passed over in a range.
  leave_no_version,          ///< Install no version for a row inserted and deleted again.
  drop_own_write,            ///< Sometimes drop a write after the first.
  skip_dependency_wait,      ///< Commit before the dependencies.
  skip_source_check,         ///< Accept a dirty version without checking its outcome.
  any_write_of_source,    ///< Accept a dirty version even if another write of its source committed.
  same_without_looking,   ///< Accept changed records without comparing their columns.
  drop_read_after_retry,  ///< Lose the last entry before the validated point.
  keep_reads_after_retry,     ///< Do not undo changes made after the validated point.
  switch_within_transaction,  ///< Switch to a new policy inside a transaction.
  lost_wake_up,
  skip_cycle_check,          ///< Wait even if that closes a cycle.
  early_reclamation,         ///< Reclaim at once, even with readers.
  forget_to_mark_dead,       ///< Do not mark a record dead that leaves its index.
  unlink_twice,              ///< Unlink a record twice that was revived and deleted again.
  leave_placeholders,        ///< Leave the placeholders of aborted inserts in the index.
  snapshot_of_now,           ///< Read a snapshot of an epoch that is not over.
  skip_old_versions,         ///< Keep no old versions for snapshot readers.
  write_behind_readers,      ///< Write a row that a later timestamp has read.
  scan_without_timestamp,    ///< Leave no timestamp with scanned leaves.
  miss_without_timestamp,    ///< Leave no timestamp with missed keys.
  insert_behind_scans,       ///< Insert where a later timestamp has scanned.
  split_without_timestamp,   ///< Forget the readers of a leaf that splits.
  remove_without_timestamp,  ///< Forget the readers of a leaf that leaves the index.
  forget_versions,           ///< Forget versions that may still be read.
  read_newest,               ///< Read the newest version at any timestamp.
  grant_beside_shared,       ///< Grant an exclusive lock while others hold it shared.
  forget_barrier,            ///< Grant locks to requests that are behind the barrier.
  skip_batch_barrier,        ///< Decide and install while others of the batch execute.
  skip_waw_rule,             ///< Commit though an earlier one of the batch writes the same row.
  skip_raw_rule,             ///< Commit though an earlier one of the batch writes what was read.
  overlook_new_rows,         ///< Do not look for rows put into ranges that were read.
  batch_of_two_epochs,       ///< Commit in the epoch of the moment, not of the batch.
  last_committer_wins,       ///< Overwrite a version that is newer than the snapshot.
  read_before_install,       ///< Read a snapshot before an earlier commit is installed.
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
                      "read_newest",
                      "grant_beside_shared",
                      "forget_barrier",
                      "skip_batch_barrier",
                      "skip_waw_rule",
                      "skip_raw_rule",
                      "overlook_new_rows",
                      "batch_of_two_epochs",
                      "last_committer_wins",
                      "read_before_install"};

/// Whether `fault` is seeded in this machine's engine.
template <class M>
[[nodiscard]] constexpr bool seeded([[maybe_unused]] SeededFault fault) noexcept {
  if constexpr (requires { M::seeded_fault; }) {
    return M::seeded_fault == fault;
  } else {
    return false;
  }
}

}  // namespace heddle
