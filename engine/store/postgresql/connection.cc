#include "store/postgresql/connection.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "store/postgresql/bytes_array.h"
#include "store/postgresql/run_schema.h"
#include "store/sql_isolation.h"
#include "store/sql_name.h"

namespace heddle::store {

enum class PostgresqlConnection::Fixed : std::uint8_t {
  begin_reading,
  begin_writing,
  commit,
  rollback,
  set_savepoint,
  release_savepoint,
  to_savepoint,
};

namespace {

using Command = Pipeline::Command;

/// Settings of a session. Every statement finds its rows by the key: a scan of the whole table
/// reads rows that the transaction does not need, and at SERIALIZABLE conflicts with all that
/// write.
std::string session_settings(Durability durability) {
  return std::string(
             "SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off; "
             "SET plan_cache_mode = force_generic_plan; SET synchronous_commit = ") +
         (durability == Durability::full ? "on" : "off");
}

Client open_session(const StoreSetup& setup, const Address& address, ServerWaits& waits) {
  Client client = connect_to(address);
  (void)execute({client.get(), address, waits}, session_settings(setup.durability));
  return client;
}

Bytes field(const PGresult* answer, int row, int column) {
  return {reinterpret_cast<const std::byte*>(PQgetvalue(answer, row, column)),
          static_cast<std::size_t>(PQgetlength(answer, row, column))};
}

/// The least key that is greater, for a bound that is not inclusive.
std::vector<std::byte> after(Bytes key) {
  std::vector<std::byte> next(key.begin(), key.end());
  next.push_back(std::byte{0});
  return next;
}

}  // namespace

PostgresqlConnection::PostgresqlConnection(const StoreSetup& setup, const Address& address,
                                           RunSchema& schema, ServerWaits& waits,
                                           std::atomic<std::uint64_t>& round_trips)
    : pipeline_(open_session(setup, address, waits), address, schema, waits, setup.stop,
                round_trips) {
  // A snapshot level refuses to write a row that is gone.
  const bool guarded = setup.isolation == Isolation::read_committed;
  tables_.reserve(setup.tables.size());
  for (const TableSpec& table : setup.tables) {
    tables_.emplace_back(schema.name() + "." + in_quotes(table.name), tables_.size(), guarded);
  }
  prepare_fixed(setup.isolation);
}

void PostgresqlConnection::prepare_fixed(Isolation isolation) {
  const std::string begin = "BEGIN ISOLATION LEVEL " + std::string(sql_name_of(isolation));
  const std::pair<Fixed, std::string> all[] = {
      {Fixed::begin_reading, begin + " READ ONLY"},
      {Fixed::begin_writing, begin + " READ WRITE"},
      {Fixed::commit, "COMMIT"},
      {Fixed::rollback, "ROLLBACK"},
      {Fixed::set_savepoint, "SAVEPOINT heddle"},
      {Fixed::release_savepoint, "RELEASE SAVEPOINT heddle"},
      {Fixed::to_savepoint, "ROLLBACK TO SAVEPOINT heddle"},
  };
  bool prepared = false;
  for (const auto& [fixed, sql] : all) {
    pipeline_.add_prepare("f" + std::to_string(static_cast<int>(fixed)), sql, prepared);
  }
  if (pipeline_.round_trip() != Status::ok) throw std::runtime_error(error());
}

Status PostgresqlConnection::begin(Access access) {
  in_transaction_ = true;
  has_savepoint_ = false;
  add(Command::plain, access == Access::read_only ? Fixed::begin_reading : Fixed::begin_writing);
  return Status::ok;
}

Status PostgresqlConnection::get(std::size_t table, Bytes key, RowLock /*lock*/,
                                 std::span<std::byte> out) {
  add(Command::query, table, Operation::get, {key});
  const Status status = of_earlier(pipeline_.round_trip());
  if (status != Status::ok) return status;
  const Answer answer = pipeline_.take_answer();
  if (PQntuples(answer.get()) == 0) return Status::absent;
  return copy_value(field(answer.get(), 0, 0), out);
}

Status PostgresqlConnection::copy_value(Bytes value, std::span<std::byte> out) {
  if (value.size() != out.size()) {
    return pipeline_.lose("store postgresql: a row has " + std::to_string(value.size()) +
                          " bytes, not " + std::to_string(out.size()) +
                          ": another program has changed the table");
  }
  std::memcpy(out.data(), value.data(), value.size());
  return Status::ok;
}

Status PostgresqlConnection::get_all(std::span<RowToRead> rows) {
  if (rows.empty()) return Status::ok;
  const auto rest_after = [](std::span<RowToRead> all) {
    return std::find_if(all.begin(), all.end(),
                        [&](const RowToRead& row) { return row.table != all.front().table; });
  };
  std::vector<std::span<RowToRead>> tables;
  for (auto left = rows; !left.empty(); left = left.subspan(tables.back().size())) {
    tables.emplace_back(left.begin(), rest_after(left));
    BytesArray keys;
    for (const RowToRead& row : tables.back()) keys.add(row.key);
    add(Command::query, left.front().table, Operation::get_all, {keys.bytes()});
  }
  const Status status = of_earlier(pipeline_.round_trip());
  if (status != Status::ok) return status;
  for (const auto& table : tables) {
    const Answer answer = pipeline_.take_answer();
    if (const Status taken = take_rows(table, answer.get()); taken != Status::ok) return taken;
  }
  return Status::ok;
}

Status PostgresqlConnection::take_rows(std::span<RowToRead> rows, const PGresult* answer) {
  const auto precedes = [](const RowToRead& row, Bytes key) {
    return std::lexicographical_compare(row.key.begin(), row.key.end(), key.begin(), key.end());
  };
  for (int at = 0; at < PQntuples(answer); ++at) {
    const Bytes key = field(answer, at, 0);
    const auto row = std::lower_bound(rows.begin(), rows.end(), key, precedes);
    assert(row != rows.end() && std::equal(key.begin(), key.end(), row->key.begin()));
    const Status status = copy_value(field(answer, at, 1), row->out);
    if (status != Status::ok) return status;
    row->found = true;
  }
  return Status::ok;
}

Status PostgresqlConnection::put(std::size_t table, Bytes key, Bytes value, Put how) {
  add(Command::write, table, how == Put::fresh ? Operation::insert : Operation::update,
      {key, value});
  return Status::ok;
}

Status PostgresqlConnection::erase(std::size_t table, Bytes key) {
  add(Command::write, table, Operation::erase, {key});
  return Status::ok;
}

Status PostgresqlConnection::scan(std::size_t table, Bytes lo, Bytes hi, Direction direction,
                                  std::size_t expected, RowLock /*lock*/, Visit visit) {
  constexpr std::size_t kFirst = 16;
  constexpr std::size_t kMost = 4096;
  const bool ascending = direction == Direction::ascending;
  std::vector<std::byte> low(lo.begin(), lo.end());
  std::vector<std::byte> high = ascending ? std::vector(hi.begin(), hi.end()) : after(hi);
  for (std::size_t most = expected == 0 ? kFirst : std::min(expected, kMost);;
       most = std::min(2 * most, kMost)) {
    if (const Status status = fetch(table, direction, low, high, most); status != Status::ok) {
      return status;
    }
    // The visit may use the connection.
    const Answer answer = pipeline_.take_answer();
    const int rows = PQntuples(answer.get());
    for (int row = 0; row < rows; ++row) {
      if (!visit(field(answer.get(), row, 0), field(answer.get(), row, 1))) return Status::ok;
    }
    if (static_cast<std::size_t>(rows) < most) return Status::ok;
    const Bytes last = field(answer.get(), rows - 1, 0);
    if (ascending) {
      low = after(last);
    } else {
      high.assign(last.begin(), last.end());
    }
  }
}

Status PostgresqlConnection::fetch(std::size_t table, Direction direction, Bytes lo, Bytes hi,
                                   std::size_t most) {
  std::uint64_t limit = most;  // LIMIT is of type bigint, whose binary form is big-endian
  if constexpr (std::endian::native == std::endian::little) limit = __builtin_bswap64(limit);
  add(Command::query, table,
      direction == Direction::ascending ? Operation::scan_up : Operation::scan_down,
      {lo, hi, std::as_bytes(std::span(&limit, 1))});
  return of_earlier(pipeline_.round_trip());
}

Status PostgresqlConnection::savepoint() {
  if (has_savepoint_) add(Command::plain, Fixed::release_savepoint);
  add(Command::plain, Fixed::set_savepoint);
  const Status status = of_earlier(pipeline_.round_trip());
  has_savepoint_ = status == Status::ok;
  return status;
}

Status PostgresqlConnection::rollback_to_savepoint() {
  // What has failed since is undone; but a failure must not make the server skip the rollback.
  if (pipeline_.has_unsent() && pipeline_.send() == Status::lost) return Status::lost;
  add(Command::rollback, Fixed::to_savepoint);
  return pipeline_.round_trip();
}

Status PostgresqlConnection::commit() {
  add(Command::commit, Fixed::commit);
  const Status status = of_earlier(pipeline_.round_trip());
  if (status == Status::ok) in_transaction_ = false;
  return status;
}

void PostgresqlConnection::rollback() {
  if (!in_transaction_) return;
  in_transaction_ = false;
  if (pipeline_.has_unsent()) {
    // A failure must not make the server skip the rollback.
    if (pipeline_.send() != Status::ok) return;
  } else if (pipeline_.is_idle()) {
    return;  // a COMMIT that fails has rolled back
  }
  // The locks are released when the server receives it. The next transaction reads the answer.
  add(Command::rollback, Fixed::rollback);
  (void)pipeline_.send();
}

void PostgresqlConnection::add(Command command, Fixed fixed) {
  pipeline_.add(command, "f" + std::to_string(static_cast<int>(fixed)));
}

void PostgresqlConnection::add(Command command, std::size_t table, Operation operation,
                               std::initializer_list<Bytes> parameters) {
  Statements& statements = tables_[table];
  const std::string name = statements.name(operation);
  if (!statements.prepared(operation)) {
    pipeline_.add_prepare(name, statements.sql(operation), statements.prepared(operation));
  }
  pipeline_.add(command, name, {parameters.begin(), parameters.size()});
}

Status PostgresqlConnection::of_earlier(Status status) {
  return status == Status::absent || status == Status::exists ? Status::conflict : status;
}

}  // namespace heddle::store
