#include "protocol/partition_modes.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

constexpr int kSpan = 40;
constexpr int kLimit = 100'000;

/// A partition whose transactions take so long in each mode, a little more or less in turn.
class Partition {
 public:
  Partition(double validated, double locked) : validated_(validated), locked_(locked) {}

  void change(double validated, double locked) {
    validated_ = validated;
    locked_ = locked;
  }

  /// Commits until the mode is another; returns the number of commits, or kLimit.
  int commits_until_change() {
    const bool before = mode.locks();
    for (int commits = 1; commits < kLimit; ++commits) {
      const double ticks = mode.locks() ? locked_ : validated_;
      mode.committed(commits % 2 == 0 ? ticks * 1.2 : ticks * 0.8);
      if (mode.locks() != before) return commits;
    }
    return kLimit;
  }

  PartitionMode mode{kSpan};

 private:
  double validated_;
  double locked_;
};

TEST(PartitionMode, TriesTheOtherModeAndKeepsTheFasterOne) {
  Partition partition(200, 100);
  EXPECT_FALSE(partition.mode.locks()) << "at first";
  EXPECT_EQ(partition.commits_until_change(), kSpan + kSpan / 4);
  ASSERT_TRUE(partition.mode.locks());
  EXPECT_GE(partition.commits_until_change(), 8 * kSpan) << "kept, until the next trial";
  EXPECT_EQ(partition.commits_until_change(), kSpan + kSpan / 4) << "a trial is one span";
  EXPECT_TRUE(partition.mode.locks());
}

TEST(PartitionMode, ReturnsFromTheSlowerOneAndTriesItLessAndLessOften) {
  Partition partition(100, 200);
  (void)partition.commits_until_change();
  int before = 0;
  for (int trial = 0; trial < 4; ++trial) {
    ASSERT_TRUE(partition.mode.locks());
    EXPECT_EQ(partition.commits_until_change(), kSpan + kSpan / 4);
    const int between = partition.commits_until_change();
    EXPECT_GT(between, before);
    before = between;
  }
}

TEST(PartitionMode, ADifferenceWithinTheNoiseChangesNothing) {
  Partition partition(100, 98);
  (void)partition.commits_until_change();
  EXPECT_EQ(partition.commits_until_change(), kSpan + kSpan / 4);
  EXPECT_FALSE(partition.mode.locks());
}

TEST(PartitionMode, ALatencyThatHasChangedBringsATrialAtOnce) {
  Partition partition(100, 200);
  for (int change = 0; change < 8; ++change) (void)partition.commits_until_change();
  ASSERT_FALSE(partition.mode.locks());
  partition.change(400, 200);
  EXPECT_LE(partition.commits_until_change(), 3 * kSpan);
  EXPECT_GE(partition.commits_until_change(), 8 * kSpan) << "locks are faster now, and are kept";
}

}  // namespace
}  // namespace heddle
