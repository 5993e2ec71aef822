#include "workload/ycsb.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "alone.h"

namespace heddle {
namespace {

using test::Alone;
using ycsb::Kind;

TEST(Ycsb, EverySizeAndIndexRuns) {
  for (const char* bytes : {"8", "24", "33", "64", "100", "1024", "4096"}) {
    for (const char* index : {"hash", "ordered"}) {
      Alone<Ycsb> ycsb(YcsbOptions::parse(
          {{"records", "500"}, {"record_bytes", bytes}, {"index", index}, {"operations", "7"}}));
      EXPECT_EQ(ycsb.run(500).commits[0], 500);
      EXPECT_TRUE(ycsb.workload().check().empty());
    }
  }
}

TEST(Ycsb, RunsEveryKindOfOperation) {
  Alone<Ycsb> ycsb(YcsbOptions::parse({{"records", "300"},
                                       {"index", "ordered"},
                                       {"read", "20"},
                                       {"rmw", "20"},
                                       {"scan", "20"},
                                       {"insert", "20"},
                                       {"delete", "20"}}));
  EXPECT_EQ(ycsb.run(3000).commits[0], 3000);
  EXPECT_TRUE(ycsb.workload().check().empty());
}

TEST(Ycsb, SharesAreWhatWasAskedFor) {
  Alone<Ycsb> ycsb(YcsbOptions::parse({{"records", "1000"},
                                       {"index", "ordered"},
                                       {"read", "30"},
                                       {"rmw", "40"},
                                       {"scan", "10"},
                                       {"insert", "15"},
                                       {"delete", "5"},
                                       {"scan_length", "6"}}));
  std::map<Kind, int> counts;
  std::set<int> lengths;
  for (int i = 0; i < 1000; ++i) {
    const auto input = ycsb.next();
    ASSERT_EQ(input.count, 16U);
    for (std::uint32_t op = 0; op < input.count; ++op) {
      ++counts[input.operations[op].kind];
      if (input.operations[op].kind == Kind::scan) lengths.insert(input.operations[op].scan_length);
    }
  }
  EXPECT_NEAR(counts[Kind::read], 4800, 350);
  EXPECT_NEAR(counts[Kind::rmw], 6400, 380);
  EXPECT_NEAR(counts[Kind::scan], 1600, 230);
  EXPECT_NEAR(counts[Kind::insert], 2400, 280);
  EXPECT_NEAR(counts[Kind::remove], 800, 170);
  EXPECT_EQ(lengths, (std::set<int>{1, 2, 3, 4, 5, 6}));
}

/// A generator repeats the inputs that were drawn beforehand.
TEST(Ycsb, RepeatsInputsThatWereDrawnBeforehand) {
  Alone<Ycsb> ycsb(YcsbOptions::parse({{"records", "1000"}, {"drawn", "50"}}));
  std::vector<std::uint64_t> keys;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 50; ++i) {
      const auto input = ycsb.next();
      ASSERT_EQ(input.count, 16U);
      for (std::size_t at = 0; at < 16; ++at) {
        const std::uint64_t key = input.operations[at].key.words[0];
        if (round == 0) keys.push_back(key);
        ASSERT_EQ(key, keys[16 * i + at]);
      }
    }
  }
  EXPECT_GT(std::set(keys.begin(), keys.end()).size(), 100U);
  EXPECT_EQ(ycsb.run(200).commits[0], 200);
  EXPECT_TRUE(ycsb.workload().check().empty());
}

TEST(Ycsb, RepeatsNoInserts) {
  EXPECT_THROW(YcsbOptions::parse({{"read", "40"}, {"insert", "10"}, {"drawn", "50"}}),
               std::invalid_argument);
}

TEST(Ycsb, DeletesWhatWasInserted) {
  Alone<Ycsb> ycsb(YcsbOptions::parse(
      {{"records", "1000"}, {"read", "0"}, {"rmw", "0"}, {"insert", "50"}, {"delete", "50"}}));
  std::vector<std::uint64_t> inserted;
  std::size_t deleted = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto input = ycsb.next();
    for (std::uint32_t op = 0; op < input.count; ++op) {
      const std::uint64_t key = input.operations[op].key.words[0];
      if (input.operations[op].kind == Kind::insert) {
        inserted.push_back(key);
      } else {
        ASSERT_EQ(input.operations[op].kind, Kind::remove);
        ASSERT_LT(deleted, inserted.size());
        ASSERT_EQ(key, inserted[deleted++]);
      }
    }
  }
  EXPECT_EQ(std::set<std::uint64_t>(inserted.begin(), inserted.end()).size(), inserted.size());
  EXPECT_LT(inserted.size() - deleted, 3000U);
}

TEST(Ycsb, UpdatesOfATransactionCancelOut) {
  Alone<Ycsb> ycsb(YcsbOptions::parse({{"records", "1000"}, {"operations", "5"}}));
  for (int i = 0; i < 200; ++i) {
    const auto input = ycsb.next();
    int sum = 0;
    for (std::uint32_t op = 0; op < input.count; ++op) {
      if (input.operations[op].kind == Kind::rmw) sum += input.operations[op].change;
    }
    ASSERT_EQ(sum, 0);
  }
}

TEST(Ycsb, CheckSeesALostUpdate) {
  Alone<Ycsb> ycsb(
      YcsbOptions::parse({{"records", "100"}, {"read", "0"}, {"rmw", "100"}, {"operations", "2"}}));
  auto input = ycsb.next();
  input.count = 1;  // the other half of the pair is lost
  EXPECT_EQ(ycsb.execute(input), Outcome::commit);
  EXPECT_EQ(ycsb.workload().check().size(), 1U);
}

/// Rows that a run was stopped before inserting do not exist: deleting them has no effect.
TEST(Ycsb, DeletingMissingRowsIsHarmless) {
  Alone<Ycsb> ycsb(YcsbOptions::parse({{"records", "100"}}));
  auto input = ycsb.next();
  input.count = 1;
  input.operations[0].kind = Kind::remove;
  input.operations[0].key = {{7}};
  EXPECT_EQ(ycsb.execute(input), Outcome::commit);
  EXPECT_TRUE(ycsb.workload().check().empty());
}

}  // namespace
}  // namespace heddle
