#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/connection.h"
#include "store/fair_semaphore.h"
#include "store/sqlite/handle.h"
#include "store/sqlite/table_statements.h"
#include "store/store.h"

namespace heddle::store {

/// A connection to a SQLite database, with the isolation that SQLite has: transactions read a
/// snapshot, and one at a time writes. It is serializable.
class SqliteConnection final : public Connection {
 public:
  /// @param vfs the name of the files' implementation
  /// @param setup_sql what every connection of its kind executes first
  /// @throws std::runtime_error naming the database and the cure
  SqliteConnection(const StoreSetup& setup, const std::string& file, const char* vfs,
                   FairSemaphore& writer, const std::string& setup_sql);
  ~SqliteConnection() override;

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
  void interrupt() override;
  [[nodiscard]] const std::string& error() const override { return error_; }

 private:
  /// Called while another process or a checkpoint holds a lock; nonzero: try again.
  static int wait_for_lock(void* connection, int tries);

  /// Executes a statement that returns no row.
  Status run(sqlite3_stmt* statement);
  Status run(Statement& statement, const char* sql);
  Status run_on_row(sqlite3_stmt* statement);
  Status fail(int code);
  Status fail(const SqliteError& error);
  Status lose(const std::string& why);
  void release_writer();

  Begin begin_;
  const std::atomic<std::uint64_t>* stop_;
  FairSemaphore& writer_;
  Database database_;
  std::vector<TableStatements> tables_;
  Statement begin_reading_, begin_writing_, commit_, rollback_;
  Statement set_savepoint_, release_savepoint_, to_savepoint_;
  bool is_writer_ = false;
  bool has_savepoint_ = false;
  std::string error_;
};

}  // namespace heddle::store
