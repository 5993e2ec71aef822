#pragma once

#include <filesystem>

#include "store/postgresql/address.h"
#include "store/server/private_server.h"

namespace heddle::store {

/// How a PostgreSQL server of the run is created, started and reached.
extern const ServerKind kPostgresqlServer;

/// The folder of `initdb` and `postgres`: the one that PATH names, or the newest of those where
/// packages put them.
/// @throws std::invalid_argument naming the package if there is none
[[nodiscard]] std::filesystem::path postgresql_programs();

/// Where the server in a folder is.
[[nodiscard]] Address address_in(const std::filesystem::path& folder);

}  // namespace heddle::store
