#include "check/copied_trial.h"

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "driver/copies.h"
#include "driver/session.h"

/// Runs that are recorded and checked on a copy of the database.
namespace heddle {
namespace {

using Json = nlohmann::json;
using copies::kNever;
using copies::open;

std::function<bool()> send(const std::string& signal) {
  return copies::send(signal, "copied_trial");
}

RunOptions recorded(double seconds) {
  RunOptions options = copies::briefly(seconds);
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
  EXPECT_EQ(verdict.at("findings").at(0),
            "stuck: virtual time has stopped; the run was terminated");
}

TEST(CheckedCopy, IsForOneThreadOnly) {
  const auto session = open("threads", 1);
  EXPECT_THROW((void)check_on_copy(*session, recorded(0.001), 60, kNever), std::invalid_argument);
}

}  // namespace
}  // namespace heddle
