#pragma once

#include <filesystem>

#include "store/mariadb/address.h"
#include "store/server/private_server.h"

namespace heddle::store {

/// How a MariaDB server of the run is started and reached. It has no system tables, and admits
/// everybody who may enter its folder.
extern const ServerKind kMariadbServer;

/// The folder of `mariadbd`: the one that PATH names, or where packages put it.
/// @throws std::invalid_argument naming the package if there is none
[[nodiscard]] std::filesystem::path mariadb_programs();

/// Where the server in a folder is.
[[nodiscard]] MariadbAddress mariadb_in(const std::filesystem::path& folder);

}  // namespace heddle::store
