#pragma once

#include <string>

namespace heddle::store {

/// Where a MariaDB server is.
struct MariadbAddress {
  std::string host = {};     ///< empty: by the socket
  unsigned port = 0;         ///< 0: the default one
  std::string socket = {};   ///< a file; empty: by the host, or the default one
  std::string user = {};     ///< empty: as option files say, or the user of this process
  std::string where = {};    ///< for messages; never a secret
  bool of_the_user = false;  ///< option files and MYSQL_PWD apply
  /// The server that a user names. Messages name its host, and never show the text.
  /// @param dsn `mariadb://user@host:port`, or `mariadb://user@localhost?socket=file`
  /// @throws std::invalid_argument for another text, and for one with a password
  [[nodiscard]] static MariadbAddress parse(const std::string& dsn);
};

}  // namespace heddle::store
