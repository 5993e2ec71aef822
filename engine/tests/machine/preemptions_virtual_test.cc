#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machine/preemptions.h"
#include "machine/shared.h"
#include "machine/virtual.h"

namespace heddle {
namespace {

using M = VirtualMachine;
using Word = Shared<M, std::uint64_t>;
constexpr auto kRelaxed = std::memory_order_relaxed;

/// Whether all cores ended under the script.
bool run(int workers, const Script& script, const std::function<void(int)>& body,
         std::uint64_t most_steps = 100'000) {
  M::resume_at(0);
  return M::run_crew(
      {.workers = workers,
       .machine = {.schedule = {.kind = ScheduleKind::script,
                                .script = script,
                                .most_steps = most_steps}}},
      [&](M::Member& member) { body(member.worker()); }, [] { return true; });
}

/// The core of each step.
std::string order() {
  std::string cores;
  for (const ScriptStep& step : steps_of_last_script()) cores += std::to_string(step.core);
  return cores;
}

/// Each core loads a word `count` times.
std::string loads(int workers, int count, const Script& script) {
  Word word;
  EXPECT_TRUE(run(workers, script, [&](int) {
    for (int i = 0; i < count; ++i) (void)word.load(kRelaxed);
  }));
  return order();
}

TEST(Script, SaysWhenToSwitch) {
  EXPECT_EQ(loads(3, 4, {}), "000011112222");
  EXPECT_EQ(loads(3, 4, {{0, 2}}), "222200001111") << "then the lowest-numbered";
  EXPECT_EQ(loads(3, 4, {{1, 1}, {3, 2}}), "011222200011");
  EXPECT_EQ(loads(3, 4, {{1, 1}, {4, 0}, {5, 1}}), "011101002222") << "the fifth is made by 0";
  EXPECT_EQ(loads(2, 2, {{3, 0}, {9, 1}}), "0011") << "a core that is gone can't go on";
}

TEST(Script, ReportsTheOtherCoresThatCouldHaveRun) {
  ASSERT_EQ(loads(2, 2, {{1, 1}}), "0110");
  const std::vector<ScriptStep> steps{{0b11, 0, true},   // a core had to begin
                                      {0b11, 1, false},  // 0 could have continued
                                      {0b11, 1, false},  // so could it here
                                      {0b01, 0, true}};  // 1 has ended
  EXPECT_EQ(steps_of_last_script(), steps);
}

TEST(Script, ACoreThatSpinsLetsOthersGoOn) {
  Word flag;
  const auto body = [&](int core) {
    if (core == 2) return flag.store(1, kRelaxed);
    for (int spins = 0; flag.load(kRelaxed) == 0;) M::relax(spins);
  };
  EXPECT_TRUE(run(3, {}, body));
  EXPECT_EQ(order(), "01201");
}

TEST(Script, AProgramThatDoesNotEndIsGivenUp) {
  Word never;
  const auto body = [&](int) {
    for (int spins = 0; never.load(kRelaxed) == 0;) M::relax(spins);
  };
  EXPECT_FALSE(run(2, {}, body, 1000));
  EXPECT_EQ(M::left_behind().substr(0, 14), "more than 1000");
  EXPECT_FALSE(run(
      2, {},
      [&](int) {
        while (never.load(kRelaxed) == 0) continue;
      },
      1000));
  EXPECT_EQ(M::left_behind().substr(0, 14), "more than 1000");
}

TEST(Script, TooManyCoresAreRefused) {
  EXPECT_THROW((void)run(65, {}, [](int) {}), std::invalid_argument);
}

/// Preemptions in an order of two cores' steps, `count` each.
int preemptions_of(const std::string& order, int count) {
  int preemptions = 0;
  std::array<int, 2> made{};
  for (std::size_t at = 0; at < order.size(); ++at) {
    const auto core = static_cast<std::size_t>(order[at] - '0');
    if (at > 0 && order[at - 1] != order[at] && made[1 - core] < count) ++preemptions;
    ++made[core];
  }
  return preemptions;
}

/// The number of orders with at most `most` preemptions, by enumeration.
std::uint64_t orders(int count, int most) {
  std::string order = std::string(static_cast<std::size_t>(count), '0') +
                      std::string(static_cast<std::size_t>(count), '1');
  std::uint64_t found = 0;
  do {
    if (preemptions_of(order, count) <= most) ++found;
  } while (std::next_permutation(order.begin(), order.end()));
  return found;
}

TEST(Preemptions, EveryScheduleIsVisitedOnce) {
  constexpr int kCount = 5;
  for (const int most : {0, 1, 2, 3, 100}) {
    SCOPED_TRACE(most);
    std::set<std::string> seen;
    const Explored explored = Preemptions(most).explore([&](const Script& script) {
      const std::string order = loads(2, kCount, script);
      EXPECT_LE(preemptions_of(order, kCount), most);
      EXPECT_TRUE(seen.insert(order).second) << order;
      return true;
    });
    EXPECT_TRUE(explored.all);
    EXPECT_EQ(explored.schedules, orders(kCount, most));
    EXPECT_EQ(explored.schedules, seen.size());
    EXPECT_EQ(explored.steps, explored.schedules * 2 * kCount);
  }
  EXPECT_EQ(orders(kCount, 100), 252U) << "ten over five";
}

TEST(Preemptions, ThreeCores) {
  std::set<std::string> seen;
  const Explored explored = Preemptions(100).explore(
      [&](const Script& script) { return seen.insert(loads(3, 3, script)).second; });
  EXPECT_TRUE(explored.all);
  EXPECT_EQ(explored.schedules, 1680U) << "9! / 3!^3";
}

TEST(Preemptions, GoOnFromAnyScript) {
  std::vector<Script> all;
  (void)Preemptions(2).explore([&](const Script& script) {
    (void)loads(3, 3, script);
    all.push_back(script);
    return true;
  });
  for (std::size_t from = 0; from < all.size(); from += 17) {
    std::vector<Script> rest;
    bool begun = false;
    const Explored explored = Preemptions(2).explore(
        [&](const Script& script) {
          (void)loads(3, 3, script);
          begun = begun || script == all[from];
          if (begun) rest.push_back(script);
          return true;
        },
        all[from]);
    EXPECT_EQ(explored.schedules, all.size() - from);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), all.begin() + static_cast<long>(from)));
  }
  EXPECT_THROW((void)Preemptions(2).explore(
                   [](const Script& script) { return !loads(3, 3, script).empty(); }, {{99, 1}}),
               std::invalid_argument);
}

