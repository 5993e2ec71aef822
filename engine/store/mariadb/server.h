#pragma once

#include <filesystem>

#include "store/mariadb/address.h"
#include "store/server/private_server.h"

namespace heddle::store {

/// How a MariaDB server of the run is started and reached. It has no system tables, and admits
/// everybody who may enter its folder.
extern const ServerKind kMariadbServer;

/// Where the server in a folder is.
[[nodiscard]] MariadbAddress mariadb_in(const std::filesystem::path& folder);

}  // namespace heddle::store
