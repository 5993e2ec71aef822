#include "store/postgresql/server.h"

#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "store/postgresql/handle.h"
#include "store/postgresql/programs.h"

namespace heddle::store {

namespace {

constexpr const char* kUser = "heddle";
constexpr const char* kSocketName = ".s.PGSQL.5432";

/// The servers of this process.
struct Servers {
  std::mutex mutex;
  std::vector<std::shared_ptr<PrivateServer>> all;

  static Servers& get() {
    static Servers servers;
    return servers;
  }
};

constexpr const char* kPort = "5432";

void require_short(const std::filesystem::path& folder) {
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  const std::string path = (folder / kSocketName).string();
  if (path.size() <= kMost) return;
  throw std::runtime_error("store postgresql: the socket " + path + " has a path of " +
                           std::to_string(path.size()) + " bytes, and the system allows " +
                           std::to_string(kMost) + "; name a shorter folder with folder=");
}

}  // namespace

PrivateServer::PrivateServer(const Settings& settings)
    : settings_(settings),
      owner_(getpid()),
      programs_(server_programs()),
      account_(server_account()),
      folder_(settings.place),
      address_(Address::of_socket(folder_.path().string(), kPort, kUser,
                                  user_name(account_ ? account_->user : geteuid()))) {
  // A few for what is not a worker, and what ends a little later than its run.
  constexpr std::size_t kLeast = 64;
  constexpr std::size_t kSpare = 16;
  settings_.connections = std::max(kLeast, settings.connections) + kSpare;
  require_short(folder_.path());
  if (account_ && chown(folder_.path().c_str(), account_->user, account_->group) != 0) {
    throw std::runtime_error("store postgresql: the owner of " + folder_.path().string() +
                             " can't be changed: " + std::strerror(errno) +
                             "; name a folder on another disk with folder=");
  }
  create();
  start();
  await_start();
}

std::shared_ptr<PrivateServer> PrivateServer::of_process(const Settings& settings) {
  Servers& servers = Servers::get();
  const std::lock_guard lock(servers.mutex);
  std::erase_if(servers.all, [&](const auto& server) {
    // One with too few connections is replaced; its runs keep it until they end.
    return server->settings_.place == settings.place && server->settings_.fsync == settings.fsync &&
           !server->serves(settings);
  });
  for (const auto& server : servers.all) {
    if (server->serves(settings)) return server;
  }
  servers.all.push_back(std::make_shared<PrivateServer>(settings));
  return servers.all.back();
}

void PrivateServer::end_all() {
  Servers& servers = Servers::get();
  const std::lock_guard lock(servers.mutex);
  servers.all.clear();
}

bool PrivateServer::serves(const Settings& settings) const {
  return owner_ == getpid() && settings_.place == settings.place &&
         settings_.fsync == settings.fsync && settings_.connections >= settings.connections &&
         PQstatus(try_to_connect(address_).get()) == CONNECTION_OK;
}

void PrivateServer::create() {
  Child initdb({.command = {(programs_ / "initdb").string(), "--pgdata=" + data(),
                            "--username=" + std::string(kUser), "--auth=trust", "--encoding=UTF8",
                            "--no-locale", "--no-sync", "--no-instructions"},
                .folder = folder_.path().string(),
                .log = log(),
                .account = account_});
  if (initdb.wait() == 0) return;
  throw std::runtime_error("store postgresql: initdb failed in " + folder_.path().string() + ": " +
                           complaint() +
                           "; name a folder with space that the server's user may "
                           "reach with folder=");
}

void PrivateServer::start() {
  std::vector<std::string> command{(programs_ / "postgres").string(), "-D", data(), "-p", kPort};
  const auto set = [&command](const std::string& setting) {
    command.insert(command.end(), {"-c", setting});
  };
  set("listen_addresses=");
  set("unix_socket_directories=" + folder_.path().string());
  set("unix_socket_permissions=0700");
  set("max_connections=" + std::to_string(settings_.connections));
  set("superuser_reserved_connections=0");
  set(std::string("fsync=") + (settings_.fsync ? "on" : "off"));
  set(std::string("full_page_writes=") + (settings_.fsync ? "on" : "off"));
  // No replica reads the log, so that filling the tables need not write it.
  set("wal_level=minimal");
  set("max_wal_senders=0");
  set("shared_buffers=128MB");
  set("dynamic_shared_memory_type=mmap");  // files in the folder, which is removed
  set("max_pred_locks_per_transaction=256");
  set("deadlock_timeout=100ms");
  // Conflicts are no news.
  set("log_min_messages=fatal");
  set("log_min_error_statement=panic");
  set("update_process_title=off");
  process_.emplace(Program{.command = std::move(command),
                           .folder = folder_.path().string(),
                           .log = log(),
                           .account = account_});
}

void PrivateServer::await_start() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{60};
  constexpr std::chrono::milliseconds kBetweenTries{5};
  const auto last = Clock::now() + kPatience;
  while (PQstatus(try_to_connect(address_).get()) != CONNECTION_OK) {
    if (process_->has_ended() || Clock::now() > last) {
      throw std::runtime_error("store postgresql: the server does not start in " +
                               folder_.path().string() + ": " + complaint() +
                               "; name another folder with folder=, or a server with dsn=");
    }
    // Only a variable of the environment makes it unwanted: the service of PGSERVICE is not
    // defined, or PGTZ is no time zone.
    if (const std::string why = refusal(address_); !why.empty()) {
      throw std::runtime_error("store postgresql: the server in " + folder_.path().string() +
                               " can't be used: " + why +
                               "; unset the environment variables of libpq, such as PGSERVICE");
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

std::string PrivateServer::complaint() const {
  std::ifstream file(log());
  std::string last;
  std::string found;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    last = line;
    if (line.find("FATAL:") != std::string::npos || line.find("error:") != std::string::npos) {
      found = line;
    }
  }
  return found.empty() ? last : found;
}

}  // namespace heddle::store