/// Two cores increment a counter without a lock.
std::uint64_t count_up(const Script& script) {
  Word count;
  EXPECT_TRUE(run(2, script, [&](int) {
    const std::uint64_t seen = count.load(kRelaxed);
    count.store(seen + 1, kRelaxed);
  }));
  return count.peek();
}

TEST(Preemptions, FindALostUpdate) {
  const auto right = [](const Script& script) { return count_up(script) == 2; };
  EXPECT_TRUE(Preemptions(0).explore(right).all);
  const Explored explored = Preemptions(1).explore(right);
  EXPECT_FALSE(explored.all);
  EXPECT_EQ(explored.last, (Script{{0, 1}, {1, 0}})) << "between the load and the store";
  EXPECT_EQ(count_up(explored.last), 1U) << "and again";
}

TEST(Preemptions, AFailingScriptIsShrunk) {
  const auto fails = [](const Script& script) { return count_up(script) == 1; };
  EXPECT_EQ(shrink({{1, 1}, {2, 0}, {3, 1}}, fails), (Script{{1, 1}}));
}

/// Core 0 waits for core 1's word. If careless, core 1 checks too early whether a core waits.
bool waits(bool careless, const Script& script) {
  Word waiting;
  Word word;
  return run(2, script, [&](int core) {
    if (core == 0) {
      waiting.store(1, kRelaxed);
      M::park(word.raw(), 0, 1000);
      return;
    }
    const bool early = careless && waiting.load(kRelaxed) != 0;
    word.store(1, kRelaxed);
    if (careless ? early : waiting.load(kRelaxed) != 0) M::unpark(word.raw());
  });
}

TEST(Preemptions, FindALostWakeUp) {
  EXPECT_TRUE(Preemptions(3).explore([](const Script& one) { return waits(false, one); }).all);
  const auto right = [](const Script& script) { return waits(true, script); };
  EXPECT_TRUE(Preemptions(0).explore(right).all);
  const Explored explored = Preemptions(1).explore(right);
  EXPECT_FALSE(explored.all);
  EXPECT_EQ(M::left_behind(), "core 0 is parked on a word that has changed: its wake-up was lost");
}

/// Two cores take two locks, in the same order or not.
bool takes_both(bool same_order, const Script& script) {
  std::array<Word, 2> locks;
  return run(2, script, [&](int core) {
    for (const int at : {0, 1}) {
      Word& lock = locks[static_cast<std::size_t>(same_order || core == 0 ? at : 1 - at)];
      while (lock.exchange(1, kRelaxed) != 0) M::park(lock.raw(), 1, 1000);
    }
    for (Word& lock : locks) {
      lock.store(0, kRelaxed);
      M::unpark(lock.raw());
    }
  });
}

TEST(Preemptions, FindADeadlock) {
  EXPECT_TRUE(Preemptions(3).explore([](const Script& one) { return takes_both(true, one); }).all);
  const auto right = [](const Script& script) { return takes_both(false, script); };
  EXPECT_TRUE(Preemptions(0).explore(right).all);
  EXPECT_FALSE(Preemptions(1).explore(right).all);
  EXPECT_EQ(M::left_behind(),
            "every core that has not left is parked, and no core is left to wake it");
}

}  // namespace
}  // namespace heddle
