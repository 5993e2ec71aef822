#include "store/postgresql/programs.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

namespace heddle::store {

namespace {

namespace fs = std::filesystem;

bool has_programs(const fs::path& folder) {
  return access((folder / "initdb").c_str(), X_OK) == 0 &&
         access((folder / "postgres").c_str(), X_OK) == 0;
}

/// The folder in PATH; a link counts as the file that it leads to.
fs::path in_path() {
  const char* text = std::getenv("PATH");
  std::istringstream folders(text == nullptr ? "" : text);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code failed;
    const fs::path file = fs::canonical(fs::path(folder) / "initdb", failed);
    if (!failed && has_programs(file.parent_path())) return file.parent_path();
  }
  return {};
}

/// The newest version in a folder of one folder a version.
fs::path newest_in(const char* place) {
  fs::path newest;
  int highest = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(place, ignored)) {
    const std::string name = entry.path().filename().string();
    int version = 0;
    (void)std::from_chars(name.data(), name.data() + name.size(), version);
    if (version <= highest || !has_programs(entry.path() / "bin")) continue;
    highest = version;
    newest = entry.path() / "bin";
  }
  return newest;
}

}  // namespace

fs::path server_programs() {
  if (fs::path found = in_path(); !found.empty()) return found;
  if (fs::path found = newest_in("/usr/lib/postgresql"); !found.empty()) return found;
  throw std::invalid_argument(
      "store postgresql: initdb and postgres are neither in PATH nor in /usr/lib/postgresql; "
      "install the server (Debian: apt-get install postgresql), or name one with dsn=");
}

std::optional<Account> server_account() {
  if (geteuid() != 0) return {};
  for (const char* name : {"postgres", "nobody"}) {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 4096> texts;
    if (getpwnam_r(name, &entry, texts.data(), texts.size(), &found) == 0 && found != nullptr) {
      return Account{found->pw_uid, found->pw_gid};
    }
  }
  throw std::invalid_argument(
      "store postgresql: PostgreSQL does not run as root, and there is no user postgres or nobody; "
      "run Heddle as another user, or name a server with dsn=");
}

std::string user_name(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> texts;
  const int failed = getpwuid_r(user, &entry, texts.data(), texts.size(), &found);
  return failed == 0 && found != nullptr ? found->pw_name : "";
}

}  // namespace heddle::store
