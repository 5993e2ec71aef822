#pragma once

#include <mysql.h>

#include <memory>
#include <string>
#include <vector>

#include "store/connection.h"
#include "store/mariadb/address.h"
#include "store/server/waits.h"

namespace heddle::store {

struct CloseMariadb {
  void operator()(MYSQL* client) const { mysql_close(client); }
};
using MariadbClient = std::unique_ptr<MYSQL, CloseMariadb>;

struct FreeMariadbResult {
  void operator()(MYSQL_RES* result) const { mysql_free_result(result); }
};
using MariadbResult = std::unique_ptr<MYSQL_RES, FreeMariadbResult>;

/// Opens a connection, or returns one that has failed, which mysql_errno() says. It takes several
/// statements in a message, and counts a row that an update finds as written.
[[nodiscard]] MariadbClient try_to_connect(const MariadbAddress& address);

/// @throws std::runtime_error naming the server and the cure
[[nodiscard]] MariadbClient connect_to(const MariadbAddress& address);

/// The rows of the last statement as texts.
using MariadbRows = std::vector<std::vector<std::string>>;

/// A connection whose waits for the server end.
struct MariadbCaller {
  MYSQL* client;
  const MariadbAddress& address;
  ServerWaits& waits;
};

/// Runs SQL, one statement or several.
/// @throws std::runtime_error naming the server and the cure; after a wait that ended without an
///         answer the connection is of no use
MariadbRows execute(const MariadbCaller& caller, const std::string& sql,
                    ServerWaits::For what = ServerWaits::For::statement);

/// Calls a function of the library that does not block, until it has ended.
/// @param await waits for the events of the library that it is called with, and returns those that
///        have happened
template <class Start, class Continue, class Await>
void complete(Start start, Continue go_on, Await await) {
  for (int events = start(); events != 0;) events = go_on(await(events));
}

/// What poll() calls the library's events, and back.
[[nodiscard]] short poll_events(int events);
[[nodiscard]] int library_events(short polled);

/// What the number of an error means for the transaction.
[[nodiscard]] Status status_of(unsigned error);

/// What is wrong, where, and what would help, in one line.
[[nodiscard]] std::string describe_error(MYSQL* client, const MariadbAddress& address);

}  // namespace heddle::store
