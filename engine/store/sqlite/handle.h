#pragma once

#include <sqlite3.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "store/connection.h"

namespace heddle::store {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

/// An error of SQLite; what() names the database and the cure.
class SqliteError : public std::runtime_error {
 public:
  SqliteError(sqlite3* database, int code);
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_;
};

/// Opens or creates a database file, for one thread at a time.
/// @param vfs the name of the files' implementation
/// @throws std::runtime_error naming the file and the cure
[[nodiscard]] Database open_database(const std::string& file, const char* vfs);

/// Runs SQL that returns nothing of interest.
/// @throws SqliteError
void execute(sqlite3* database, const std::string& sql);

/// @throws SqliteError
[[nodiscard]] Statement prepare(sqlite3* database, const std::string& sql);

/// What a result code means for the transaction.
[[nodiscard]] Status status_of(int code);

/// The last error of a database: what is wrong, where, and what would help.
[[nodiscard]] std::string describe_error(sqlite3* database, int code);

}  // namespace heddle::store
