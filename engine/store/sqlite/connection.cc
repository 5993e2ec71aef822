#include "store/sqlite/connection.h"

#include <chrono>
#include <cstring>
#include <thread>

namespace heddle::store {

namespace {

// SQLite reads the bytes before the next step of the statement, so it need not copy them.
int bind(sqlite3_stmt* statement, int number, Bytes bytes) {
  return sqlite3_bind_blob(statement, number, bytes.data(), static_cast<int>(bytes.size()),
                           SQLITE_STATIC);
}

Bytes column(sqlite3_stmt* statement, int number) {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement, number));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, number))};
}

}  // namespace

SqliteConnection::SqliteConnection(const StoreSetup& setup, const std::string& file,
                                   const char* vfs, FairSemaphore& writer,
                                   const std::string& setup_sql)
    : begin_(setup.begin), stop_(setup.stop), writer_(writer), database_(open_database(file, vfs)) {
  sqlite3_busy_handler(database_.get(), &wait_for_lock, this);
  execute(database_.get(), setup_sql);
  tables_.reserve(setup.tables.size());
  for (const TableSpec& table : setup.tables) tables_.emplace_back(database_.get(), table.name);
}

SqliteConnection::~SqliteConnection() { rollback(); }

int SqliteConnection::wait_for_lock(void* connection, int /*tries*/) {
  const auto* self = static_cast<const SqliteConnection*>(connection);
  // relaxed: it carries no data.
  if (self->stop_->load(std::memory_order_relaxed) != 0) return 0;
  constexpr std::chrono::microseconds kBetweenTries{100};
  std::this_thread::sleep_for(kBetweenTries);
  return 1;
}

Status SqliteConnection::begin(Access access) {
  has_savepoint_ = false;
  if (access != Access::read_write || begin_ == Begin::deferred) {
    return run(begin_reading_, "BEGIN");
  }
  if (!writer_.acquire()) return Status::stopped;
  is_writer_ = true;
  return run(begin_writing_, "BEGIN IMMEDIATE");
}

Status SqliteConnection::get(std::size_t table, Bytes key, RowLock /*lock*/,
                             std::span<std::byte> out) try {
  sqlite3_stmt* statement = tables_[table].get();
  bind(statement, 1, key);
  const int code = sqlite3_step(statement);
  Status status = Status::absent;
  if (code == SQLITE_ROW) {
    const Bytes value = column(statement, 0);
    if (value.size() == out.size()) {
      std::memcpy(out.data(), value.data(), value.size());
      status = Status::ok;
    } else {
      status = lose("store sqlite: a row has " + std::to_string(value.size()) + " bytes, not " +
                    std::to_string(out.size()) + ": another program has changed the database");
    }
  } else if (code != SQLITE_DONE) {
    status = fail(code);
  }
  sqlite3_reset(statement);
  return status;
} catch (const SqliteError& error) {
  return fail(error);
}

Status SqliteConnection::put(std::size_t table, Bytes key, Bytes value, Put how) try {
  sqlite3_stmt* statement = tables_[table].put(how);
  bind(statement, 1, key);
  bind(statement, 2, value);
  return run_on_row(statement);
} catch (const SqliteError& error) {
  return fail(error);
}

Status SqliteConnection::erase(std::size_t table, Bytes key) try {
  sqlite3_stmt* statement = tables_[table].erase();
  bind(statement, 1, key);
  return run_on_row(statement);
} catch (const SqliteError& error) {
  return fail(error);
}

Status SqliteConnection::scan(std::size_t table, Bytes lo, Bytes hi, Direction direction,
                              std::size_t /*expected*/, RowLock /*lock*/, Visit visit) try {
  const TableStatements::Scan scan(tables_[table], direction);
  bind(scan.get(), 1, lo);
  bind(scan.get(), 2, hi);
  while (true) {
    const int code = sqlite3_step(scan.get());
    if (code == SQLITE_DONE) return Status::ok;
    if (code != SQLITE_ROW) return fail(code);
    if (!visit(column(scan.get(), 0), column(scan.get(), 1))) return Status::ok;
  }
} catch (const SqliteError& error) {
  return fail(error);
}

Status SqliteConnection::savepoint() {
  if (has_savepoint_) {
    const Status released = run(release_savepoint_, "RELEASE heddle");
    if (released != Status::ok) return released;
  }
  const Status status = run(set_savepoint_, "SAVEPOINT heddle");
  has_savepoint_ = status == Status::ok;
  return status;
}

Status SqliteConnection::rollback_to_savepoint() {
  return run(to_savepoint_, "ROLLBACK TO heddle");
}

Status SqliteConnection::commit() {
  const Status status = run(commit_, "COMMIT");
  if (status == Status::ok) release_writer();
  return status;
}

void SqliteConnection::rollback() {
  // SQLite has rolled back by itself after some errors.
  if (sqlite3_get_autocommit(database_.get()) == 0) (void)run(rollback_, "ROLLBACK");
  release_writer();
}

void SqliteConnection::interrupt() { sqlite3_interrupt(database_.get()); }

Status SqliteConnection::run(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  const Status status = code == SQLITE_DONE ? Status::ok : fail(code);
  sqlite3_reset(statement);
  return status;
}

Status SqliteConnection::run(Statement& statement, const char* sql) try {
  if (statement == nullptr) statement = prepare(database_.get(), sql);
  return run(statement.get());
} catch (const SqliteError& error) {
  return fail(error);
}

Status SqliteConnection::run_on_row(sqlite3_stmt* statement) {
  const Status status = run(statement);
  if (status == Status::ok && sqlite3_changes(database_.get()) == 0) return Status::absent;
  return status;
}

Status SqliteConnection::fail(int code) {
  const Status status = status_of(code);
  if (status == Status::lost) error_ = describe_error(database_.get(), code);
  return status;
}

Status SqliteConnection::fail(const SqliteError& error) {
  const Status status = status_of(error.code());
  if (status == Status::lost) error_ = error.what();
  return status;
}

Status SqliteConnection::lose(const std::string& why) {
  error_ = why;
  return Status::lost;
}

void SqliteConnection::release_writer() {
  if (!is_writer_) return;
  is_writer_ = false;
  writer_.release();
}

}  // namespace heddle::store
