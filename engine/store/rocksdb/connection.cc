#include "store/rocksdb/connection.h"

#include <rocksdb/utilities/write_batch_with_index.h>

#include <cstring>
#include <utility>

#include "store/rocksdb/handle.h"

namespace heddle::store {

RocksdbConnection::~RocksdbConnection() { rollback(); }

Status RocksdbConnection::begin(Access access) {
  interrupted_ = false;
  has_savepoint_ = false;
  in_transaction_ = true;
  if (access == Access::read_only) {
    snapshot_ = database_.db().GetSnapshot();
    read_options_.snapshot = snapshot_;
  } else {
    transaction_ = database_.begin(std::move(transaction_));
  }
  return Status::ok;
}

Status RocksdbConnection::get(std::size_t table, Bytes key, RowLock lock,
                              std::span<std::byte> out) {
  rocksdb::PinnableSlice value;
  const Status status = read(stored_key(table, key), lock, value);
  if (status != Status::ok) return status;
  if (value.size() != out.size()) {
    return lose("store rocksdb: a row has " + std::to_string(value.size()) + " bytes, not " +
                std::to_string(out.size()) + " (" + database_.folder() +
                "): another program has changed the database");
  }
  std::memcpy(out.data(), value.data(), value.size());
  return Status::ok;
}

Status RocksdbConnection::put(std::size_t table, Bytes key, Bytes value, Put how) {
  if (is_snapshot()) return refuse_write();
  const std::string stored = stored_key(table, key);
  if (how == Put::fresh) {
    rocksdb::PinnableSlice present;
    const Status status = read(stored, RowLock::exclusive, present);
    if (status != Status::absent) return status == Status::ok ? Status::exists : status;
    inserted_.push_back(stored);
  }
  return result_of(write(stored, value));
}

Status RocksdbConnection::erase(std::size_t table, Bytes key) {
  if (is_snapshot()) return refuse_write();
  return result_of(remove(stored_key(table, key)));
}

Status RocksdbConnection::scan(std::size_t table, Bytes lo, Bytes hi, Direction direction,
                               std::size_t /*expected*/, RowLock lock, Visit visit) {
  const std::string low = stored_key(table, lo);
  const std::string high = stored_key(table, hi);
  const bool ascending = direction == Direction::ascending;
  std::string last = ascending ? high : low;
  if (is_snapshot() || !isolates_) return visit_rows(low, high, direction, lock, visit, last);
  const std::uint64_t since = database_.ranges().begin_scan();
  const Status status = visit_rows(low, high, direction, lock, visit, last);
  scanned_.push_back({ascending ? low : last, ascending ? last : high, since});
  return status;
}

Status RocksdbConnection::visit_rows(const std::string& lo, const std::string& hi,
                                     Direction direction, RowLock lock, Visit visit,
                                     std::string& last) {
  const bool ascending = direction == Direction::ascending;
  const auto rows = iterate();
  if (ascending) {
    rows->Seek(lo);
  } else {
    rows->SeekForPrev(hi);
  }
  for (; rows->Valid(); ascending ? rows->Next() : rows->Prev()) {
    const std::string key = rows->key().ToString();
    if (ascending ? key > hi : key < lo) break;
    if (interrupted_) return Status::stopped;
    rocksdb::PinnableSlice value;
    rocksdb::Slice row = rows->value();
    if (!is_snapshot()) {
      const Status status = read(key, lock, value);
      if (status == Status::absent) continue;  // deleted since the scan has begun
      if (status != Status::ok) return status;
      row = value;
    }
    if (!visit(bytes_of(key).subspan(kTableBytes), bytes_of(row))) {
      last = key;
      return Status::ok;
    }
  }
  return result_of(rows->status());
}

std::unique_ptr<rocksdb::Iterator> RocksdbConnection::iterate() {
  return std::unique_ptr<rocksdb::Iterator>(is_snapshot()
                                                ? database_.db().NewIterator(read_options_)
                                                : transaction_->GetIterator(read_options_));
}

Status RocksdbConnection::read(const std::string& key, RowLock lock,
                               rocksdb::PinnableSlice& value) {
  rocksdb::ColumnFamilyHandle* rows = database_.db().DefaultColumnFamily();
  if (is_snapshot()) return result_of(database_.db().Get(read_options_, rows, key, &value));
  return result_of(!isolates_ ? transaction_->Get(read_options_, rows, key, &value)
                              : transaction_->GetForUpdate(read_options_, rows, key, &value,
                                                           lock == RowLock::exclusive));
}

rocksdb::Status RocksdbConnection::write(const std::string& key, Bytes value) {
  return isolates_ ? transaction_->Put(key, slice_of(value))
                   : transaction_->PutUntracked(key, slice_of(value));
}

rocksdb::Status RocksdbConnection::remove(const std::string& key) {
  return isolates_ ? transaction_->Delete(key) : transaction_->DeleteUntracked(key);
}

Status RocksdbConnection::savepoint() {
  // That of the batch: RocksDB's own forgets what was read since, which must stay as it is.
  rocksdb::WriteBatchWithIndex* batch = transaction_->GetWriteBatch();
  if (has_savepoint_) {
    const Status dropped = result_of(batch->PopSavePoint());
    if (dropped != Status::ok) return dropped;
  }
  batch->SetSavePoint();
  has_savepoint_ = true;
  inserted_before_ = inserted_.size();
  return Status::ok;
}

Status RocksdbConnection::rollback_to_savepoint() {
  rocksdb::WriteBatchWithIndex* batch = transaction_->GetWriteBatch();
  const Status status = result_of(batch->RollbackToSavePoint());
  batch->SetSavePoint();
  inserted_.resize(inserted_before_);
  return status;
}

Status RocksdbConnection::commit() {
  Status status = Status::ok;
  if (!is_snapshot()) {
    RangeValidation::Commit commit(database_.ranges(), scanned_, inserted_);
    status = commit.valid() ? result_of(commit_writes()) : Status::conflict;
    if (status == Status::ok) commit.succeed();
  }
  if (status == Status::ok) end();
  return status;
}

rocksdb::Status RocksdbConnection::commit_writes() {
  // An empty batch would wait for the disk like another. Its reads are validated all the same.
  if (transaction_->GetWriteBatch()->GetWriteBatch()->Count() == 0) {
    rocksdb::WriteOptions nothing;
    nothing.disableWAL = true;
    transaction_->SetWriteOptions(nothing);
  }
  return transaction_->Commit();
}

void RocksdbConnection::rollback() {
  if (!in_transaction_) return;
  // After a commit that failed on the disk, only its end releases its locks.
  if (!is_snapshot() && !transaction_->Rollback().ok()) transaction_.reset();
  end();
}

void RocksdbConnection::end() {
  in_transaction_ = false;
  for (const ScannedRange& range : scanned_) database_.ranges().end_scan(range.since);
  scanned_.clear();
  inserted_.clear();
  if (!is_snapshot()) return;
  database_.db().ReleaseSnapshot(snapshot_);
  snapshot_ = nullptr;
  read_options_.snapshot = nullptr;
}

void RocksdbConnection::interrupt() { interrupted_ = true; }

Status RocksdbConnection::result_of(const rocksdb::Status& status) {
  const Status result = status_of(status);
  if (result == Status::lost) return lose(describe_error(status, database_.folder()));
  // relaxed: it carries no data.
  const bool ended = result == Status::busy && stop_->load(std::memory_order_relaxed) != 0;
  return ended ? Status::stopped : result;
}

Status RocksdbConnection::refuse_write() {
  return lose(
      "store rocksdb: a transaction writes whose type only reads, as the workload's signature "
      "says; "
      "name the access in the signature");
}

Status RocksdbConnection::lose(const std::string& why) {
  error_ = why;
  return Status::lost;
}

}  // namespace heddle::store
