#include "store/server/private_server.h"

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

namespace heddle::store {

namespace {

/// The servers of this process.
struct Servers {
  std::mutex mutex;
  std::vector<std::shared_ptr<PrivateServer>> all;

  static Servers& get() {
    static Servers servers;
    return servers;
  }
};

}  // namespace

PrivateServer::PrivateServer(const ServerKind& kind, const Settings& settings)
    : kind_(kind),
      settings_(settings),
      owner_(getpid()),
      account_(server_account(kind.store, kind.user)),
      folder_(settings.place) {
  // A few for what is not a worker, and what ends a little later than its run.
  constexpr std::size_t kLeast = 64;
  constexpr std::size_t kSpare = 16;
  settings_.connections = std::max(kLeast, settings.connections) + kSpare;
  require_short_socket();
  if (account_ && chown(folder().c_str(), account_->user, account_->group) != 0) {
    refuse("the owner of " + folder().string() + " can't be changed: " + std::strerror(errno) +
           "; name a folder on another disk with folder=");
  }
  create();
  start();
  await_start();
  settings_.interrupted = nullptr;  // it is of the run that needs the server first
}

void PrivateServer::require_uninterrupted() const {
  if (settings_.interrupted && settings_.interrupted()) refuse("interrupted while it was started");
}

std::shared_ptr<PrivateServer> PrivateServer::of_process(const ServerKind& kind,
                                                         const Settings& settings) {
  Servers& servers = Servers::get();
  const std::lock_guard lock(servers.mutex);
  std::erase_if(servers.all, [&](const auto& server) {
    // One with too few connections is replaced; its runs keep it until they end.
    return server->is_like(settings) && !server->serves(settings);
  });
  for (const auto& server : servers.all) {
    if (server->serves(settings)) return server;
  }
  servers.all.push_back(std::make_shared<PrivateServer>(kind, settings));
  return servers.all.back();
}

void PrivateServer::end_all() {
  Servers& servers = Servers::get();
  const std::lock_guard lock(servers.mutex);
  servers.all.clear();
}

bool PrivateServer::is_like(const Settings& settings) const {
  return settings_.place == settings.place && settings_.durability == settings.durability;
}

bool PrivateServer::serves(const Settings& settings) const {
  return owner_ == getpid() && is_like(settings) && settings_.connections >= settings.connections &&
         kind_.answers(folder());
}

void PrivateServer::require_short_socket() const {
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  const std::string path = (folder() / kind_.socket).string();
  if (path.size() <= kMost) return;
  refuse("the socket " + path + " has a path of " + std::to_string(path.size()) +
         " bytes, and the system allows " + std::to_string(kMost) +
         "; name a shorter folder with folder=");
}

void PrivateServer::create() {
  std::vector<std::string> command = kind_.create(folder());
  if (command.empty()) return;
  const std::string name = std::filesystem::path(command.front()).filename().string();
  Child creates(program(std::move(command)));
  constexpr std::chrono::minutes kPatience{5};
  const auto last = std::chrono::steady_clock::now() + kPatience;
  const auto give_up = [&] {
    require_uninterrupted();
    if (std::chrono::steady_clock::now() <= last) return;
    refuse(name + " has not ended after five minutes in " + folder().string() +
           "; name a folder on a faster disk with folder=");
  };
  if (creates.wait(give_up) == 0) return;
  refuse(name + " failed in " + folder().string() + ": " + complaint() +
         "; name a folder with space that the server's user may reach with folder=");
}

void PrivateServer::start() {
  process_.emplace(program(kind_.serve(folder(), settings_.durability, settings_.connections)));
}

void PrivateServer::await_start() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{60};
  constexpr std::chrono::milliseconds kBetweenTries{5};
  const auto last = Clock::now() + kPatience;
  while (!kind_.answers(folder())) {
    if (process_->has_ended() || Clock::now() > last) {
      refuse("the server does not start in " + folder().string() + ": " + complaint() +
             "; name another folder with folder=, or a server with dsn=");
    }
    require_uninterrupted();
    if (kind_.refusal != nullptr) {
      const std::string why = kind_.refusal(folder());
      if (!why.empty()) refuse("the server in " + folder().string() + " can't be used: " + why);
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

Program PrivateServer::program(std::vector<std::string> command) const {
  return {.command = std::move(command),
          .folder = folder().string(),
          .log = log(),
          .without = kind_.without,
          .store = kind_.store,
          .account = account_};
}

std::string PrivateServer::complaint() const {
  std::ifstream file(log());
  std::string last;
  std::string found;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    last = line;
    if (kind_.is_complaint(line)) found = line;
  }
  return found.empty() ? last : found;
}

void PrivateServer::refuse(const std::string& problem) const {
  throw std::runtime_error("store " + std::string(kind_.store) + ": " + problem);
}

}  // namespace heddle::store
