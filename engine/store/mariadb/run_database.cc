#include "store/mariadb/run_database.h"

#include <unistd.h>

#include <atomic>
#include <exception>
#include <stdexcept>

#include "store/mariadb/server_command.h"

namespace heddle::store {

namespace {

constexpr const char* kMark = "A run of Heddle. It is dropped when the run ends.";

/// Names in quotation marks as in standard SQL. A wait for a lock ends before the run's watchdog
/// time-out, and an idle session stays.
constexpr const char* kSettings =
    "SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
    "innodb_lock_wait_timeout = 5, lock_wait_timeout = 5, wait_timeout = 86400";

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  // relaxed: the numbers only have to differ.
  return last.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

RunDatabase::RunDatabase(const MariadbAddress& address, ServerWaits& waits)
    : address_(address), waits_(waits), client_(connect_to(address)) {
  require_version();
  (void)execute(caller(), kSettings);
  sweep();
  std::string name;
  do {
    name = "heddle_" + std::to_string(getpid()) + "_" + std::to_string(next_number());
  } while (!lock(name));
  // The mark comes with the database, so that a run that is killed leaves nothing without.
  (void)execute(caller(),
                "CREATE DATABASE " + name + " CHARACTER SET binary COMMENT '" + kMark + "'");
  name_ = name;
}

RunDatabase::~RunDatabase() {
  try {
    (void)execute(caller(), "DROP DATABASE " + name_, ServerWaits::For::bulk);
  } catch (const std::exception&) {
    // The server is gone, or the next run on it drops the database.
  }
}

MariadbClient RunDatabase::connect() const {
  MariadbClient client = connect_to(address_);
  (void)execute({client.get(), address_, waits_}, std::string(kSettings) + "; USE " + name_);
  return client;
}

void RunDatabase::require_version() {
  constexpr unsigned long kOldest = 100'500;
  if (mariadb_connection(client_.get()) != 0 &&
      mysql_get_server_version(client_.get()) >= kOldest) {
    return;
  }
  throw std::runtime_error("store mariadb: the server is of version " +
                           std::string(mysql_get_server_info(client_.get())) + " (" +
                           address_.where + "); name one of MariaDB 10.5 or newer");
}

void RunDatabase::require_connections(std::size_t connections) {
  const std::size_t most = std::stoull(value_of("@@max_connections"));
  if (connections + 1 <= most) return;
  throw std::runtime_error("store mariadb: the server accepts " + std::to_string(most) +
                           " connections, and the run needs " + std::to_string(connections + 1) +
                           " (" + address_.where +
                           "); use fewer workers, or raise max_connections of the server");
}

void RunDatabase::require_durability(Durability durability) {
  const std::string wanted = flush_at_commit(durability);
  const std::string found = value_of("@@innodb_flush_log_at_trx_commit");
  if (found == wanted) return;
  throw std::runtime_error("store mariadb: innodb_flush_log_at_trx_commit of the server is " +
                           found + ", and this durability= needs " + wanted + " (" +
                           address_.where +
                           "); set it there, which is for all its sessions, or give durability=" +
                           (found == "0"   ? "off"
                            : found == "1" ? "full"
                                           : "normal"));
}

std::uint64_t RunDatabase::syncs() {
  const std::lock_guard one_at_a_time(mutex_);
  try {
    const MariadbRows rows = execute(caller(), "SHOW GLOBAL STATUS LIKE 'Innodb_data_fsyncs'",
                                     ServerWaits::For::statistics);
    return rows.empty() ? 0 : std::stoull(rows.front().back());
  } catch (const std::exception&) {
    return 0;  // the workers find out what is wrong
  }
}

void RunDatabase::end_statement_of(unsigned long session) {
  const std::lock_guard one_at_a_time(mutex_);
  try {
    (void)execute(caller(), "KILL QUERY " + std::to_string(session), ServerWaits::For::statistics);
  } catch (const std::exception&) {
    // The session has ended, or the server has.
  }
}

std::string RunDatabase::value_of(const std::string& expression) {
  const MariadbRows rows = execute(caller(), "SELECT " + expression);
  return rows.front().front();
}

bool RunDatabase::lock(const std::string& name) {
  return value_of("GET_LOCK('" + name +
                  "', 0) = 1 AND NOT EXISTS (SELECT 1 FROM "
                  "information_schema.SCHEMATA WHERE SCHEMA_NAME = '" +
                  name + "')") == "1";
}

void RunDatabase::sweep() {
  const MariadbRows left =
      execute(caller(),
              "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME REGEXP "
              "'^heddle_[0-9]+_[0-9]+$' AND SCHEMA_COMMENT = '" +
                  std::string(kMark) + "'");
  for (const auto& row : left) {
    const std::string& name = row.front();
    if (value_of("GET_LOCK('" + name + "', 0)") != "1") continue;
    try {
      (void)execute(caller(), "DROP DATABASE " + name, ServerWaits::For::bulk);
    } catch (const std::exception&) {
      // Another run drops it, or its last connection has not ended yet: the next run finds it.
    }
    (void)value_of("RELEASE_LOCK('" + name + "')");
  }
}

}  // namespace heddle::store
