#include "store/mariadb/server.h"

#include <string>
#include <vector>

#include "store/mariadb/handle.h"
#include "store/mariadb/server_command.h"

namespace heddle::store {

namespace {

namespace fs = std::filesystem;

/// The server makes what it needs, in an empty folder.
std::vector<std::string> create_in(const fs::path& /*folder*/) { return {}; }

bool answers_in(const fs::path& folder) {
  return mysql_errno(try_to_connect(mariadb_in(folder)).get()) == 0;
}

bool is_complaint(const std::string& line) { return line.find("[ERROR]") != std::string::npos; }

}  // namespace

const ServerKind kMariadbServer{.store = "mariadb",
                                .user = "mysql",
                                .without = "MYSQL",
                                .socket = kMariadbSocket,
                                .create = &create_in,
                                .serve = &mariadb_server_command,
                                .answers = &answers_in,
                                .is_complaint = &is_complaint};

MariadbAddress mariadb_in(const fs::path& folder) {
  return {.socket = (folder / kMariadbSocket).string(), .user = "root", .where = folder.string()};
}

}  // namespace heddle::store
