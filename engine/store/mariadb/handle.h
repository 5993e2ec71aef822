#pragma once

#include <mysql.h>

#include <memory>
#include <string>
#include <vector>

#include "store/connection.h"
#include "store/mariadb/address.h"

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

/// Runs SQL, one statement or several.
/// @throws std::runtime_error naming the server and the cure
MariadbRows execute(MYSQL* client, const MariadbAddress& address, const std::string& sql);

/// What the number of an error means for the transaction.
[[nodiscard]] Status status_of(unsigned error);

/// What is wrong, where, and what would help, in one line.
[[nodiscard]] std::string describe_error(MYSQL* client, const MariadbAddress& address);

}  // namespace heddle::store
