#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace heddle::store {

/// The user that a program runs as.
struct Account {
  uid_t user;
  gid_t group;
};

/// The user that a server runs as, if this is root: servers refuse to run as root.
/// @param store whose server it is, for messages
/// @param user the one that packages make for it; `nobody` if there is none
/// @throws std::invalid_argument if this is root and there is neither
[[nodiscard]] std::optional<Account> server_account(const std::string& store,
                                                    const std::string& user);

/// The name of a user; empty: it has none.
[[nodiscard]] std::string user_name(uid_t user);

}  // namespace heddle::store
