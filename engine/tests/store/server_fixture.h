#pragma once

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "killed/processes.h"
#include "store/opened_stores.h"
#include "store/store_fixture.h"

namespace heddle::store::test {

/// A store that has a server. Its files are in the server's folder.
struct TestedServer {
  const char* store;
  const char* made;  ///< a file or folder that is there once the server has started
  const char* pid;   ///< the file with the server's process, which is gone when it has ended
};

inline constexpr TestedServer kPostgresql{
    .store = "postgresql", .made = "data", .pid = "data/postmaster.pid"};
inline constexpr TestedServer kMariadb{.store = "mariadb", .made = "mariadb.sock", .pid = "pid"};

/// A store with a server.
class ServerFixture : public StoreFixture {
 protected:
  explicit ServerFixture(const TestedServer& tested) : tested_(tested) {}

  void SetUp() override {
    if (const auto why = why_missing(tested_.store)) GTEST_SKIP() << *why;
    open({.durability = Durability::off});
  }
  void open(const StoreSetup& setup, const std::string& place = "") {
    StoreFixture::open(tested_.store, setup, place);
  }

  /// Two transactions that have read the rows 10 and 20.
  struct Pair {
    std::unique_ptr<Connection> one, other;
  };
  Pair begin_two() {
    Pair pair{store_->connect(), store_->connect()};
    for (Connection* client : {pair.one.get(), pair.other.get()}) {
      EXPECT_EQ(client->begin(Access::read_write), Status::ok);
      EXPECT_EQ(get(*client, 10), 100U);
      EXPECT_EQ(get(*client, 20), 200U);
    }
    return pair;
  }

  [[nodiscard]] std::string error_of(const StoreSetup& setup) const {
    try {
      (void)find_store(tested_.store)(setup);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  TestedServer tested_;
};

/// A store with a server in a folder of its own, which a test may stop.
class OwnServerFixture : public ServerFixture {
 protected:
  using ServerFixture::ServerFixture;

  void SetUp() override {
    ServerFixture::SetUp();
    if (IsSkipped()) return;
    place_ = "/tmp/heddle-test-" + std::to_string(getpid());  // short, for the socket
    std::filesystem::create_directory(place_);
    open({.durability = Durability::off}, place_);
    for (const auto& entry : std::filesystem::directory_iterator(place_)) {
      if (std::filesystem::exists(entry.path() / tested_.made)) server_ = entry.path();
    }
    ASSERT_FALSE(server_.empty());
  }
  void TearDown() override {
    if (place_.empty()) return;
    stop_server();
    store_.reset();
    folder_.reset();
    std::filesystem::remove_all(place_);
  }

  [[nodiscard]] pid_t server_process() const {
    pid_t process = 0;
    std::ifstream(server_ / tested_.pid) >> process;
    return process;
  }
  /// Stops the processes of the server, those that it has started after it.
  void silence_server() const {
    const pid_t process = server_process();
    killed::stop(process);
    for (const pid_t each : killed::children_of(process)) killed::stop(each);
  }
  void continue_server() const {
    const pid_t process = server_process();
    ASSERT_EQ(kill(process, SIGCONT), 0);
    for (const pid_t each : killed::children_of(process)) (void)kill(each, SIGCONT);
  }

  void stop_server() const {
    const pid_t process = server_process();
    if (process == 0) return;
    ASSERT_EQ(kill(process, SIGQUIT), 0);
    while (std::filesystem::exists(server_ / tested_.pid)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  std::filesystem::path place_;
  std::filesystem::path server_;
};

}  // namespace heddle::store::test
