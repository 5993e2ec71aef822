#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "store/connection.h"
#include "store/postgresql/pipeline.h"
#include "store/postgresql/statements.h"
#include "store/store.h"

namespace heddle::store {

/// A connection to a PostgreSQL server.
///
/// What returns nothing is sent with the next read, or with the commit: a transaction that reads n
/// rows one by one and then writes takes n + 1 round trips.
class PostgresqlConnection final : public Connection {
 public:
  /// @param schema of the tables
  /// @param round_trips counts those of all connections
  /// @throws std::runtime_error naming the server and the cure
  PostgresqlConnection(const StoreSetup& setup, const Address& address, RunSchema& schema,
                       ServerWaits& waits, std::atomic<std::uint64_t>& round_trips);

  Status begin(Access access) override;
  Status get(std::size_t table, Bytes key, RowLock lock, std::span<std::byte> out) override;
  [[nodiscard]] bool reads_faster_together() const override { return true; }
  /// One statement for the rows of a table, and one round trip for all.
  Status get_all(std::span<RowToRead> rows) override;
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
  [[nodiscard]] const std::string& error() const override { return pipeline_.error(); }

 private:
  /// A command without parameters that every connection has prepared.
  enum class Fixed : std::uint8_t;

  void prepare_fixed(Isolation isolation);
  void add(Pipeline::Command command, Fixed fixed);
  void add(Pipeline::Command command, std::size_t table, Operation operation,
           std::initializer_list<Bytes> parameters);
  /// Copies a row's value to where it goes.
  Status copy_value(Bytes value, std::span<std::byte> out);
  /// Finds the rows that the server has returned among those of a table.
  Status take_rows(std::span<RowToRead> rows, const PGresult* answer);
  /// Reads what the next rows of a scan are.
  Status fetch(std::size_t table, Direction direction, Bytes lo, Bytes hi, std::size_t most);
  /// What became of writes that were sent before a read: they have no status of their own any more.
  static Status of_earlier(Status status);

  Pipeline pipeline_;
  std::vector<Statements> tables_;
  bool in_transaction_ = false;
  bool has_savepoint_ = false;
};

}  // namespace heddle::store
