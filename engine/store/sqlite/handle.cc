#include "store/sqlite/handle.h"

namespace heddle::store {

namespace {

constexpr int kPrimaryCode = 0xff;  ///< the bits of an extended result code that name its kind

const char* cure_of(int code) {
  switch (code & kPrimaryCode) {
    case SQLITE_FULL: return "free space there, or name a folder on another disk with folder=";
    case SQLITE_NOMEM: return "use fewer workers, or a machine with more memory";
    default: return "check that disk, or name a folder on another one with folder=";
  }
}

void require(sqlite3* database, int code) {
  if (code != SQLITE_OK) throw SqliteError(database, code);
}

}  // namespace

SqliteError::SqliteError(sqlite3* database, int code)
    : std::runtime_error(describe_error(database, code)), code_(code) {}

Database open_database(const std::string& file, const char* vfs) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(
      file.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs);
  Database database(opened);
  if (code != SQLITE_OK) {
    throw std::runtime_error("store sqlite: " + std::string(sqlite3_errstr(code)) + " (" + file +
                             "); " + cure_of(code));
  }
  sqlite3_extended_result_codes(opened, 1);
  return database;
}

void execute(sqlite3* database, const std::string& sql) {
  require(database, sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr));
}

Statement prepare(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  require(database, sqlite3_prepare_v3(database, sql.c_str(), static_cast<int>(sql.size()),
                                       SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
  return Statement(statement);
}

Status status_of(int code) {
  if (code == SQLITE_BUSY_SNAPSHOT) return Status::conflict;
  switch (code & kPrimaryCode) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return Status::ok;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Status::busy;
    case SQLITE_CONSTRAINT: return Status::exists;
    case SQLITE_INTERRUPT: return Status::stopped;
    default: return Status::lost;
  }
}

std::string describe_error(sqlite3* database, int code) {
  const char* file = sqlite3_db_filename(database, "main");
  return "store sqlite: " + std::string(sqlite3_errmsg(database)) + " (" +
         std::string(file == nullptr ? "" : file) + "); " + cure_of(code);
}

}  // namespace heddle::store
