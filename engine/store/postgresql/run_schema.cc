#include "store/postgresql/run_schema.h"

#include <unistd.h>

#include <atomic>
#include <exception>
#include <stdexcept>

namespace heddle::store {

namespace {

constexpr const char* kMark = "A run of Heddle. It is dropped when the run ends.";

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  // relaxed: the numbers only have to differ.
  return last.fetch_add(1, std::memory_order_relaxed);
}

std::string value_of(const Answer& answer, int row = 0, int column = 0) {
  return PQgetvalue(answer.get(), row, column);
}

}  // namespace

RunSchema::RunSchema(const Address& address, ServerWaits& waits)
    : address_(address), waits_(waits), client_(connect_to(address)) {
  // Another run's tables, which are being dropped, must not stop this one.
  (void)execute(caller(), "SET lock_timeout = '10s'");
  sweep();
  std::string name;
  do {
    name = "heddle_" + std::to_string(getpid()) + "_" + std::to_string(next_number());
  } while (!lock(name));
  // The mark comes with the schema, or a run that is killed in between leaves what is not swept.
  (void)execute(caller(), "BEGIN; CREATE SCHEMA " + name + "; COMMENT ON SCHEMA " + name + " IS '" +
                              kMark + "'; COMMIT");
  name_ = name;
}

RunSchema::~RunSchema() {
  try {
    (void)execute(caller(), "DROP SCHEMA " + name_ + " CASCADE", {}, ServerWaits::For::bulk);
  } catch (const std::exception&) {
    // The server is gone, or the next run in its database drops it.
  }
}

void RunSchema::require_connections(std::size_t connections) {
  const std::string sql =
      "SELECT current_setting('max_connections')::int - "
      "current_setting('superuser_reserved_connections')::int";
  const std::size_t most = std::stoull(value_of(execute(caller(), sql)));
  if (connections + 1 <= most) return;
  throw std::runtime_error("store postgresql: the server accepts " + std::to_string(most) +
                           " connections, and the run needs " + std::to_string(connections + 1) +
                           " (" + address_.where() +
                           "); use fewer workers, or raise max_connections of the server");
}

std::uint64_t RunSchema::syncs() {
  const std::lock_guard one_at_a_time(mutex_);
  if (PQserverVersion(client_.get()) < 140'000) return 0;
  try {
    const Answer answer = execute(caller(), "SELECT wal_sync FROM pg_catalog.pg_stat_wal", {},
                                  ServerWaits::For::statistics);
    return std::stoull(value_of(answer));
  } catch (const std::exception&) {
    return 0;  // the workers find out what is wrong
  }
}

void RunSchema::end_statement_of(int session) {
  const std::lock_guard one_at_a_time(mutex_);
  try {
    (void)execute(caller(), "SELECT pg_catalog.pg_cancel_backend($1::int)",
                  {std::to_string(session)}, ServerWaits::For::statistics);
  } catch (const std::exception&) {
    // The session has ended, or the server has.
  }
}

bool RunSchema::lock(const std::string& name) {
  const Answer answer =
      execute(caller(),
              "SELECT pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended($1, 0)) AND "
              "to_regnamespace($1) IS NULL",
              {name});
  return value_of(answer) == "t";
}

void RunSchema::sweep() {
  const Answer left = execute(
      caller(),
      "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname ~ '^heddle_[0-9]+_[0-9]+$' "
      "AND obj_description(oid, 'pg_namespace') = $1 "
      "AND pg_catalog.pg_has_role(nspowner, 'USAGE') "
      "AND pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended(nspname, 0))",
      {kMark});
  for (int row = 0; row < PQntuples(left.get()); ++row) {
    try {
      (void)execute(caller(), "DROP SCHEMA " + value_of(left, row) + " CASCADE", {},
                    ServerWaits::For::bulk);
    } catch (const std::exception&) {
      // Another run drops it, or its last connection has not ended yet: the next run finds it.
    }
    (void)execute(caller(),
                  "SELECT pg_catalog.pg_advisory_unlock(pg_catalog.hashtextextended($1, 0))",
                  {value_of(left, row)});
  }
}

}  // namespace heddle::store
