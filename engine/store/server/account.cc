#include "store/server/account.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace heddle::store {

std::optional<Account> server_account(const std::string& store, const std::string& user) {
  if (geteuid() != 0) return {};
  for (const std::string& name : {user, std::string("nobody")}) {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 4096> texts;
    if (getpwnam_r(name.c_str(), &entry, texts.data(), texts.size(), &found) == 0 &&
        found != nullptr) {
      return Account{found->pw_uid, found->pw_gid};
    }
  }
  throw std::invalid_argument("store " + store +
                              ": its server does not run as root, and there is no user " + user +
                              " or nobody; run Heddle as another user, or name a server with dsn=");
}

std::string user_name(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> texts;
  const int failed = getpwuid_r(user, &entry, texts.data(), texts.size(), &found);
  return failed == 0 && found != nullptr ? found->pw_name : "";
}

}  // namespace heddle::store
