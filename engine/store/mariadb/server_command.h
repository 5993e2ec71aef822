#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "store/store.h"

namespace heddle::store {

/// The file in the server's folder that clients connect to.
inline constexpr const char* kMariadbSocket = "mariadb.sock";

/// The folder of `mariadbd`: the one that PATH names, or where packages put it.
/// @throws std::invalid_argument naming the package if there is none
[[nodiscard]] std::filesystem::path mariadb_programs();

/// The value of innodb_flush_log_at_trx_commit.
[[nodiscard]] std::string flush_at_commit(Durability durability);

/// The command that serves a database in a folder, which the server makes if it is empty.
/// @throws std::invalid_argument if there is no server
[[nodiscard]] std::vector<std::string> mariadb_server_command(const std::filesystem::path& folder,
                                                              Durability durability,
                                                              std::size_t connections);

}  // namespace heddle::store
