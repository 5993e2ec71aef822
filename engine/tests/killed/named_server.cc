#include "killed/named_server.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "killed/processes.h"
#include "store/mariadb/server_command.h"
#include "store/server/account.h"

namespace heddle::killed {

NamedServer::NamedServer(const fs::path& folder, store::Durability durability) : folder_(folder) {
  constexpr std::size_t kConnections = 64;
  command_ = store::mariadb_server_command(folder_, durability, kConnections);
  fs::create_directory(folder_);
  const auto account = store::server_account("mariadb", "mysql");
  if (account && chown(folder_.c_str(), account->user, account->group) != 0) {
    throw std::runtime_error("the owner of " + folder_.string() + " can't be changed");
  }
  std::vector<std::string> create = command_;
  create.insert(create.end(), {"--bootstrap", "--innodb-fast-shutdown=1"});
  if (run_as_owner(folder_, create, "", "log") != 0) {
    throw std::runtime_error("the database of a server can't be made in " + folder_.string());
  }
  process_ = start_as_owner(folder_, command_, "", "log");
  constexpr std::chrono::seconds kPatience{60};
  const auto last = std::chrono::steady_clock::now() + kPatience;
  // It makes them in this order.
  while (!fs::exists(folder_ / store::kMariadbSocket) || !fs::exists(folder_ / "pid")) {
    if (std::chrono::steady_clock::now() > last) throw std::runtime_error("the server waits");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

NamedServer::~NamedServer() { end(); }

std::string NamedServer::dsn() const {
  return "mariadb://root@localhost?socket=" + (folder_ / store::kMariadbSocket).string();
}

void NamedServer::end() {
  if (process_ == 0) return;
  kill(process_, SIGKILL);
  (void)exit_status_of(process_);
  process_ = 0;
}

}  // namespace heddle::killed
