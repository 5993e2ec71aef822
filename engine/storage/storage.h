#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine/concepts.h"
#include "machine/seeded_fault.h"
#include "storage/arena.h"
#include "storage/epochs.h"

namespace heddle {

template <class M>
struct Record;
template <Machine M>
class Storage;

enum class IndexKind : std::uint8_t { hash, ordered };

/// The common properties of tables that the same code can serve: see visit_table().
struct TableKind {
  IndexKind index;
  std::uint8_t key_words;

  bool operator==(const TableKind&) const = default;
};

/// The interface of a table of any type to the storage.
template <class M>
class TableBase {
 public:
  /// @param row_bytes of each row
  TableBase(TableKind kind, std::size_t row_bytes)
      : kind_(kind), row_bytes_(static_cast<std::uint32_t>(row_bytes)) {}
  TableBase(const TableBase&) = delete;
  TableBase& operator=(const TableBase&) = delete;
  virtual ~TableBase() = default;

  /// Takes a record that is marked dead out of the index and retires it.
  virtual void unlink(int worker, Record<M>* record) = 0;
  /// The record's rank in its table for ordered locking; equal words mean an unknown order.
  [[nodiscard]] virtual std::uint64_t order_of(const Record<M>* record) const = 0;
  /// The record's key in one word (see word_of()).
  [[nodiscard]] virtual std::uint64_t key_word(const Record<M>* record) const = 0;
  [[nodiscard]] virtual const std::string& name() const = 0;

  [[nodiscard]] TableKind kind() const { return kind_; }
  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }

  /// Its index in Storage::tables().
  [[nodiscard]] std::uint8_t number() const { return number_; }

  /// Whether snapshot transactions may read this table.
  [[nodiscard]] bool in_snapshots() const { return in_snapshots_; }

  /// The table's rank in the workload's locking order (see LockOrder); set once, at set-up.
  [[nodiscard]] std::uint32_t lock_rank() const { return lock_rank_; }
  void set_lock_rank(std::uint32_t rank) { lock_rank_ = rank; }
  /// Whether a transaction type writes the table; a table that is never written needs no locks.
  [[nodiscard]] bool written() const { return written_; }
  void set_written(bool written) { written_ = written; }

  /// How many low bits of a key's first word do not decide the partition of its row, where data is
  /// partitioned (protocol/partition_modes.h).
  [[nodiscard]] std::uint8_t partition_shift() const { return partition_shift_; }
  void set_partition_shift(std::uint8_t bits) { partition_shift_ = bits; }

 protected:
  bool in_snapshots_ = true;

 private:
  friend class Storage<M>;
  std::uint8_t number_ = 0;
  TableKind kind_;
  std::uint32_t lock_rank_ = 0;
  bool written_ = true;
  std::uint8_t partition_shift_ = 0;
  std::uint32_t row_bytes_;
};

/// Memory, epochs and reclamation of one database.
///
/// Workers are numbered from 0; each is used by one thread at a time. All memory is freed when the
/// storage is destroyed, without running destructors.
template <Machine M>
class Storage {
 public:
  explicit Storage(int max_workers)
      : workers_(max_workers),
        epochs_(max_workers),
        shares_(new Share[static_cast<std::size_t>(max_workers)]) {
    if constexpr (M::kSingleThreaded) {
      // Workers other than the first allocate little, in short runs: clearing a huge page would
      // take longer. The first worker loads the database.
      for (int worker = 1; worker < workers_; ++worker) {
        shares_[worker].arena.use_pages(Pages::Size::small);
        shares_[worker].lists.use_pages(Pages::Size::small);
      }
    }
  }

  [[nodiscard]] int max_workers() const { return workers_; }

  /// Called by every table for itself.
  void add_table(TableBase<M>* table) {
    table->number_ = static_cast<std::uint8_t>(tables_.size());
    tables_.push_back(table);
  }
  [[nodiscard]] const std::vector<TableBase<M>*>& tables() const { return tables_; }

  [[nodiscard]] Epochs<M>& epochs() { return epochs_; }

  /// Whether overwritten versions are kept for snapshot readers. Set before any transaction runs.
  [[nodiscard]] bool keeps_snapshots() const { return keeps_snapshots_; }
  void keep_snapshots() { keeps_snapshots_ = true; }

  /// The last timestamp issued where a protocol orders transactions by timestamps; else nullptr.
  /// Set while no transaction runs.
  [[nodiscard]] const Shared<M, std::uint64_t>* timestamps() const { return timestamps_; }
  void order_by_timestamps(const Shared<M, std::uint64_t>* last) { timestamps_ = last; }

