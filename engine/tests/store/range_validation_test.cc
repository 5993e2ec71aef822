#include "store/range_validation.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace heddle::store {
namespace {

using Commit = RangeValidation::Commit;
using Ranges = std::vector<ScannedRange>;
using Keys = std::vector<std::string>;

class RangeValidationTest : public testing::Test {
 protected:
  void insert(const std::string& key, bool succeeds = true) {
    const Keys keys{key};
    Commit commit(ranges_, {}, keys);
    EXPECT_TRUE(commit.valid());
    if (succeeds) commit.succeed();
  }
  bool is_valid(const Ranges& scanned) { return Commit(ranges_, scanned, {}).valid(); }

  RangeValidation ranges_;
};

TEST_F(RangeValidationTest, FindsWhatWasInsertedIntoARangeSinceItWasScanned) {
  insert("c");  // seen
  const Ranges scanned{{"b", "d", ranges_.begin_scan()}};
  EXPECT_TRUE(is_valid(scanned));
  insert("a");
  insert("e");
  EXPECT_TRUE(is_valid(scanned)) << "they are outside of the range";
  const Ranges later{{"b", "d", ranges_.begin_scan()}};
  insert("d");
  const Ranges latest{{"b", "d", ranges_.begin_scan()}};
  EXPECT_FALSE(is_valid(scanned)) << "bounds are inclusive";
  EXPECT_FALSE(is_valid(later));
  EXPECT_TRUE(is_valid(latest)) << "seen";
  // What is kept for one scan is kept until it has ended.
  ranges_.end_scan(latest.front().since);
  ranges_.end_scan(scanned.front().since);
  EXPECT_FALSE(is_valid(later));
  ranges_.end_scan(later.front().since);
  const Ranges next{{"b", "d", ranges_.begin_scan()}};
  EXPECT_TRUE(is_valid(next));
  ranges_.end_scan(next.front().since);
}

TEST_F(RangeValidationTest, IgnoresAnInsertThatHasNotCommitted) {
  const Ranges scanned{{"b", "d", ranges_.begin_scan()}};
  insert("c", false);
  EXPECT_TRUE(is_valid(scanned));
}

TEST_F(RangeValidationTest, RefusesARangeIntoWhichAnotherIsCommitting) {
  const Keys keys{"c"};
  const Ranges scanned{{"b", "d", ranges_.begin_scan()}};
  Ranges during;
  {
    Commit inserting(ranges_, {}, keys);
    EXPECT_FALSE(is_valid(scanned));
    // The scan may or may not see the row, which becomes visible now.
    during = {{"b", "d", ranges_.begin_scan()}};
    inserting.succeed();
  }
  EXPECT_FALSE(is_valid(during));
  EXPECT_FALSE(is_valid(scanned));
}

TEST_F(RangeValidationTest, MakesAnInsertWaitForTheRangesThatCommitBeforeIt) {
  const Keys inside{"c"};
  const Ranges scanned{{"b", "d", ranges_.begin_scan()}};
  std::atomic<bool> inserted{false};
  std::thread inserting;
  {
    Commit committing(ranges_, scanned, {});
    ASSERT_TRUE(committing.valid());
    inserting = std::thread([&] {
      Commit commit(ranges_, {}, inside);
      inserted = true;
      commit.succeed();
    });
    insert("a");  // does not wait
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(inserted);
    committing.succeed();
  }
  inserting.join();
  EXPECT_TRUE(inserted);
}

/// Each transaction reads how many rows there are and inserts one of that number: two that saw the
/// same rows would insert the same one.
TEST_F(RangeValidationTest, OrdersTransactionsThatScanAndInsert) {
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::atomic<int> rows{0};
  std::atomic<int> twice{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int done = 0; done < kEach;) {
        const Ranges scanned{{"a", "z", ranges_.begin_scan()}};
        int seen = rows.load();
        const Keys keys{"k"};
        {
          Commit commit(ranges_, scanned, keys);
          if (commit.valid()) {
            std::this_thread::yield();
            if (!rows.compare_exchange_strong(seen, seen + 1)) ++twice;
            commit.succeed();
            ++done;
          }
        }
        ranges_.end_scan(scanned.front().since);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(twice.load(), 0);
  EXPECT_EQ(rows.load(), kThreads * kEach);
}

}  // namespace
}  // namespace heddle::store
