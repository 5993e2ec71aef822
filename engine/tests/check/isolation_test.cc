#include "model/isolation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "check/checker.h"
#include "check/history_builder.h"
#include "model/random.h"

/// Levels weaker than serializability: what they permit, and what they still forbid.
namespace heddle::check {
namespace {

constexpr Row kX{1};
constexpr Row kY{2};
constexpr Row kNew{7};
constexpr Row kOther{8};

/// The first anomaly under a level; empty if there is none.
std::string found(const Story& story, Isolation isolation) {
  const Report report = story.check(isolation);
  return report.anomalies.empty() ? "" : report.anomalies[0].name;
}

void expect_found(const Story& story, const std::string& serializable, const std::string& snapshot,
                  const std::string& read_committed) {
  EXPECT_EQ(found(story, Isolation::serializable), serializable);
  EXPECT_EQ(found(story, Isolation::snapshot), snapshot);
  EXPECT_EQ(found(story, Isolation::read_committed), read_committed);
}

TEST(Isolation, WriteSkewIsPermittedBySnapshots) {
  Story story;
  story.commit(1, {read(kX, 0), read(kY, 0), write(kX, 1)})
      .commit(2, {read(kX, 0), read(kY, 0), write(kY, 1)});
  expect_found(story, "G2-item (write skew)", "", "");
}

TEST(Isolation, PhantomSkewIsPermittedBySnapshots) {
  Story story;
  story.commit(1, {range(7, 8, {}), insert(kNew, 1)}, {1, 5})
      .commit(2, {range(7, 8, {}), insert(kOther, 1)}, {2, 6});
  expect_found(story, "G2 (phantom skew)", "", "");
}

TEST(Isolation, TheReadOnlyAnomalyIsPermittedBySnapshots) {
  // Fekete, O'Neil and O'Neil, 2004: a reader sees the deposit and not the withdrawal, which has
  // not seen the deposit.
  Story story;
  story.commit(1, {read(kX, 0), read(kY, 0), write(kX, 1)})
      .commit(2, {read(kY, 0), write(kY, 1)})
      .commit(3, {read(kX, 0), read(kY, 1)});
  expect_found(story, "G2-item (write skew)", "", "");
}

TEST(Isolation, ALostUpdateIsPermittedByReadCommittedOnly) {
  Story story;
  story.commit(1, {read(kX, 0), write(kX, 1)}).commit(2, {read(kX, 0), write(kX, 2)});
  expect_found(story, "G-single (lost update)", "G-single (lost update)", "");
}

TEST(Isolation, ReadSkewIsPermittedByReadCommittedOnly) {
  Story story;
  story.commit(1, {write(kX, 1), write(kY, 1)}).commit(2, {read(kX, 0), read(kY, 1)});
  expect_found(story, "G-single (read skew)", "G-single (read skew)", "");
}

TEST(Isolation, APhantomIsPermittedByReadCommittedOnly) {
  Story story;
  story.commit(1, {insert(kNew, 1), write(kX, 1)}, {5, 6})
      .commit(2, {range(7, 8, {}), read(kX, 1)}, {4, 9});
  expect_found(story, "G-single (phantom)", "G-single (phantom)", "");
}

TEST(Isolation, TwoAntiDependenciesThatAreNotInARowAreForbiddenToSnapshots) {
  // Both readers see one of the two writers and not the other: no snapshots of one database do.
  Story story;
  story.commit(1, {write(kX, 1)})
      .commit(2, {write(kY, 1)})
      .commit(3, {read(kX, 1), read(kY, 0)})
      .commit(4, {read(kX, 0), read(kY, 1)});
  expect_found(story, "G2 (long fork)", "G2 (long fork)", "");
}

/// Many rows of a range are handled together, by nodes that are no transactions.
Story with_rows(std::uint64_t rows, bool both) {
  Story story;
  Story::Steps first{range(100, 199, {})};
  Story::Steps second{range(200, 299, {})};
  for (std::uint64_t row = 0; row < rows; ++row) {
    first.push_back(insert(Row{200 + row, 200 + row}, 1));
    if (both) second.push_back(insert(Row{100 + row, 100 + row}, 1));
  }
  second.push_back(both ? write(kX, 1) : read(kX, 1));
  if (!both) first.push_back(write(kX, 1));
  return story.commit(1, first, {10, 90}).commit(2, second, {5, 95});
}

TEST(Isolation, PhantomsOfManyRowsAreOfTheirKind) {
  for (const std::uint64_t rows : {1, 15, 16, 40, 99}) {
    SCOPED_TRACE(rows);
    expect_found(with_rows(rows, true), "G2 (phantom skew)", "", "");
    expect_found(with_rows(rows, false), "G-single (phantom)", "G-single (phantom)", "");
  }
}

TEST(Isolation, EveryLevelForbidsCyclesOfDependencies) {
  Story writes;
  writes.commit(1, {write(kX, 1), write(kY, 2)}).commit(2, {write(kY, 1), write(kX, 2)});
  expect_found(writes, "G0 (write cycle)", "G0 (write cycle)", "G0 (write cycle)");
  Story flow;
  flow.commit(1, {write(kX, 1), read(kY, 1)}).commit(2, {write(kY, 1), read(kX, 1)});
  const std::string name = "G1c (circular information flow)";
  expect_found(flow, name, name, name);
}

TEST(Isolation, EveryLevelForbidsAbortedIntermediateAndTornReads) {
  Story aborted;
  aborted.abort(1, 3).commit(2, {dirty_read(kX, 1, 3)});
  expect_found(aborted, "G1a (aborted read)", "G1a (aborted read)", "G1a (aborted read)");
  Story torn;
  torn.commit(1, {write_content(kX, 1, 17)}).commit(2, {read(kX, 1, 18)});
  const std::string name = "torn or mistaken read";
  expect_found(torn, name, name, name);
}

TEST(Isolation, EveryLevelForbidsReadsOfTheFuture) {
  Story story;
  story.commit(1, {write(kX, 1)}, {5, 6}).commit(2, {read(kX, 1)}, {1, 2});
  expect_found(story, "contradiction", "contradiction", "contradiction");
}

TEST(Isolation, TheCycleOfASnapshotNamesItsTransactions) {
  Story story;
  story.commit(1, {read(kX, 0), write(kX, 1)}).commit(2, {read(kX, 0), write(kX, 2)});
  const Report report = story.check(Isolation::snapshot);
  ASSERT_EQ(report.anomalies.size(), 1u);
  for (const char* const line : {"w1:0 --ww rows/1--> w2:0", "w2:0 --rw rows/1--> w1:0"}) {
    EXPECT_NE(report.anomalies[0].text.find(line), std::string::npos) << report.anomalies[0].text;
  }
}

TEST(Isolation, LevelsHaveNames) {
  EXPECT_EQ(isolation_named("snapshot"), Isolation::snapshot);
  EXPECT_EQ(isolation_named("serializable"), Isolation::serializable);
  EXPECT_EQ(isolation_named("read_committed"), Isolation::read_committed);
  EXPECT_THROW((void)isolation_named("repeatable_read"), std::invalid_argument);
}

// ---- against every order ------------------------------------------------------------------------

/// Transactions that read and write rows which exist all the time, with versions drawn at random.
struct Puzzle {
  static constexpr std::size_t kRows = 3;
  struct Transaction {
    std::vector<std::pair<std::size_t, std::uint64_t>> reads;   ///< row, version
    std::vector<std::pair<std::size_t, std::uint64_t>> writes;  ///< each row once
  };
  std::vector<Transaction> transactions;

