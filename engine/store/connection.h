#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "model/function_ref.h"

namespace heddle::store {

using Bytes = std::span<const std::byte>;

/// The outcome of an operation on a store.
enum class Status : std::uint8_t {
  ok,
  absent,    ///< no row has the key
  exists,    ///< a row has the key already
  conflict,  ///< the store refuses the transaction: what it has read has changed since
  deadlock,  ///< the store refuses the transaction: it is the victim of a deadlock
  busy,      ///< another transaction holds a lock that this one needs
  stopped,   ///< the wait ended because the run did
  lost,      ///< the store can't go on: Connection::error() says why
};

/// Whether a row that is put must be there already.
enum class Put : std::uint8_t {
  fresh,    ///< it must not: `exists` otherwise
  replace,  ///< it must, as the transaction has read: `absent` if it is gone
};

/// What a transaction is going to do.
enum class Access : std::uint8_t {
  read_only,
  read_write,
  read_first,  ///< it is expected to read only, and may write all the same
};
enum class Direction : std::uint8_t { ascending, descending };

/// How a store that locks what a transaction reads locks a row.
enum class RowLock : std::uint8_t {
  shared,
  exclusive,  ///< the transaction is going to write it
};

/// A row to be read with others, and what was found.
struct RowToRead {
  std::size_t table;
  Bytes key;
  RowLock lock;
  std::span<std::byte> out;  ///< of the value's size; unchanged if there is no row
  bool found = false;
};

/// One client of a store, and its transaction. Used by one thread, except for interrupt().
///
/// Tables are numbered as in StoreSetup::tables. A key is bytes that order as the rows do; a value
/// has the number of bytes that its table declares. After `conflict`, `deadlock`, `busy`, `stopped`
/// and `lost` the transaction must be rolled back.
///
/// A store may keep a write and send it with the next operation. Then put() and erase() return
/// `ok`, and that operation returns what became of the write: `conflict` instead of `absent` or
/// `exists`.
class Connection {
 public:
  /// Called with a key and its value; false ends the scan. It may use the connection.
  using Visit = FunctionRef<bool(Bytes key, Bytes value)>;

  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  virtual Status begin(Access access) = 0;
  /// Copies the row's value to `out`, which has the value's size.
  virtual Status get(std::size_t table, Bytes key, RowLock lock, std::span<std::byte> out) = 0;
  /// Whether get_all() takes less time than a get() for each row.
  [[nodiscard]] virtual bool reads_faster_together() const { return false; }
  /// As a get() for each row. On any status but `ok` nothing is known of any of them.
  /// @param rows ordered by table and key, each once
  virtual Status get_all(std::span<RowToRead> rows) {
    for (RowToRead& row : rows) {
      const Status status = get(row.table, row.key, row.lock, row.out);
      if (status != Status::ok && status != Status::absent) return status;
      row.found = status == Status::ok;
    }
    return Status::ok;
  }
  virtual Status put(std::size_t table, Bytes key, Bytes value, Put how) = 0;
  /// Deletes a row that the transaction has read.
  virtual Status erase(std::size_t table, Bytes key) = 0;
  /// Visits the rows with keys in [lo, hi], bounds inclusive. Nothing is written meanwhile.
  /// @param expected the rows that the visit is likely to take; 0: unknown
  virtual Status scan(std::size_t table, Bytes lo, Bytes hi, Direction direction,
                      std::size_t expected, RowLock lock, Visit visit) = 0;
  /// Marks a point of the transaction. There is at most one: a later call moves it.
  virtual Status savepoint() = 0;
  /// Undoes what the transaction has written since savepoint(), and keeps the point. What it has
  /// read stays protected.
  virtual Status rollback_to_savepoint() = 0;
  /// On any status but `ok` the transaction has no effect; after `lost` it may have one.
  virtual Status commit() = 0;
  /// Ends the transaction without effect; without a transaction it does nothing.
  virtual void rollback() = 0;

  /// Ends the operation in progress with `stopped`; from any thread.
  virtual void interrupt() = 0;
  /// After `lost`: what is wrong, where, and what would help.
  [[nodiscard]] virtual const std::string& error() const = 0;
};

}  // namespace heddle::store
