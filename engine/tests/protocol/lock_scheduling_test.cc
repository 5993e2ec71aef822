#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lock_steps.h"
#include "model/random.h"
#include "protocol/locking_options.h"
#include "scale.h"

/// Which requests the lock table grants, step by step: that no two conflict, that no transaction
/// waits forever, and who dies.
namespace heddle {
namespace {

using test::LockSteps;
using test::WithFault;
using OptionMaps = std::vector<std::map<std::string, std::string>>;

/// Every conflict rule and grant policy.
OptionMaps every_locking() {
  OptionMaps all{{{"conflict", "wait_die"}}, {{"conflict", "no_wait"}}};
  for (const std::string& grant : grant::Policies::names()) {
    all.push_back({{"conflict", "detect"}, {"grant", grant}});
  }
  for (const std::string grant : {"ldsf", "bldsf", "hldsf"}) {
    all.push_back({{"conflict", "detect"}, {"grant", grant}, {"dependency", "exact"}});
  }
  for (const std::string delay : {"one", "linear"}) {
    all.push_back({{"conflict", "detect"}, {"grant", "bldsf"}, {"delay", delay}});
  }
  for (const std::string& grant : grant::Policies::names()) {
    all.push_back({{"conflict", "detect"}, {"grant", grant}, {"rank", "021"}});
  }
  return all;
}

OptionMaps every_detecting() {
  OptionMaps all = every_locking();
  all.erase(all.begin(), all.begin() + 2);
  return all;
}

std::string words(const testing::TestParamInfo<std::map<std::string, std::string>>& info) {
  std::string text;
  for (const auto& [key, value] : info.param) text += (text.empty() ? "" : "_") + value;
  return text;
}

// ---- random requests ----------------------------------------------------------------------------

/// What is wrong after random requests, upgrades, releases and stops; empty: nothing.
std::string found_in_random_steps(std::uint64_t seed, const LockingOptions& options) {
  constexpr int kSteps = 400;
  Random random(seed);
  const std::size_t records = 1 + random.below(6);
  LockSteps all(2 + random.below(9), records, options);
  const bool detects = options.rule == ConflictRule::detect;
  for (int step = 0; step < kSteps; ++step) {
    const std::size_t number = random.below(all.size());
    LockSteps::Worker& worker = all.worker(number);
    if (!all.runs(number)) {
      if (random.below(40) == 0) all.stop(number);
    } else if (random.below(5) == 0) {
      all.release(number);
      all.begin(number);
    } else {
      const std::size_t record = random.below(records);
      const bool closes = all.would_wait_for_itself(number, record);
      std::optional<LockAnswer> answer;
      if (!all.holds(number, record)) {
        answer = all.ask(number, record, random.below(2) == 0);
      } else {
        for (auto& request : worker.held) {
          if (all.record_of(request) != record || request.exclusive) continue;
          answer = all.ask_upgrade(number, request);
          break;
        }
      }
      if (answer == LockAnswer::dies) all.release(number);
      const bool lost = !all.poll().empty() || answer == LockAnswer::dies;
      if (detects && lost && !closes) return "a victim without a deadlock";
    }
    all.poll();
    if (all.conflicts()) return "two conflicting locks";
    if (all.has_cycle()) return "a deadlock";
  }
  // No more is asked for: those that run release what they hold, until none waits.
  for (std::size_t round = 0; round <= all.size(); ++round) {
    for (std::size_t number = 0; number < all.size(); ++number) {
      if (all.runs(number)) all.release(number);
      all.poll();
      if (all.conflicts()) return "two conflicting locks";
    }
  }
  for (std::size_t number = 0; number < all.size(); ++number) {
    if (!all.runs(number)) return "a request that is never granted";
  }
  return "";
}

class RandomLockSteps : public testing::TestWithParam<std::map<std::string, std::string>> {};

TEST_P(RandomLockSteps, AreRight) {
  const LockingOptions options = LockingOptions::parse(GetParam());
  for (std::uint64_t seed = 0; seed < test::scaled(200); ++seed) {
    ASSERT_EQ(found_in_random_steps(seed, options), "") << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, RandomLockSteps, testing::ValuesIn(every_locking()), words);

class RandomLockStepsWithFault : public testing::TestWithParam<std::map<std::string, std::string>> {
};

TEST_P(RandomLockStepsWithFault, AreWrong) {
  const LockingOptions options = LockingOptions::parse(GetParam());
  for (const auto& [fault, finding] :
       {std::pair{SeededFault::grant_beside_shared, "two conflicting locks"},
        std::pair{SeededFault::skip_cycle_check, "a deadlock"}}) {
    const WithFault seeded(fault);
    std::string found;
    for (std::uint64_t seed = 0; found.empty() && seed < 400; ++seed) {
      found = found_in_random_steps(seed, options);
    }
    EXPECT_EQ(found, finding);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, RandomLockStepsWithFault, testing::ValuesIn(every_detecting()),
                         words);

// ---- starvation ---------------------------------------------------------------------------------

constexpr std::size_t kStreamers = 5;
constexpr std::size_t kStarved = 2 * kStreamers;
constexpr std::size_t kHot = kStreamers;

/// A transaction that holds nothing waits for a hot record, as does an endless stream of others,
/// each of which holds a lock that another waits for. Returns how many of these are granted before
/// it.
/// @param most when to give up
std::size_t grants_before_starved(std::uint64_t seed, const LockingOptions& options, bool exclusive,
                                  std::size_t most) {
  Random random(seed);
  LockSteps steps(2 * kStreamers + 1, kStreamers + 1, options);
  const auto arrive = [&](std::size_t streamer) {
    const std::size_t dependent = kStreamers + streamer;
    steps.begin(streamer);
    steps.begin(dependent);
    steps.ask(streamer, streamer, true);
    steps.ask(dependent, streamer, true);
    steps.ask(streamer, kHot, random.below(2) == 0);
  };
  arrive(0);
  arrive(1);
  steps.begin(kStarved);
  if (steps.ask(kStarved, kHot, exclusive) != LockAnswer::waits) return 0;
  for (std::size_t streamer = 2; streamer < kStreamers; ++streamer) arrive(streamer);
  std::size_t granted = 0;
  while (granted < most) {
    const std::size_t streamer = random.below(kStreamers);
    if (!steps.runs(streamer)) continue;
    ++granted;
    steps.release(streamer);
    steps.poll();
    if (steps.runs(kStarved)) break;
    steps.release(kStreamers + streamer);
    arrive(streamer);
    steps.poll();
    if (steps.runs(kStarved)) break;
  }
  return granted;
}

/// Twice what can be before it: those that waited when it came, and those behind the same barrier.
/// With cats it takes 2 n new waits until it is the first, of n that wait.
constexpr std::size_t kMostBefore = 4 * (2 * kStreamers + 1);

class LockStream : public testing::TestWithParam<std::map<std::string, std::string>> {};

TEST_P(LockStream, StarvesNone) {
  const LockingOptions options = LockingOptions::parse(GetParam());
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const bool exclusive : {false, true}) {
      ASSERT_LE(grants_before_starved(seed, options, exclusive, 2 * kMostBefore), kMostBefore)
          << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, LockStream, testing::ValuesIn(every_detecting()), words);

TEST(LockStreamWithFault, StarvesWithoutABarrier) {
  const WithFault seeded(SeededFault::forget_barrier);
  OptionMaps all;
  for (const std::string grant : {"mlf", "mblf", "ddf", "ldsf", "bldsf", "hldsf"}) {
    all.push_back({{"conflict", "detect"}, {"grant", grant}});
  }
  // The starved transaction is of type 1, as are two of the streamers.
  for (const std::string grant : {"fifo", "vats", "cats"}) {
    all.push_back({{"conflict", "detect"}, {"grant", grant}, {"rank", "202"}});
  }
  for (const auto& each : all) {
    const LockingOptions options = LockingOptions::parse(each);
    std::size_t most = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      most = std::max(most, grants_before_starved(seed, options, true, 2 * kMostBefore));
    }
    EXPECT_GT(most, kMostBefore) << each.at("grant");
  }
}

// ---- ranks -------------------------------------------------------------------------------------

/// Of three that wait for a lock, each of another type, the one of the highest rank is granted it;
/// those that come later wait behind the barrier, whatever their rank.
TEST(LockRank, DecidesBeforeTheGrantPolicy) {
  for (const std::string& grant : grant::Policies::names()) {
    LockSteps steps(
        6, 1, LockingOptions::parse({{"conflict", "detect"}, {"grant", grant}, {"rank", "021"}}));
    steps.ask(3, 0, true);
    for (const std::size_t number : {0, 1, 2}) {
      ASSERT_EQ(steps.ask(number, 0, true), LockAnswer::waits) << grant;
    }
    steps.release(3);
    steps.poll();
    ASSERT_TRUE(steps.runs(1)) << grant;
    ASSERT_EQ(steps.ask(4, 0, true), LockAnswer::waits) << "of the highest rank as well";
    steps.release(1);
    steps.poll();
    ASSERT_TRUE(steps.runs(2)) << grant;
    steps.release(2);
    steps.poll();
    ASSERT_TRUE(steps.runs(0)) << grant;
    ASSERT_FALSE(steps.runs(4)) << grant;
  }
}

TEST(LockRank, NeedsADigitForEachTypeAndDetection) {
  const auto refused = [](const OptionMap& options, int types) -> std::string {
    Signature signature;
    signature.workload = "some";
    signature.types.resize(static_cast<std::size_t>(types));
    try {
      (void)LockingOptions::parse(options, signature);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refused({{"conflict", "detect"}, {"rank", "10"}}, 2), "");
  EXPECT_NE(refused({{"conflict", "detect"}, {"rank", "10"}}, 3).find("3 transaction types"),
            std::string::npos);
  EXPECT_NE(refused({{"conflict", "detect"}, {"rank", "1x"}}, 2).find("a digit for each"),
            std::string::npos);
  EXPECT_NE(refused({{"rank", "10"}}, 2).find("conflict=detect"), std::string::npos);
}

// ---- deadlocks ----------------------------------------------------------------------------------

LockingOptions detecting_fifo() { return LockingOptions::parse({{"conflict", "detect"}}); }

TEST(LockDeadlock, TransactionWithFewestLocksDies) {
  LockSteps steps(2, 5, detecting_fifo());
  for (const std::size_t record : {0, 2, 3}) steps.ask(0, record, true);
  steps.ask(1, 1, true);
  ASSERT_EQ(steps.ask(1, 0, true), LockAnswer::waits);
  EXPECT_EQ(steps.ask(0, 1, true), LockAnswer::waits) << "the other one dies";
  EXPECT_EQ(steps.poll(), std::vector<std::size_t>{1});
  EXPECT_TRUE(steps.runs(0)) << "its lock was released";
}

TEST(LockDeadlock, OfEqualsTheYoungestDies) {
  for (const bool last_is_youngest : {false, true}) {
    LockSteps steps(2, 2, detecting_fifo());
    const std::size_t first = last_is_youngest ? 0 : 1;
    const std::size_t last = 1 - first;
    steps.ask(0, 0, true);
    steps.ask(1, 1, true);
    ASSERT_EQ(steps.ask(first, last, true), LockAnswer::waits);
    const LockAnswer answer = steps.ask(last, first, true);
    EXPECT_EQ(answer, last_is_youngest ? LockAnswer::dies : LockAnswer::waits);
    if (last_is_youngest) continue;
    EXPECT_EQ(steps.poll(), std::vector<std::size_t>{1});
  }
}

/// Two that hold a lock and want to upgrade it wait for each other.
TEST(LockDeadlock, OfTwoUpgradesOneDies) {
  LockSteps steps(2, 1, detecting_fifo());
  steps.ask(0, 0, false);
  steps.ask(1, 0, false);
  ASSERT_EQ(steps.ask_upgrade(0, steps.worker(0).held.front()), LockAnswer::waits);
  EXPECT_EQ(steps.ask_upgrade(1, steps.worker(1).held.front()), LockAnswer::dies);
  EXPECT_TRUE(steps.holds(1, 0)) << "it keeps its shared lock until it releases it";
  EXPECT_FALSE(steps.runs(0));
  steps.release(1);
  steps.poll();
  EXPECT_TRUE(steps.runs(0));
}

/// One that waits for several holders can close several cycles at once.
TEST(LockDeadlock, EveryCycleIsBroken) {
  LockSteps steps(3, 3, detecting_fifo());
  steps.ask(0, 0, false);
  steps.ask(1, 0, false);
  steps.ask(2, 1, true);
  steps.ask(2, 2, true);
  ASSERT_EQ(steps.ask(0, 1, true), LockAnswer::waits);
  ASSERT_EQ(steps.ask(1, 2, true), LockAnswer::waits);
  EXPECT_EQ(steps.ask(2, 0, true), LockAnswer::waits);
  EXPECT_EQ(steps.poll(), (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(steps.runs(2));
}

/// The oldest transaction always has the fewest locks, and dies no more than kMostLosses times.
TEST(LockDeadlock, OldestIsSparedOnceItHasLostOften) {
  LockSteps steps(2, 3, detecting_fifo());
  std::size_t lost = 0;
  for (; lost < 10; ++lost) {
    steps.begin(1);
    steps.ask(0, 0, true);
    steps.ask(1, 1, true);
    steps.ask(1, 2, true);
    ASSERT_EQ(steps.ask(1, 0, true), LockAnswer::waits);
    const LockAnswer answer = steps.ask(0, 1, true);
    if (answer != LockAnswer::dies) break;
    steps.release(0);
    steps.poll();
    steps.release(1);
  }
  EXPECT_EQ(lost, WaitGraph<test::FaultyThreads>::kMostLosses);
  EXPECT_EQ(steps.poll(), std::vector<std::size_t>{1});
}

/// It happens on a record that has left its index and is in use again.
TEST(LockDeadlock, TransactionThatWouldWaitForItselfAloneDies) {
  for (const bool exclusive : {false, true}) {
    LockSteps steps(2, 1, detecting_fifo());
    steps.ask(0, 0, exclusive);
    EXPECT_EQ(steps.ask(0, 0, true), LockAnswer::dies);
    steps.release(0);
    EXPECT_EQ(steps.ask(1, 0, true), LockAnswer::granted);
  }
  LockSteps steps(1, 1, detecting_fifo());
  steps.ask(0, 0, false);
  ASSERT_EQ(steps.ask(0, 0, false), LockAnswer::granted);
  EXPECT_EQ(steps.ask_upgrade(0, steps.worker(0).held.front()), LockAnswer::dies);
}

/// Shared requests behind an exclusive one are granted if that one dies.
TEST(LockDeadlock, ThoseBehindAVictimAreGranted) {
  LockSteps steps(4, 3, detecting_fifo());
  steps.ask(0, 0, false);
  steps.ask(0, 2, true);
  steps.ask(1, 1, true);
  ASSERT_EQ(steps.ask(1, 0, true), LockAnswer::waits);
  ASSERT_EQ(steps.ask(2, 0, false), LockAnswer::waits) << "behind an exclusive request";
  EXPECT_EQ(steps.ask(0, 1, true), LockAnswer::waits);
  EXPECT_EQ(steps.poll(), std::vector<std::size_t>{1});
  EXPECT_TRUE(steps.runs(2));
}

}  // namespace
}  // namespace heddle
