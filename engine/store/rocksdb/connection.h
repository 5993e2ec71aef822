#pragma once

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/transaction.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/connection.h"
#include "store/range_validation.h"
#include "store/rocksdb/database.h"
#include "store/store.h"

namespace heddle::store {

/// A client of a database of RocksDB.
///
/// What only reads has a snapshot. Otherwise, at serializable, every row that is read, present or
/// absent, is either locked until the end or, in an optimistic database, validated at the commit.
class RocksdbConnection final : public Connection {
 public:
  RocksdbConnection(const StoreSetup& setup, RocksdbDatabase& database)
      : database_(database),
        stop_(setup.stop),
        isolates_(setup.isolation == Isolation::serializable) {}
  ~RocksdbConnection() override;

  Status begin(Access access) override;
  Status get(std::size_t table, Bytes key, RowLock lock, std::span<std::byte> out) override;
  Status put(std::size_t table, Bytes key, Bytes value, Put how) override;
  Status erase(std::size_t table, Bytes key) override;
  Status scan(std::size_t table, Bytes lo, Bytes hi, Direction direction, std::size_t expected,
              RowLock lock, Visit visit) override;
  Status savepoint() override;
  Status rollback_to_savepoint() override;
  Status commit() override;
  void rollback() override;
  /// Ends a scan. A wait for a lock ends with the run.
  void interrupt() override;
  [[nodiscard]] const std::string& error() const override { return error_; }

 private:
  /// Reads a row, and keeps others from changing it until the commit.
  Status read(const std::string& key, RowLock lock, rocksdb::PinnableSlice& value);
  /// Visits rows from one bound to the other.
  /// @param last the key with which the visit ended the scan; unchanged if all rows were visited
  Status visit_rows(const std::string& lo, const std::string& hi, Direction direction, RowLock lock,
                    Visit visit, std::string& last);
  [[nodiscard]] std::unique_ptr<rocksdb::Iterator> iterate();
  [[nodiscard]] bool is_snapshot() const { return snapshot_ != nullptr; }
  [[nodiscard]] rocksdb::Status write(const std::string& key, Bytes value);
  [[nodiscard]] rocksdb::Status remove(const std::string& key);
  [[nodiscard]] rocksdb::Status commit_writes();
  /// Forgets what the transaction has scanned and inserted.
  void end();
  Status result_of(const rocksdb::Status& status);
  Status refuse_write();
  Status lose(const std::string& why);

  RocksdbDatabase& database_;
  const std::atomic<std::uint64_t>* stop_;
  bool isolates_;  ///< false: what is read is neither locked nor validated
  rocksdb::ReadOptions read_options_;
  const rocksdb::Snapshot* snapshot_ = nullptr;        ///< of a transaction that only reads
  std::unique_ptr<rocksdb::Transaction> transaction_;  ///< of others; kept for the next one
  bool in_transaction_ = false;
  bool has_savepoint_ = false;
  std::vector<ScannedRange> scanned_;
  std::vector<std::string> inserted_;
  std::size_t inserted_before_ = 0;  ///< the savepoint
  std::atomic<bool> interrupted_ = false;
  std::string error_;
};

}  // namespace heddle::store
