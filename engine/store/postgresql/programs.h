#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "store/postgresql/child.h"

namespace heddle::store {

/// The folder of `initdb` and `postgres`: the one that PATH names, or the newest of those where
/// packages put them.
/// @throws std::invalid_argument naming the package if there is none
[[nodiscard]] std::filesystem::path server_programs();

/// The user that a server runs as. PostgreSQL refuses to run as root, so that root needs another
/// one.
/// @throws std::invalid_argument if this is root and there is none
[[nodiscard]] std::optional<Account> server_account();

/// The name of a user; empty: it has none.
[[nodiscard]] std::string user_name(uid_t user);

}  // namespace heddle::store
