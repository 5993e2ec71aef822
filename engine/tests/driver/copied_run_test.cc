#include "driver/copied_run.h"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

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
  for (const bool check : {false, true}) {
    Json result;
    // On a busy machine the copy may not have got far when it is interrupted.
    for (int patience = 20; patience < 2000; patience *= 4) {
      int asked = 0;
      result = Json::parse(run_on_copy(*session, briefly(1000), check,
                                       [&asked, patience] { return ++asked > patience; }));
      EXPECT_TRUE(result.at("interrupted"));
      if (result.at("commits") > 0) break;
    }
    EXPECT_GT(result.at("commits"), 0);
  }
}

/// Sends the copy a signal, once: the one child of this process that is called as it is (and not
/// the shell that looks for it, hence the brackets).
std::function<bool()> send(const std::string& signal) {
  return [signal, sent = false]() mutable {
    if (!std::exchange(sent, true)) {
      const std::string whom = " -P " + std::to_string(getpid()) + " -f [c]opied_run";
      (void)std::system(("pkill -" + signal + whom).c_str());
    }
    return false;
  };
}

TEST(CopiedRun, IsAnErrorIfItsProcessIsKilled) {
  const auto session = open("virtual", 4);
  EXPECT_THROW((void)run_on_copy(*session, briefly(1000), false, send("KILL")), StuckError);
}

TEST(CopiedRun, IsEndedIfItsTimeStopsAndTheNextOneIsAsEver) {
  const auto session = open("virtual", 4);
  const std::string before = run_on_copy(*session, briefly(), false, kNever);
  RunOptions options = briefly(1000);
  options.watchdog_s = 0.25;
  try {
    (void)run_on_copy(*session, options, false, send("STOP"));
    FAIL() << "it ended";
  } catch (const StuckError& error) {
    EXPECT_NE(std::string(error.what()).find("virtual time has stopped"), std::string::npos);
  }
  EXPECT_EQ(run_on_copy(*session, briefly(), false, kNever), before);
}

RunOptions recorded(double seconds) {
  RunOptions options = briefly(seconds);
  options.history_bytes = std::size_t{256} << 20;
  return options;
}

TEST(CheckedCopy, LeavesTheDatabaseAsItWasAndFindsNothing) {
  const auto session = open("virtual", 4);
  const std::string first = check_on_copy(*session, recorded(0.001), 60, kNever);
  const Json verdict = Json::parse(first);
  EXPECT_TRUE(verdict.at("findings").empty());
  EXPECT_GT(verdict.at("report").at("transactions"), 0);
  EXPECT_EQ(session->grown_bytes(), 0);
  EXPECT_EQ(check_on_copy(*session, recorded(0.001), 60, kNever), first);
}

TEST(CheckedCopy, HasFoundSomethingIfItsProcessDies) {
  const auto session = open("virtual", 4);
  // Not by SIGSEGV, which the sanitizers catch.
  const Json verdict = Json::parse(check_on_copy(*session, recorded(1000), 60, send("ABRT")));
  EXPECT_EQ(verdict.at("findings").at(0), "crashed: its process ended by signal SIGABRT\n");
}

TEST(CheckedCopy, HasFoundSomethingIfItHangs) {
  const auto session = open("virtual", 4);
  const Json verdict = Json::parse(check_on_copy(*session, recorded(1000), 0.25, send("STOP")));
  EXPECT_EQ(verdict.at("findings").at(0), "stuck: virtual time has stopped; the run was ended");
}

TEST(CheckedCopy, IsForOneThreadOnly) {
  const auto session = open("threads", 1);
  EXPECT_THROW((void)check_on_copy(*session, recorded(0.001), 60, kNever), std::invalid_argument);
}

}  // namespace
}  // namespace heddle
