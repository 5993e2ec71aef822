#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>

#include <cstdint>
#include <memory>
#include <string>

#include "store/range_validation.h"
#include "store/rocksdb/counting_files.h"
#include "store/rocksdb/lock_waits.h"
#include "store/store.h"

namespace heddle::store {

/// An open database of RocksDB, with transactions of one of its two kinds.
class RocksdbDatabase {
 public:
  /// @throws std::runtime_error naming the folder and the cure
  explicit RocksdbDatabase(const StoreSetup& setup);

  [[nodiscard]] rocksdb::DB& db() { return *db_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] RangeValidation& ranges() { return ranges_; }
  [[nodiscard]] std::uint64_t syncs() const { return files_->syncs(); }

  /// How a transaction commits that writes.
  [[nodiscard]] const rocksdb::WriteOptions& write_options() const { return write_options_; }
  /// @param ended a transaction whose memory is used again, or nullptr
  [[nodiscard]] std::unique_ptr<rocksdb::Transaction> begin(
      std::unique_ptr<rocksdb::Transaction> ended);

  /// Writes a batch past the transactions. Nothing else may write.
  rocksdb::Status load(rocksdb::WriteBatch& batch);
  /// Ends the load: the rows are on disk, in order.
  rocksdb::Status end_load();

  /// Ends the waits for locks, after the stop word has been set.
  void wake() { lock_waits_->wake(); }

 private:
  [[nodiscard]] rocksdb::Options options() const;
  void open_optimistic();
  void open_locking();

  std::string folder_;
  rocksdb::WriteOptions write_options_;
  std::shared_ptr<CountingFiles> files_;
  std::unique_ptr<rocksdb::Env> env_;
  std::shared_ptr<LockWaits> lock_waits_;
  RangeValidation ranges_;
  std::unique_ptr<rocksdb::DB> db_;
  // One of them is `db_`, and the other one nullptr.
  rocksdb::OptimisticTransactionDB* optimistic_ = nullptr;
  rocksdb::TransactionDB* locking_ = nullptr;
};

}  // namespace heddle::store
