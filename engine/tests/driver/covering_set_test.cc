#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_factory.h"
#include "driver/session_runs.h"
#include "protocol/names.h"

/// The workloads that this build can open. A sanitized build leaves some out (covering_set.cmake):
/// those it has must still run every line that depends on the workload, the protocol or the
/// machine.
namespace heddle {
namespace {

using Names = std::set<std::string>;

/// The workloads that are built for a machine.
Names built_for(const std::string& machine) {
  Names names;
  for (const SessionFactory& factory : session_factories()) {
    if (factory.built && factory.machine == machine) names.insert(std::string(factory.name));
  }
  return names;
}

[[maybe_unused]] Names all_workloads() {
  const auto names = workload_names();
  return {names.begin(), names.end()};
}

[[maybe_unused]] bool includes(const Names& all, const Names& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

TEST(CoveringSet, HasWhatTheBuildIsFor) {
#if defined(__SANITIZE_THREAD__)
  EXPECT_TRUE(includes(built_for("threads"), {"generic", "micro", "tpcc", "ycsb"}));
#elif defined(__SANITIZE_ADDRESS__)
  EXPECT_TRUE(includes(built_for("threads"), {"tpcc", "ycsb"})) << "every kind of storage";
  EXPECT_EQ(built_for("virtual"), all_workloads());
#else
  EXPECT_EQ(built_for("threads"), all_workloads());
  EXPECT_EQ(built_for("virtual"), all_workloads());
#endif
}

TEST(CoveringSet, WhatIsLeftOutSaysSoAndKeepsItsSignature) {
  for (const SessionFactory& factory : session_factories()) {
    if (factory.built) continue;
    const std::string name(factory.name);
    try {
      (void)open_session({{"name", name}}, 1, 1, {.kind = std::string(factory.machine)});
      ADD_FAILURE() << name << " was opened";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("is not built for machine"), std::string::npos)
          << error.what();
    }
  }
}

/// Under every protocol, recorded and not, on at least two workloads with real threads.
TEST(CoveringSet, RunsEveryProtocolWatchedAndNot) {
  const std::map<std::string, OptionMap> workloads{
      {"micro",
       {{"name", "micro"}, {"records", "1000"}, {"hot_records", "8"}, {"own_records", "1000"}}},
      {"ycsb", {{"name", "ycsb"}, {"records", "1000"}, {"index", "ordered"}}}};
  for (const auto& [name, options] : workloads) {
    const auto session = open_session(options, 2, 1);
    for (const std::string& protocol : protocol_names()) {
      if (is_external(protocol)) continue;  // see driver/session_external_test.cc
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 22}) {
        SCOPED_TRACE(name + " under " + protocol + (bytes == 0 ? "" : ", recorded"));
        RunOptions run{.protocol = protocol, .seconds = 0.02, .history_bytes = bytes};
        if (executes_policy(protocol)) run.policy = tables::reckless(session->signature());
        EXPECT_GT(session_runs::run_until(session_runs::has_commits, *session, run).commits, 0U);
      }
    }
    for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
  }
}

}  // namespace
}  // namespace heddle
