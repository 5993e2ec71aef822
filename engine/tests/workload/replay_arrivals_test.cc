#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "program_file.h"
#include "workload/replay.h"
#include "workload/replay/arrivals.h"

namespace heddle {
namespace {

using test::Alone;
using test::ProgramFile;

const std::string kGoods = R"(
  "tables": [{"name": "goods", "rows": 4}],
  "types": [{"name": "look", "accesses": [{"name": "look", "table": 0, "kind": "read"}]}])";

/// One read each, all of them one session's.
ProgramFile program(const std::vector<std::uint64_t>& begins) {
  std::vector<ProgramFile::Transaction> transactions;
  for (const std::uint64_t begin : begins) {
    transactions.push_back({0, 0, {{0, 1}}, false, begin});
  }
  return ProgramFile(kGoods, 1, transactions, {0, 0, 0, 0});
}

ReplayOptions recorded(const ProgramFile& file, const std::string& speed = "1") {
  return ReplayOptions::parse(
      {{"program", file.path()}, {"arrivals", "recorded"}, {"speed", speed}});
}

std::string refusal(const OptionMap& options) {
  try {
    (void)ReplayOptions::parse(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ReplayArrivals, AreThoseRecordedAtTheSpeedAskedFor) {
  const ProgramFile file = program({0, 10, 10, 70});
  Alone<Replay> replay(recorded(file, "2"));
  for (const double us : {0.0, 5.0, 5.0, 35.0}) {
    EXPECT_DOUBLE_EQ(replay.workload().next_arrival_us(0), us);
    (void)replay.next();
  }
}

/// Four in 70 µs are three gaps of 23⅓ µs, and one more is the round.
TEST(ReplayArrivals, ARoundBeginsAMeanGapAfterTheLast) {
  const ProgramFile file = program({0, 10, 10, 70});
  Alone<Replay> replay(recorded(file));
  const double length = 70.0 * 4 / 3;
  for (int round = 0; round < 5; ++round) {
    for (const double us : {0.0, 10.0, 10.0, 70.0}) {
      EXPECT_NEAR(replay.workload().next_arrival_us(0), round * length + us, 1e-9);
      (void)replay.next();
    }
  }
  EXPECT_EQ(replay.workload().begun(), 20.0);
}

TEST(ReplayArrivals, ArrivedCountsThoseBeforeATime) {
  const ProgramFile file = program({0, 3, 3, 4, 40, 41, 41, 90});
  const replay::Arrivals arrivals(std::make_shared<const replay::Program>(file.path()), 0.7);
  for (double us = -3; us < 700; us += 0.37) {
    int before = 0;
    for (std::uint32_t round = 0; round < 8; ++round) {
      for (std::uint32_t i = 0; i < 8; ++i) before += arrivals.at_us({i, round}) < us ? 1 : 0;
    }
    ASSERT_EQ(arrivals.before(us), before) << us;
  }
}

TEST(ReplayArrivals, WhatMakesNoSenseNamesTheSettingAndTheCure) {
  const ProgramFile file = program({0, 10});
  for (const std::string speed : {"0", "-1", "nan", "inf", "1e10", "", "fast"}) {
    const std::string told =
        refusal({{"program", file.path()}, {"arrivals", "recorded"}, {"speed", speed}});
    EXPECT_EQ(told,
              "replay: option 'speed' is '" + speed + "'; allowed: a number from 0.001 to 1e+09");
  }
  EXPECT_NE(refusal({{"program", file.path()}, {"speed", "2"}}).find("add arrivals=recorded"),
            std::string::npos);
  EXPECT_EQ(refusal({{"program", file.path()}, {"arrivals", "poisson"}}),
            "replay: option 'arrivals' is 'poisson'; allowed: one of closed, recorded");
  for (const auto& begins : std::vector<std::vector<std::uint64_t>>{{0}, {0, 0, 0}, {7, 7}}) {
    const ProgramFile at_once = program(begins);
    EXPECT_NE(refusal({{"program", at_once.path()}, {"arrivals", "recorded"}})
                  .find("began at the same moment"),
              std::string::npos);
    EXPECT_EQ(refusal({{"program", at_once.path()}, {"arrivals", "closed"}}), "");
  }
}

TEST(ReplayArrivals, NoTransactionBeginsACenturyLate) {
  constexpr std::uint64_t kLatest = replay::Program::kLatestBegin;
  EXPECT_EQ(refusal({{"program", program({0, kLatest}).path()}}), "");
  EXPECT_NE(refusal({{"program", program({0, kLatest + 1}).path()}}).find("begin[1]: it is more"),
            std::string::npos);
}

/// For every accepted file, times are numbers and never decrease.
TEST(ReplayArrivals, AnyByteMayBeWrong) {
  const ProgramFile file = program({0, 10, 10, 70});
  constexpr std::array kFlips{0x01, 0x10, 0x80, 0xff};
  int replayed = 0;
  for (std::size_t at = file.arrays(); at < file.bytes().size(); ++at) {
    std::string bytes = file.bytes();
    bytes[at] = static_cast<char>(bytes[at] ^ kFlips[at % kFlips.size()]);
    file.write(bytes);
    if (!refusal({{"program", file.path()}, {"arrivals", "recorded"}}).empty()) continue;
    ++replayed;
    for (const std::string speed : {"0.001", "1e9"}) {
      Alone<Replay> replay(recorded(file, speed));
      double before = 0;
      for (int i = 0; i < 12; ++i) {
        const double us = replay.workload().next_arrival_us(0);
        ASSERT_TRUE(std::isfinite(us) && us >= before);
        ASSERT_GE(replay.workload().arrived(us * 1.001 + 1), i);
        (void)replay.next();
        before = us;
      }
    }
  }
  EXPECT_GT(replayed, 10);
}

}  // namespace
}  // namespace heddle