  [[nodiscard]] void* allocate(int worker, std::size_t bytes) {
    return shares_[worker].arena.allocate(bytes);
  }

  /// Frees a block that no other worker has seen.
  void release(int worker, void* block, std::size_t bytes) {
    shares_[worker].arena.release(block, bytes);
  }

  /// Frees a block that is no longer reachable, once no worker can still hold it.
  void retire(int worker, void* block, std::size_t bytes) {
    shares_[worker].retired.push_back({epochs_.current(), block, bytes});
  }

  /// Frees a version that snapshot readers before `epoch` still need, once there are none.
  void retire_version(int worker, void* block, std::size_t bytes, std::uint64_t epoch) {
    shares_[worker].versions.push_back({epoch, block, bytes});
  }

  /// Takes a deleted record out of its table once no snapshot reader needs its past, if it is still
  /// deleted then. The caller has locked it, and will leave it with the TID word `word`.
  ///
  /// A record that is revived and deleted again is unlinked by the first worker that scheduled it:
  /// two workers that held the same record could not tell that the other has freed it.
  void unlink_later(int worker, TableBase<M>* table, Record<M>* record, std::uint64_t word) {
    if (record->past.to_unlink() && !seeded<M>(SeededFault::unlink_twice)) return;
    record->past.set_to_unlink(true);
    shares_[worker].unlinks.push_back({epochs_.current(), table, record, word});
  }

  /// Takes a record that is absent under `word` out of its table, at once.
  void unlink_if_still(int worker, TableBase<M>* table, Record<M>* record, std::uint64_t word);

  /// A transaction boundary: announces it, advances the epoch if due, reclaims what is due.
  void boundary(int worker, typename M::Ticks now) {
    epochs_.advance_if_due(now);
    if (epochs_.enter(worker) || seeded<M>(SeededFault::early_reclamation)) [[unlikely]]
      reclaim(worker);
  }

  void leave(int worker) { epochs_.leave(worker); }

  /// Reclaims everything the workers have retired. Quiescent: no transaction is running.
  void drain() {
    // The old versions are freed, so later snapshots must include every commit so far.
    const std::uint64_t newest = epochs_.current();
    while (Epochs<M>::snapshot_of(epochs_.current()) < newest) {
      const bool advanced = epochs_.advance(M::now());
      assert((advanced || epochs_.used_up()) && "no worker is running");
      if (!advanced) return;  // after the last epoch versions stay
    }
    for (int round = 0; round < 4; ++round) {
      for (int worker = 0; worker < workers_; ++worker) reclaim(worker, kEverything);
    }
  }

  [[nodiscard]] std::int64_t live_bytes() const {
    std::int64_t bytes = 0;
    for (int worker = 0; worker < workers_; ++worker) bytes += shares_[worker].arena.live_bytes();
    return bytes;
  }
  [[nodiscard]] std::size_t held_bytes() const {
    std::size_t bytes = 0;
    for (int worker = 0; worker < workers_; ++worker) {
      bytes += shares_[worker].arena.held_bytes() + shares_[worker].lists.held_bytes();
    }
    return bytes;
  }

 private:
  static constexpr std::uint64_t kEverything = ~std::uint64_t{0};

  struct Retired {
    std::uint64_t epoch;
    void* block;
    std::size_t bytes;
  };
  struct Unlink {
    std::uint64_t epoch;
    TableBase<M>* table;
    Record<M>* record;
    std::uint64_t word;
  };
  template <class T>
  using Queue = std::deque<T, ArenaAllocator<T>>;
  struct alignas(64) Share {
    Arena arena;
    Arena lists;  ///< separate: they are no part of the database
    Queue<Retired> retired{ArenaAllocator<Retired>(lists)};
    Queue<Retired> versions{ArenaAllocator<Retired>(lists)};
    Queue<Unlink> unlinks{ArenaAllocator<Unlink>(lists)};
  };

  void reclaim(int worker) { reclaim(worker, epochs_.reclaimable()); }
  void reclaim(int worker, std::uint64_t horizon);
  void unlink_if_deleted(int worker, const Unlink& job);
  void unlink_locked(int worker, TableBase<M>* table, Record<M>* record, std::uint64_t word);

  int workers_;
  Epochs<M> epochs_;
  std::unique_ptr<Share[]> shares_;
  bool keeps_snapshots_ = false;
  const Shared<M, std::uint64_t>* timestamps_ = nullptr;
  std::vector<TableBase<M>*> tables_;
};

}  // namespace heddle

#include "storage/reclaim.h"