  explicit Puzzle(std::uint64_t seed) {
    Random random(seed);
    transactions.resize(2 + random.below(4));
    for (std::size_t row = 0; row < kRows; ++row) {
      std::vector<std::size_t> writers;
      for (std::size_t one = 0; one < transactions.size(); ++one) {
        if (random.below(2) == 0) writers.push_back(one);
      }
      for (std::size_t left = writers.size(); left > 1; --left) {
        std::swap(writers[left - 1], writers[random.below(left)]);
      }
      for (std::size_t at = 0; at < writers.size(); ++at) {
        transactions[writers[at]].writes.emplace_back(row, at + 1);
      }
      for (std::size_t one = 0; one < transactions.size(); ++one) {
        const std::uint64_t version = random.below(writers.size() + 1);
        // Its own version is none that it has read.
        const bool own = version > 0 && writers[version - 1] == one;
        if (!own && random.below(2) == 0) transactions[one].reads.emplace_back(row, version);
      }
    }
  }

  [[nodiscard]] Story story() const {
    Story story;
    for (std::uint32_t worker = 0; worker < transactions.size(); ++worker) {
      Story::Steps steps;
      for (const auto& [row, version] : transactions[worker].reads) {
        steps.push_back(read(Row{row + 1, row + 1}, version));
      }
      for (const auto& [row, version] : transactions[worker].writes) {
        steps.push_back(write(Row{row + 1, row + 1}, version));
      }
      story.commit(worker, steps);
    }
    return story;
  }
};

using Rows = std::array<std::uint64_t, Puzzle::kRows>;

/// Whether the transactions can commit in this order, each with reads that the level permits.
bool explains(const Puzzle& puzzle, const std::vector<std::size_t>& order, Isolation isolation) {
  std::vector<Rows> states{Rows{}};  // after 0, 1, 2, ... commits
  for (const std::size_t one : order) {
    const auto& [reads, writes] = puzzle.transactions[one];
    Rows after = states.back();
    for (const auto& [row, version] : writes) {
      if (version != after[row] + 1) return false;
      after[row] = version;
    }
    const auto sees = [&reads = reads](const Rows& state) {
      return std::all_of(reads.begin(), reads.end(),
                         [&](const auto& read) { return state[read.first] == read.second; });
    };
    // No other transaction has written the rows that it writes since its snapshot.
    const auto is_first = [&writes = writes, &states](const Rows& state) {
      return std::all_of(writes.begin(), writes.end(), [&](const auto& write) {
        return state[write.first] == states.back()[write.first];
      });
    };
    bool may = false;
    switch (isolation) {
      case Isolation::serializable: may = sees(states.back()); break;
      case Isolation::snapshot:
        may = std::any_of(states.begin(), states.end(),
                          [&](const Rows& state) { return sees(state) && is_first(state); });
        break;
      case Isolation::read_committed:
        may = std::all_of(reads.begin(), reads.end(), [&](const auto& read) {
          return read.second <= states.back()[read.first];
        });
        break;
    }
    if (!may) return false;
    states.push_back(after);
  }
  return true;
}

bool satisfies(const Puzzle& puzzle, Isolation isolation) {
  std::vector<std::size_t> order(puzzle.transactions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  do {
    if (explains(puzzle, order, isolation)) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

TEST(Isolation, AgreesWithEveryOrderOfCommits) {
  constexpr std::uint64_t kPuzzles = 4'000;
  std::array<std::uint64_t, kIsolationNames.size()> satisfied{};
  for (std::uint64_t seed = 0; seed < kPuzzles; ++seed) {
    const Puzzle puzzle(seed);
    for (std::size_t level = 0; level < satisfied.size(); ++level) {
      const auto isolation = static_cast<Isolation>(level);
      const bool expected = satisfies(puzzle, isolation);
      satisfied[level] += expected ? 1 : 0;
      const Report report = puzzle.story().check(isolation);
      ASSERT_EQ(report.anomalies.empty(), expected)
          << "puzzle " << seed << ", " << kIsolationNames[level] << ": " << report.to_json();
    }
  }
  // There must be many of each kind, or little has been tested.
  EXPECT_GT(satisfied[0], kPuzzles / 50);
  EXPECT_GT(satisfied[1], satisfied[0] + kPuzzles / 200);
  EXPECT_GT(satisfied[2], satisfied[1] + kPuzzles / 50);
  EXPECT_LT(satisfied[2], kPuzzles - kPuzzles / 50);
}

}  // namespace
}  // namespace heddle::check
