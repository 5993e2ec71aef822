#pragma once

#include "machine/seeded_fault.h"
#include "storage/record.h"
#include "storage/storage.h"

namespace heddle {

/// Takes `record` out of its table if its TID word still is `word`: if not, an insert has revived
/// it (or, for a placeholder, committed it).
template <class M>
void Storage<M>::unlink_if_still(int worker, TableBase<M>* table, Record<M>* record,
                                 std::uint64_t word) {
  const std::uint64_t now = lock_record(*record);
  if (now != word) {
    unlock_record(*record, now);
    return;
  }
  unlink_locked(worker, table, record, word);
}

/// Carries out an unlink_later() that is now due.
template <class M>
void Storage<M>::unlink_if_deleted(int worker, const Unlink& job) {
  const std::uint64_t now = lock_record(*job.record);
  if (now == job.word) return unlink_locked(worker, job.table, job.record, now);
  if (tid::absent(now) && !seeded<M>(SeededFault::unlink_twice)) {
    // It was revived since, and snapshot readers may want that version.
    shares_[worker].unlinks.push_back({epochs_.current(), job.table, job.record, now});
  } else {
    job.record->past.set_to_unlink(false);
  }
  unlock_record(*job.record, now);
}

template <class M>
void Storage<M>::unlink_locked(int worker, TableBase<M>* table, Record<M>* record,
                               std::uint64_t word) {
  // Transactions that saw the record absent must fail their validation from here on: the key's next
  // insert will create another record.
  const bool mark = !seeded<M>(SeededFault::forget_to_mark_dead);
  unlock_record(*record, mark ? word | tid::kDead : word);
  table->unlink(worker, record);
}

/// Frees what `worker` has retired and no worker can reach any more. The lists are in epoch order,
/// so the cost of a call is proportional to what it frees.
template <class M>
void Storage<M>::reclaim(int worker, std::uint64_t horizon) {
  Share& share = shares_[worker];
  while (!share.retired.empty() && share.retired.front().epoch <= horizon) {
    const Retired block = share.retired.front();
    share.retired.pop_front();
    share.arena.release(block.block, block.bytes);
  }
  // Every running reader's snapshot is at least this one.
  const std::uint64_t oldest_snapshot =
      horizon == kEverything ? kEverything : Epochs<M>::snapshot_of(horizon + 1);
  while (!share.versions.empty() && share.versions.front().epoch <= oldest_snapshot) {
    const Retired block = share.versions.front();
    share.versions.pop_front();
    share.arena.release(block.block, block.bytes);
  }
  const std::uint64_t unlinkable = keeps_snapshots_ ? oldest_snapshot : horizon;
  while (!share.unlinks.empty() && share.unlinks.front().epoch <= unlinkable) {
    const Unlink job = share.unlinks.front();
    share.unlinks.pop_front();
    unlink_if_deleted(worker, job);
  }
}

}  // namespace heddle
