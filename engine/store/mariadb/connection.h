#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "store/connection.h"
#include "store/mariadb/session.h"
#include "store/mariadb/statements.h"
#include "store/store.h"

namespace heddle::store {

class RunDatabase;

/// A connection to a MariaDB server.
///
/// Writes are sent with the next read, or with the commit: a transaction that reads n rows and then
/// writes takes n + 1 round trips. The session has a transaction whenever it executes a statement,
/// so that a begin is none.
class MariadbConnection final : public Connection {
 public:
  /// @throws std::runtime_error naming the server and the cure
  MariadbConnection(const StoreSetup& setup, RunDatabase& database);

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
  /// A wait for the server notices the end of the run by itself.
  void interrupt() override {}
  [[nodiscard]] const std::string& error() const override { return session_.error(); }

 private:
  /// Adds a prepared statement to the next message; the server prepares it before its first one.
  Status add(MariadbSession::Kind kind, std::size_t table, MariadbOperation operation,
             std::initializer_list<Bytes> parameters, std::size_t most = 0);
  Status write(std::size_t table, MariadbOperation operation,
               std::initializer_list<Bytes> parameters);
  /// Reads what the next rows of a scan are.
  Status fetch(std::size_t table, MariadbOperation operation, Bytes lo, Bytes hi, std::size_t most);
  Status send_and_read();
  [[nodiscard]] bool to_write(RowLock lock) const;
  /// What became of writes that were sent before a read: they have no status of their own any more.
  static Status of_earlier(Status status);

  MariadbSession session_;
  std::vector<MariadbStatements> tables_;
  Isolation isolation_;
  bool at_server_ = false;  ///< the transaction has sent a statement
};

}  // namespace heddle::store
