#include "store/mariadb/handle.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

namespace heddle::store {

namespace {

/// A text or nothing, as the library takes it.
const char* or_nothing(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

const char* cure_of(unsigned error) {
  switch (error) {
    case ER_DISK_FULL:
    case ER_RECORD_FILE_FULL:
    case ER_ERROR_ON_WRITE:
      return "free space there, or name a folder on another disk with folder=";
    case ER_CON_COUNT_ERROR:
    case ER_TOO_MANY_USER_CONNECTIONS:
    case ER_USER_LIMIT_REACHED: return "use fewer workers, or raise max_connections of the server";
    case ER_OUTOFMEMORY:
    case ER_OUT_OF_RESOURCES:
    case ER_LOCK_TABLE_FULL: return "use fewer workers, or give the server more memory";
    case ER_MAX_PREPARED_STMT_COUNT_REACHED:
      return "use fewer workers, or raise max_prepared_stmt_count of the server";
    case ER_ACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
    case ER_HOST_NOT_PRIVILEGED:
      return "check the user in dsn=, MYSQL_PWD or the option file, and CREATE USER of the server";
    case ER_DBACCESS_DENIED_ERROR:
    case ER_TABLEACCESS_DENIED_ERROR:
      return "grant it: GRANT ALL PRIVILEGES ON `heddle\\_%`.* TO user";
    case ER_OPTION_PREVENTS_STATEMENT: return "name a server that accepts writes";
    case ER_SERVER_SHUTDOWN:
    case ER_CONNECTION_KILLED:
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST: return "run it again when the server is up";
    case CR_CONNECTION_ERROR:
    case CR_CONN_HOST_ERROR:
    case CR_UNKNOWN_HOST: return "check that the server runs and accepts connections there";
    default: return "see the log of the server";
  }
}

}  // namespace

MariadbClient try_to_connect(const MariadbAddress& address) {
  static std::once_flag initialised;  // the library's own way is not safe among threads
  std::call_once(initialised, [] { mysql_library_init(0, nullptr, nullptr); });
  MariadbClient client(mysql_init(nullptr));
  if (client == nullptr) throw std::bad_alloc();
  const unsigned patience_s = 10;
  const unsigned no_files = 0;
  mysql_optionsv(client.get(), MYSQL_OPT_CONNECT_TIMEOUT, &patience_s);
  mysql_optionsv(client.get(), MYSQL_OPT_LOCAL_INFILE, &no_files);
  mysql_optionsv(client.get(), MYSQL_OPT_NONBLOCK, nullptr);
  mysql_optionsv(client.get(), MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "heddle");
  if (address.of_the_user) mysql_optionsv(client.get(), MYSQL_READ_DEFAULT_GROUP, "heddle");
  mysql_optionsv(client.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
  // Not even an empty one stands for that of an option file.
  const char* password = address.of_the_user ? std::getenv("MYSQL_PWD") : nullptr;
  (void)mysql_real_connect(client.get(), or_nothing(address.host), or_nothing(address.user),
                           password, nullptr, address.port, or_nothing(address.socket),
                           CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS);
  return client;
}

MariadbClient connect_to(const MariadbAddress& address) {
  MariadbClient client = try_to_connect(address);
  if (mysql_errno(client.get()) != 0) {
    throw std::runtime_error(describe_error(client.get(), address));
  }
  return client;
}

short poll_events(int events) {
  const int wanted = ((events & MYSQL_WAIT_READ) != 0 ? POLLIN : 0) |
                     ((events & MYSQL_WAIT_WRITE) != 0 ? POLLOUT : 0) |
                     ((events & MYSQL_WAIT_EXCEPT) != 0 ? POLLPRI : 0);
  return static_cast<short>(wanted);
}

int library_events(short polled) {
  return ((polled & (POLLIN | POLLHUP | POLLERR)) != 0 ? MYSQL_WAIT_READ : 0) |
         ((polled & POLLOUT) != 0 ? MYSQL_WAIT_WRITE : 0) |
         ((polled & POLLPRI) != 0 ? MYSQL_WAIT_EXCEPT : 0);
}

MariadbRows execute(const MariadbCaller& caller, const std::string& sql, ServerWaits::For what) {
  MYSQL* client = caller.client;
  const auto begun = ServerWaits::Clock::now();
  std::string ended;  // why a wait has
  const auto await = [&](int events) {
    constexpr int kBetweenChecksMs = 10;
    pollfd ready{.fd = mysql_get_socket(client), .events = poll_events(events), .revents = 0};
    while (poll(&ready, 1, kBetweenChecksMs) <= 0) {
      if (ended.empty()) ended = caller.waits.reason_to_end(begun, what, caller.address.where);
      // The library then reads an end.
      if (!ended.empty()) (void)shutdown(ready.fd, SHUT_RDWR);
    }
    return library_events(ready.revents);
  };
  MariadbRows rows;
  int next = 0;
  complete([&] { return mysql_real_query_start(&next, client, sql.c_str(), sql.size()); },
           [&](int events) { return mysql_real_query_cont(&next, client, events); }, await);
  while (next == 0) {
    rows.clear();
    MYSQL_RES* stored = nullptr;
    complete([&] { return mysql_store_result_start(&stored, client); },
             [&](int events) { return mysql_store_result_cont(&stored, client, events); }, await);
    const MariadbResult result(stored);
    while (result != nullptr) {
      const MYSQL_ROW row = mysql_fetch_row(result.get());
      if (row == nullptr) break;
      const unsigned columns = mysql_num_fields(result.get());
      auto& texts = rows.emplace_back();
      for (unsigned at = 0; at < columns; ++at) {
        texts.emplace_back(row[at] == nullptr ? "" : row[at]);
      }
    }
    if (mysql_errno(client) != 0) break;
    complete([&] { return mysql_next_result_start(&next, client); },
             [&](int events) { return mysql_next_result_cont(&next, client, events); }, await);
  }
  if (!ended.empty()) throw std::runtime_error(ended);
  if (mysql_errno(client) != 0) throw std::runtime_error(describe_error(client, caller.address));
  return rows;
}

Status status_of(unsigned error) {
  switch (error) {
    case 0: return Status::ok;
    case ER_LOCK_DEADLOCK: return Status::deadlock;
    case ER_LOCK_WAIT_TIMEOUT: return Status::busy;
    case ER_CHECKREAD: return Status::conflict;
    case ER_DUP_ENTRY: return Status::exists;
    case ER_SUBQUERY_NO_1_ROW: return Status::absent;  // see MariadbStatements
    case ER_QUERY_INTERRUPTED:
    case ER_STATEMENT_TIMEOUT: return Status::stopped;
    default: return Status::lost;
  }
}

std::string describe_error(MYSQL* client, const MariadbAddress& address) {
  std::string message = mysql_error(client);
  if (message.empty()) message = "the connection is lost";
  std::replace(message.begin(), message.end(), '\n', ' ');
  return "store mariadb: " + message + " (" + address.where + "); " + cure_of(mysql_errno(client));
}

}  // namespace heddle::store
