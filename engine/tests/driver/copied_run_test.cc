#include "driver/copied_run.h"

#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "driver/copies.h"
#include "driver/session.h"
#include "driver/session_runs.h"

/// Runs on a copy of the database.
namespace heddle {
namespace {

using Json = nlohmann::json;
using copies::briefly;
using copies::kNever;
using copies::open;

std::function<bool()> send(const std::string& signal) { return copies::send(signal, "copied_run"); }

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
    // On a busy machine the copy may not have made much progress when it is interrupted.
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

}  // namespace
}  // namespace heddle
