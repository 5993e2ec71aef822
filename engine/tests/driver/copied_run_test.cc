#include "driver/copied_run.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "driver/session.h"
#include "driver/session_runs.h"

/// Runs on a copy of the database.
namespace heddle {
namespace {

using Json = nlohmann::json;

const auto kNever = [] { return false; };

std::unique_ptr<Session> open(const std::string& kind, int cores) {
  MachineOptions machine;
  machine.kind = kind;
  return open_session({{"name", "tpcc"}, {"warehouses", "1"}}, cores, 1, machine);
}

RunOptions briefly(double seconds = 0.001) {
  RunOptions options;
  options.seconds = seconds;
  return options;
}

TEST(CopiedRun, LeavesTheDatabaseAsItWas) {
  const auto session = open("virtual", 8);
  const std::string first = run_on_copy(*session, briefly(), true, kNever);
  EXPECT_GT(Json::parse(first).at("commits"), 0);
  EXPECT_TRUE(Json::parse(first).at("violations").empty());
  EXPECT_EQ(session->grown_bytes(), 0);
  EXPECT_EQ(run_on_copy(*session, briefly(), true, kNever), first);
  EXPECT_EQ(session_runs::run(*session, briefly()).to_json(), first) << "nothing ran before";
  EXPECT_GT(session->grown_bytes(), 0) << "and that was no copy";
}

TEST(CopiedRun, IsForOneThreadOnly) {
  const auto session = open("threads", 1);
  EXPECT_THROW((void)run_on_copy(*session, briefly(), false, kNever), std::invalid_argument);
}

TEST(CopiedRun, SaysWhatWasWrongAsARunDoes) {
  const auto session = open("virtual", 1);
  RunOptions options = briefly();
  options.protocol = "magic";
  try {
    (void)run_on_copy(*session, options, false, kNever);
    FAIL() << "it ran";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("protocol 'magic' is not known"), std::string::npos);
  }
}

TEST(CopiedRun, EndsEarlyWithWhatItHasOnceInterrupted) {
  const auto session = open("virtual", 4);
  int asked = 0;
  const std::string result =
      run_on_copy(*session, briefly(1000), false, [&asked] { return ++asked > 20; });
  EXPECT_TRUE(Json::parse(result).at("interrupted"));
  EXPECT_GT(Json::parse(result).at("commits"), 0);
}

TEST(CopiedRun, IsAnErrorIfItsProcessIsKilled) {
  const auto session = open("virtual", 4);
  std::atomic<bool> over{false};
  // The copy is the one child of this process.
  const auto kill_copy = [&over] {
    if (!over.exchange(true)) {
      (void)std::system(("pkill -KILL -P " + std::to_string(getpid()) + " -f copied_run").c_str());
    }
    return false;
  };
  EXPECT_THROW((void)run_on_copy(*session, briefly(1000), false, kill_copy), StuckError);
}

}  // namespace
}  // namespace heddle
