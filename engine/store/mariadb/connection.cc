#include "store/mariadb/connection.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "store/mariadb/run_database.h"
#include "store/mariadb/sql_literal.h"
#include "store/sql_isolation.h"
#include "store/sql_name.h"

namespace heddle::store {

namespace {

using Kind = MariadbSession::Kind;

/// Fails unless the statement before it has written a row. Below SERIALIZABLE a row may be gone
/// that the transaction has read.
constexpr std::string_view kPrepareGuard =
    "PREPARE guard FROM 'SET @heddle = IF(ROW_COUNT() = 1, 1, (SELECT 1 UNION ALL SELECT 2))'";

MariadbClient open_session(Isolation isolation, RunDatabase& database) {
  MariadbClient client = database.connect();
  (void)execute({client.get(), database.address(), database.waits()},
                "SET SESSION TRANSACTION ISOLATION LEVEL " + std::string(sql_name_of(isolation)) +
                    "; SET SESSION autocommit = 0; " + std::string(kPrepareGuard));
  return client;
}

Bytes field(MYSQL_ROW row, const unsigned long* lengths, int column) {
  return {reinterpret_cast<const std::byte*>(row[column]), lengths[column]};
}

/// The least key that is greater, for a bound that is not inclusive.
std::vector<std::byte> after(Bytes key) {
  std::vector<std::byte> next(key.begin(), key.end());
  next.push_back(std::byte{0});
  return next;
}

}  // namespace

MariadbConnection::MariadbConnection(const StoreSetup& setup, RunDatabase& database)
    : session_(open_session(setup.isolation, database), database, setup.stop),
      isolation_(setup.isolation) {
  tables_.reserve(setup.tables.size());
  for (const TableSpec& table : setup.tables) {
    tables_.emplace_back(in_quotes(table.name), tables_.size());
  }
}

Status MariadbConnection::begin(Access /*access*/) {
  at_server_ = false;
  return Status::ok;
}

Status MariadbConnection::get(std::size_t table, Bytes key, RowLock lock,
                              std::span<std::byte> out) {
  Status status = add(Kind::query, table, MariadbStatements::get(to_write(lock)), {key});
  if (status == Status::ok) status = of_earlier(send_and_read());
  if (status != Status::ok) return status;
  const MariadbResult result = session_.take_result();
  const MYSQL_ROW row = mysql_fetch_row(result.get());
  if (row == nullptr) return Status::absent;
  const Bytes value = field(row, mysql_fetch_lengths(result.get()), 0);
  if (value.size() != out.size()) {
    return session_.lose("store mariadb: a row has " + std::to_string(value.size()) +
                         " bytes, not " + std::to_string(out.size()) +
                         ": another program has changed the table");
  }
  std::memcpy(out.data(), value.data(), value.size());
  return Status::ok;
}

Status MariadbConnection::put(std::size_t table, Bytes key, Bytes value, Put how) {
  return write(table, how == Put::fresh ? MariadbOperation::insert : MariadbOperation::update,
               {value, key});
}

Status MariadbConnection::erase(std::size_t table, Bytes key) {
  return write(table, MariadbOperation::erase, {key});
}

Status MariadbConnection::write(std::size_t table, MariadbOperation operation,
                                std::initializer_list<Bytes> parameters) {
  // The server refuses a message that is too long, 1 MiB or more.
  constexpr std::size_t kMostUnsent = 1 << 19;
  const bool guarded =
      isolation_ != Isolation::serializable && operation != MariadbOperation::insert;
  const Status status = add(guarded ? Kind::plain : Kind::write, table, operation, parameters);
  if (status != Status::ok) return status;
  if (guarded) session_.add(Kind::plain, "EXECUTE guard");
  return session_.unsent_bytes() < kMostUnsent ? Status::ok : of_earlier(send_and_read());
}

Status MariadbConnection::scan(std::size_t table, Bytes lo, Bytes hi, Direction direction,
                               std::size_t expected, RowLock lock, Visit visit) {
  constexpr std::size_t kFirst = 16;
  constexpr std::size_t kMost = 4096;
  const bool ascending = direction == Direction::ascending;
  const MariadbOperation operation = MariadbStatements::scan(direction, to_write(lock));
  std::vector<std::byte> low(lo.begin(), lo.end());
  std::vector<std::byte> high = ascending ? std::vector(hi.begin(), hi.end()) : after(hi);
  for (std::size_t most = expected == 0 ? kFirst : std::min(expected, kMost);;
       most = std::min(2 * most, kMost)) {
    if (const Status status = fetch(table, operation, low, high, most); status != Status::ok) {
      return status;
    }
    // The visit may use the connection.
    const MariadbResult result = session_.take_result();
    std::size_t rows = 0;
    std::vector<std::byte> last;
    while (const MYSQL_ROW row = mysql_fetch_row(result.get())) {
      const unsigned long* lengths = mysql_fetch_lengths(result.get());
      const Bytes key = field(row, lengths, 0);
      if (++rows == most) last.assign(key.begin(), key.end());
      if (!visit(key, field(row, lengths, 1))) return Status::ok;
    }
    if (rows < most) return Status::ok;
    (ascending ? low : high) = ascending ? after(last) : last;
  }
}

Status MariadbConnection::fetch(std::size_t table, MariadbOperation operation, Bytes lo, Bytes hi,
                                std::size_t most) {
  const Status status = add(Kind::query, table, operation, {lo, hi}, most);
  return status == Status::ok ? of_earlier(send_and_read()) : status;
}

Status MariadbConnection::savepoint() {
  session_.add(Kind::plain, "SAVEPOINT heddle");  // one of this name is replaced
  return of_earlier(send_and_read());
}

Status MariadbConnection::rollback_to_savepoint() {
  // What has failed since is undone; but a failure must not make the server skip the rollback.
  if (session_.send() == Status::lost) return Status::lost;
  session_.add(Kind::rollback, "ROLLBACK TO SAVEPOINT heddle");
  return send_and_read();
}

Status MariadbConnection::commit() {
  if (!at_server_ && session_.unsent_bytes() == 0) return Status::ok;
  session_.add(Kind::commit, "COMMIT");
  const Status status = of_earlier(send_and_read());
  if (status == Status::ok) at_server_ = false;
  return status;
}

void MariadbConnection::rollback() {
  session_.discard();
  if (!std::exchange(at_server_, false)) return;
  // The locks are released when the server receives it. The next transaction reads the answer.
  session_.add(Kind::rollback, "ROLLBACK");
  (void)session_.send();
}

Status MariadbConnection::add(Kind kind, std::size_t table, MariadbOperation operation,
                              std::initializer_list<Bytes> parameters, std::size_t most) {
  MariadbStatements& statements = tables_[table];
  const std::string name = statements.name(operation);
  if (bool& prepared = statements.prepared(operation); !prepared) {
    const Status status = session_.round_trip_of(
        Kind::plain, "PREPARE " + name + " FROM '" + statements.sql(operation) + "'");
    if (status != Status::ok) return status;
    prepared = true;
  }
  std::string sql = "EXECUTE " + name + " USING ";
  const std::size_t names = sql.size();
  for (const Bytes parameter : parameters) {
    if (sql.size() != names) sql += ',';
    append_literal(sql, parameter);
  }
  if (most != 0) sql += "," + std::to_string(most);
  session_.add(kind, sql);
  return Status::ok;
}

Status MariadbConnection::send_and_read() {
  at_server_ = true;
  return session_.round_trip();
}

bool MariadbConnection::to_write(RowLock lock) const {
  // Below SERIALIZABLE a read takes no lock, as the level says.
  return lock == RowLock::exclusive && isolation_ == Isolation::serializable;
}

Status MariadbConnection::of_earlier(Status status) {
  return status == Status::absent || status == Status::exists ? Status::conflict : status;
}

}  // namespace heddle::store
