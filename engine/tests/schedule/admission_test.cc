#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machine/threads.h"
#include "schedule/admission/durations.h"
#include "schedule/admission/frequent_keys.h"
#include "schedule/admission/hot_keys.h"
#include "schedule/admission/key_holds.h"
#include "schedule/admission/key_times.h"
#include "schedule/admission/options.h"
#include "schedule/admission/partition.h"
#include "schedule/admission/probe.h"
#include "schedule/admission/registry.h"

namespace heddle::admission {
namespace {

using Machine = ThreadsMachine;
using Ticks = Machine::Ticks;

Operations operations(std::initializer_list<Operation> all) {
  Operations made;
  for (const Operation& operation : all) made.add(operation);
  return made;
}

Operation reads(std::uint32_t slot, float place = 0) { return {.slot = slot, .place = place}; }
Operation writes(std::uint32_t slot, float place = 0) {
  return {.slot = slot, .place = place, .writes = true};
}

TEST(Durations, AreMovingMeansOfEachType) {
  Durations<Ticks> durations(2);
  EXPECT_EQ(durations.expected(0, 3), 0u);
  durations.ended(0, 2, 800);
  EXPECT_EQ(durations.expected(0, 2), 800u);
  EXPECT_EQ(durations.expected(1, 2), 0u);
  for (const Ticks expected : {700u, 625u, 569u}) {
    durations.ended(0, 2, 400);
    EXPECT_EQ(durations.expected(0, 2), expected);
  }
}

TEST(Durations, AreTheLongerTheMoreKeysAreNamed) {
  Durations<Ticks> durations(1);
  for (int i = 0; i < 100; ++i) {
    durations.ended(0, 2, 200);
    durations.ended(0, 6, 600);
  }
  EXPECT_NEAR(static_cast<double>(durations.expected(0, 1)), 100, 2);
  EXPECT_NEAR(static_cast<double>(durations.expected(0, 60)), 6000, 60);
}

TEST(Durations, OfTransactionsThatNameNothingAreAllAlike) {
  Durations<Ticks> durations(1);
  durations.ended(0, 0, 500);
  EXPECT_EQ(durations.expected(0, 0), 500u);
}

TEST(KeyHolds, ReadersShareAndWritersAreAlone) {
  KeyHolds<Machine> holds;
  const Operations reader = operations({reads(1)});
  const Operations writer = operations({writes(1)});
  EXPECT_TRUE(holds.try_hold(reader));
  EXPECT_TRUE(holds.try_hold(reader));
  EXPECT_FALSE(holds.try_hold(writer));
  EXPECT_TRUE(holds.conflict(writer));
  EXPECT_FALSE(holds.conflict(reader));
  holds.release(reader);
  EXPECT_FALSE(holds.try_hold(writer));
  holds.release(reader);
  EXPECT_TRUE(holds.try_hold(writer));
  EXPECT_FALSE(holds.try_hold(reader));
  EXPECT_FALSE(holds.try_hold(writer));
  holds.release(writer);
  EXPECT_FALSE(holds.conflict(writer));
}

TEST(KeyHolds, ATransactionThatConflictsSomewhereHoldsNothing) {
  KeyHolds<Machine> holds;
  EXPECT_TRUE(holds.try_hold(operations({reads(2)})));
  EXPECT_FALSE(holds.try_hold(operations({writes(1), writes(2)})));
  EXPECT_FALSE(holds.conflict(operations({writes(1)})));
}

TEST(KeyHolds, OneThatBeginsRegardlessIsCounted) {
  KeyHolds<Machine> holds;
  const Operations writer = operations({writes(1)});
  EXPECT_TRUE(holds.try_hold(writer));
  holds.hold(writer);
  holds.release(writer);
  EXPECT_TRUE(holds.conflict(writer));
  holds.release(writer);
  EXPECT_FALSE(holds.conflict(writer));
}

TEST(KeyHolds, NoTwoWritersHoldAKeyAtOnce) {
  KeyHolds<Machine> holds;
  constexpr int kRounds = 20'000;
  int inside = 0;  // guarded by the keys that the two threads hold in opposite orders
  std::vector<std::thread> threads;
  for (const auto& [first, second] : {std::pair{1u, 2u}, std::pair{2u, 1u}}) {
    threads.emplace_back([&holds, &inside, both = operations({writes(first), writes(second)})] {
      for (int round = 0; round < kRounds;) {
        if (!holds.try_hold(both)) {
          std::this_thread::yield();
          continue;
        }
        // The words publish nothing, so the counter needs an order of its own.
        std::atomic_ref counter(inside);
        EXPECT_EQ(counter.fetch_add(1), 0);
        counter.fetch_sub(1);
        holds.release(both);
        ++round;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(holds.conflict(operations({writes(1), writes(2)})));
}

TEST(KeyTimes, ReadersShareAndWritersComeOneAfterTheOther) {
  KeyTimes<Machine> times(Rules::lock);
  EXPECT_EQ(times.place(operations({reads(1)}), 1000, 100), 1000u);
  EXPECT_EQ(times.place(operations({reads(1)}), 1010, 100), 1010u);
  EXPECT_EQ(times.earliest(operations({reads(1)}), 1020, 100), 1020u);
  EXPECT_EQ(times.earliest(operations({writes(1)}), 1020, 100), 1110u);
  EXPECT_EQ(times.place(operations({writes(1)}), 1020, 100), 1110u);
  EXPECT_EQ(times.place(operations({writes(1)}), 1020, 100), 1210u);
  EXPECT_EQ(times.earliest(operations({reads(1)}), 1020, 100), 1310u);
  EXPECT_EQ(times.earliest(operations({reads(2)}), 1020, 100), 1020u);
}

TEST(KeyTimes, AnOperationThatComesLateLetsItsTransactionStartEarly) {
  KeyTimes<Machine> times(Rules::lock);
  (void)times.place(operations({writes(1)}), 1000, 100);
  EXPECT_EQ(times.earliest(operations({writes(1, 0.75F)}), 1000, 100), 1025u);
  EXPECT_EQ(times.earliest(operations({writes(1, 0.75F), reads(1, 0.25F)}), 1000, 100), 1075u);
}

TEST(KeyTimes, ATransactionNeverWaitsForItself) {
  KeyTimes<Machine> times(Rules::lock);
  EXPECT_EQ(times.place(operations({reads(1), writes(2), writes(1, 0.5F), reads(2)}), 1000, 100),
            1000u);
  EXPECT_EQ(times.earliest(operations({reads(1)}), 1000, 100), 1100u);
}

TEST(KeyTimes, AnOptimisticWriterMayOverlapReadersThatEndBeforeIt) {
  KeyTimes<Machine> times(Rules::occ);
  (void)times.place(operations({reads(1)}), 1000, 100);
  // It may commit when they have committed.
  EXPECT_EQ(times.earliest(operations({writes(1)}), 1050, 60), 1050u);
  EXPECT_EQ(times.earliest(operations({writes(1)}), 1010, 60), 1040u);
  // What it reads must be committed.
  (void)times.place(operations({writes(1)}), 1050, 60);
  EXPECT_EQ(times.earliest(operations({writes(1)}), 1050, 60), 1110u);
}

TEST(KeyTimes, WritesThatAreSeenAtOnceDelayOthersBriefly) {
  KeyTimes<Machine> times(Rules::mvtso);
  (void)times.place(operations({writes(1, 0.25F)}), 1000, 80);
  EXPECT_EQ(times.earliest(operations({reads(1, 0)}), 1000, 80), 1030u);
}

TEST(KeyTimes, WorkersThatTakeAKeyAtOnceComeOneAfterTheOther) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2'000;
  KeyTimes<Machine> times(Rules::lock);
  std::vector<std::vector<Ticks>> starts(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&times, &mine = starts[static_cast<std::size_t>(thread)]] {
      for (int i = 0; i < kEach; ++i) {
        mine.push_back(times.place(operations({writes(7)}), 1000, 10));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Ticks> all;
  for (const auto& each : starts) {
    EXPECT_TRUE(std::is_sorted(each.begin(), each.end()));
    all.insert(all.end(), each.begin(), each.end());
  }
  std::sort(all.begin(), all.end());
  // All except the few whose tries were used up.
  const auto distinct = std::unique(all.begin(), all.end()) - all.begin();
  EXPECT_GT(distinct, kThreads * kEach * 9 / 10);
}

TEST(FrequentKeys, TellsHotFromCold) {
  FrequentKeys keys(0.05);
  std::mt19937_64 random(1);
  int hot = 0;
  int wrong = 0;
  for (int transaction = 0; transaction < 4'000; ++transaction) {
    keys.next_transaction();
    if (transaction % 10 == 0) hot += keys.count(0x1234'5678'9abc'def0);
    for (int i = 0; i < 8; ++i) wrong += keys.count(random());
  }
  EXPECT_GT(hot, 380);  // of 400
  EXPECT_LT(wrong, 32);
}

TEST(FrequentKeys, ForgetsWhatIsNamedNoLonger) {
  FrequentKeys keys(0.05);
  for (int transaction = 0; transaction < 1'000; ++transaction) {
    keys.next_transaction();
    (void)keys.count(42);
  }
  EXPECT_TRUE(keys.count(42));
  for (int transaction = 0; transaction < 100'000; ++transaction) keys.next_transaction();
  EXPECT_FALSE(keys.count(42));
}

TEST(FrequentKeys, WithoutAShareEveryKeyIsHot) { EXPECT_TRUE(FrequentKeys(0).count(1)); }

Options options(const OptionMap& given) { return Options::parse(given); }

void expect_refused(const OptionMap& given, const std::string& part) {
  try {
    (void)options(given);
    FAIL() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(AdmissionOptions, NamesWhatIsWrong) {
  expect_refused({{"policy", "lifo"}}, "option 'policy' is 'lifo'; allowed: one of fifo, smf");
  expect_refused({{"window", "0"}}, "option 'window' is '0'; allowed: an integer from 1 to 64");
  expect_refused({{"hot", "1.5"}}, "option 'hot'");
  expect_refused({{"defer", "nan"}}, "option 'defer'");
  expect_refused({{"probe_us", "-1"}}, "option 'probe_us'");
  expect_refused({{"windwo", "3"}}, "unknown option 'windwo'");
}

TEST(AdmissionOptions, AreReadBack) {
  const Options read =
      options({{"policy", "smf"}, {"k", "0"}, {"rules", "lock"}, {"unscheduled", "a,b"}});
  EXPECT_EQ(options(read.to_map()).to_map(), read.to_map());
  EXPECT_EQ(read.rules, Rules::lock);
  EXPECT_EQ(read.unscheduled, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(read.schedules());
  EXPECT_FALSE(options({}).schedules());
}

TEST(AdmissionOptions, WhatIsSeenBeforeTheCommitIsWaitedForAllTheSame) {
  EXPECT_EQ(rules_of("two_phase_locking"), Rules::lock);
  for (const char* protocol : {"silo", "policy_table", "mvto", "mvschedo"}) {
    EXPECT_EQ(rules_of(protocol), Rules::occ) << protocol;
  }
}

TEST(AdmissionOptions, InFrontOfAStoreOnlyACommitEndsAConflict) {
  EXPECT_EQ(until_of("external"), Until::committed);
  EXPECT_EQ(until_of("two_phase_locking"), Until::expected);
  expect_refused({{"until", "later"}},
                 "option 'until' is 'later'; allowed: one of auto, expected, committed");
}

/// A policy and transactions for it.
struct Waiting {
  explicit Waiting(const OptionMap& given, std::uint64_t seed = 1)
      : options(with_lock_rules(given)),
        keys(options),
        policy(make_policy<Machine>(options, keys, Random::stream(seed, 0))) {}

  void add(const Operations& of) { candidates.push_back({of, 100}); }

  Choice<Machine> choose(bool forced, Ticks now) {
    std::vector<const Candidate<Machine>*> all;
    for (const auto& candidate : candidates) all.push_back(&candidate);
    return policy->choose(all, forced, now);
  }

  static Options with_lock_rules(const OptionMap& given) {
    Options parsed = Options::parse(given);
    parsed.rules = Rules::lock;
    return parsed;
  }

  Options options;
  HotKeys<Machine> keys;
  std::unique_ptr<Policy<Machine>> policy;
  std::vector<Candidate<Machine>> candidates;
};

TEST(Smf, TakesTheTransactionThatHasToWaitLeast) {
  Waiting waiting({{"policy", "smf"}, {"k", "0"}});
  waiting.keys.times.note(operations({writes(1)}), 1000, 100);
  waiting.keys.times.note(operations({writes(2)}), 1000, 50);
  waiting.add(operations({writes(1)}));
  waiting.add(operations({writes(2)}));
  waiting.add(operations({writes(1), reads(3)}));
  const auto choice = waiting.choose(false, 1000);
  EXPECT_EQ(choice.index, 1u);
  EXPECT_EQ(choice.start, 1050u);
  // The schedule has it now.
  EXPECT_EQ(waiting.keys.times.earliest(operations({reads(2)}), 1000, 100), 1150u);
}

TEST(Smf, OfEqualsTheOldestGoes) {
  Waiting waiting(OptionMap{{"policy", "smf"}});
  for (std::uint32_t slot = 1; slot < 6; ++slot) waiting.add(operations({reads(slot)}));
  EXPECT_EQ(waiting.choose(false, 1000).index, 0u);
}

TEST(Smf, WhatHasBeenOvertakenOftenEnoughGoes) {
  Waiting waiting({{"policy", "smf"}, {"k", "0"}});
  waiting.keys.times.note(operations({writes(1)}), 1000, 100);
  waiting.add(operations({writes(1)}));
  waiting.add(operations({writes(2)}));
  const auto choice = waiting.choose(true, 1000);
  EXPECT_EQ(choice.index, 0u);
  EXPECT_EQ(choice.start, 1100u);
}

TEST(Smf, ComparesOnlyItsSamples) {
  // One of eight could start; of two samples one is the oldest, so one draw in seven finds it.
  int found = 0;
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    Waiting waiting({{"policy", "smf"}, {"k", "2"}}, seed);
    waiting.keys.times.note(operations({writes(1)}), 1000, 100);
    for (int i = 0; i < 7; ++i) waiting.add(operations({writes(1)}));
    waiting.add(operations({writes(2)}));
    found += waiting.choose(false, 1000).start == 1000;
  }
  EXPECT_GT(found, 60);
  EXPECT_LT(found, 150);
}

TEST(SmfByCommits, StartsWhatConflictsWithNothingThatHasNotCommitted) {
  Waiting waiting({{"policy", "smf"}, {"k", "0"}, {"until", "committed"}});
  waiting.add(operations({writes(1)}));
  waiting.add(operations({writes(1), reads(3)}));
  waiting.add(operations({writes(2)}));
  EXPECT_EQ(waiting.choose(false, 1000).index, 0u);
  const Candidate<Machine> first = waiting.candidates.front();
  waiting.candidates.erase(waiting.candidates.begin());
  // However long that takes.
  EXPECT_EQ(waiting.choose(false, 1'000'000).index, 1u);
  waiting.candidates.pop_back();
  const auto none = waiting.choose(false, 1'000'000);
  EXPECT_EQ(none.index, Choice<Machine>::kNone);
  EXPECT_GT(none.start, 1'000'000u);
  EXPECT_LT(none.start, 1'000'100u);
  // An abort does not give the keys back.
  EXPECT_EQ(waiting.policy->again(first, 1'000'010), 1'000'010u);
  EXPECT_EQ(waiting.choose(false, 1'000'020).index, Choice<Machine>::kNone);
  waiting.policy->ended(first);
  EXPECT_EQ(waiting.choose(false, 1'000'030).index, 0u);
}

TEST(SmfByCommits, WhatHasBeenOvertakenOftenEnoughIsTheOnlyChoice) {
  Waiting waiting({{"policy", "smf"}, {"k", "0"}, {"until", "committed"}});
  waiting.keys.holds.hold(operations({writes(1)}));
  waiting.add(operations({writes(1)}));
  waiting.add(operations({writes(2)}));
  EXPECT_EQ(waiting.choose(true, 1000).index, Choice<Machine>::kNone);
  EXPECT_EQ(waiting.choose(false, 1000).index, 1u);
}

TEST(SmfByCommits, NothingWaitsForEver) {
  Waiting waiting({{"policy", "smf"}, {"until", "committed"}});
  waiting.keys.holds.hold(operations({writes(1)}));
  waiting.add(operations({writes(1)}));
  Ticks now = 1000;
  int looks = 0;
  for (auto choice = waiting.choose(false, now); choice.index == Choice<Machine>::kNone; ++looks) {
    ASSERT_LT(looks, 1000);
    now = choice.start;
    choice = waiting.choose(false, now);
  }
  EXPECT_GE(now, 1000u + 16 * 100);
  EXPECT_LT(now, 1000u + 17 * 100);
  // It holds its keys like any other.
  waiting.keys.holds.release(operations({writes(1)}));
  EXPECT_TRUE(waiting.keys.holds.conflict(operations({writes(1)})));
  waiting.policy->ended(waiting.candidates.front());
  EXPECT_FALSE(waiting.keys.holds.conflict(operations({writes(1)})));
}

TEST(TsDefer, PutsOffUntilTheCommitIfTold) {
  Waiting waiting({{"policy", "tsdefer"}, {"defer", "1"}, {"until", "committed"}});
  const Operations running = operations({writes(1)});
  waiting.keys.holds.hold(running);
  waiting.add(operations({reads(1)}));
  waiting.add(operations({writes(2)}));
  EXPECT_EQ(waiting.choose(false, 1'000'000).index, 1u);
  waiting.keys.holds.release(running);
  EXPECT_EQ(waiting.choose(false, 1'000'000).index, 0u);
}

TEST(TsDefer, PutsOffWhatMeetsARunningTransaction) {
  Waiting waiting({{"policy", "tsdefer"}, {"defer", "1"}});
  waiting.keys.times.note(operations({writes(1)}), 1000, 100);
  waiting.add(operations({writes(1)}));
  waiting.add(operations({reads(1)}));
  waiting.add(operations({writes(2)}));
  const auto choice = waiting.choose(false, 1000);
  EXPECT_EQ(choice.index, 2u);
  EXPECT_EQ(choice.start, 1000u);
  EXPECT_EQ(choice.deferred, 2u);
  // Slot 2 is taken now, so all are put off: the oldest goes, and at once.
  const auto next = waiting.choose(false, 1000);
  EXPECT_EQ(next.index, 0u);
  EXPECT_EQ(next.start, 1000u);
}

TEST(TsDefer, PutsOffWithTheProbabilityGiven) {
  int deferred = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    Waiting waiting({{"policy", "tsdefer"}, {"defer", "0.6"}}, seed);
    waiting.keys.times.note(operations({writes(1)}), 1000, 100);
    waiting.add(operations({writes(1)}));
    waiting.add(operations({writes(2)}));
    deferred += waiting.choose(false, 1000).index == 1;
  }
  EXPECT_GT(deferred, 540);
  EXPECT_LT(deferred, 660);
}

/// The share of a worker's transactions that are scheduled, of those that begin between two times;
/// one takes `scheduled` or `drawn` ticks.
double scheduled_share(Probe<Machine>& probe, Ticks from, Ticks to, Ticks scheduled, Ticks drawn) {
  int count = 0;
  int begun = 0;
  for (Ticks now = from; now < to; ++begun) {
    const bool is_scheduled = probe.schedules(now);
    count += is_scheduled ? 1 : 0;
    probe.began();
    now += is_scheduled ? scheduled : drawn;
  }
  return static_cast<double>(count) / begun;
}

constexpr Ticks kSpan = 1000;
constexpr Ticks kRound = kSpan * Round::kLeast;

TEST(Probe, DoesWhatHasPaid) {
  ProbeCounts<Machine> counts;
  Probe<Machine> probe(counts, kSpan);
  (void)scheduled_share(probe, 0, kRound, 10, 20);
  EXPECT_GT(scheduled_share(probe, kRound, 8 * kRound, 10, 20), 0.95);
  // Conflicts become few: it detects that within some rounds …
  (void)scheduled_share(probe, 8 * kRound, 16 * kRound, 20, 10);
  // … and then loses the one span in which it tests whether that is still so.
  EXPECT_LT(scheduled_share(probe, 16 * kRound, 24 * kRound, 20, 10), 0.05);
  (void)scheduled_share(probe, 24 * kRound, 32 * kRound, 10, 20);
  EXPECT_GT(scheduled_share(probe, 32 * kRound, 40 * kRound, 10, 20), 0.95);
}

TEST(Probe, TestsLessOftenTheLongerTheResultIsTheSame) {
  ProbeCounts<Machine> counts;
  Probe<Machine> probe(counts, kSpan);
  // Of short rounds a span of 16 is lost, and of the longest one of 128.
  (void)scheduled_share(probe, 0, kRound, 20, 10);
  const double at_first = scheduled_share(probe, kRound, 4 * kRound, 20, 10);
  EXPECT_NEAR(at_first, 0.5 / 15.5, 0.001);
  constexpr Ticks kLongest = kRound << Round::kMost;
  Ticks now = 5 * kRound + 4 * (2 + 4) * kRound;
  (void)scheduled_share(probe, 4 * kRound, now, 20, 10);
  const double in_the_end = scheduled_share(probe, now, now + 10 * kLongest, 20, 10);
  EXPECT_NEAR(in_the_end, 0.5 / 127.5, 0.001);
  // And it returns to short rounds once the result changes.
  now += 10 * kLongest;
  (void)scheduled_share(probe, now, now + 3 * kLongest, 10, 20);
  now += 3 * kLongest;
  EXPECT_NEAR(scheduled_share(probe, now, now + 4 * kRound, 10, 20), 1 - 0.5 / 15.5, 0.01);
}

TEST(Probe, ARoundWithoutABeginIsSkipped) {
  ProbeCounts<Machine> counts;
  Probe<Machine> probe(counts, kSpan);
  (void)scheduled_share(probe, 0, 2 * kRound, 20, 10);
  // All sleep, into the middle of another: nothing is measured until the next begins.
  EXPECT_FALSE(probe.schedules(9 * kRound + 8 * kSpan));
  EXPECT_FALSE(probe.measures());
  EXPECT_EQ(probe.waits_until(), 10 * kRound + kSpan);
  EXPECT_TRUE(probe.schedules(10 * kRound));
  EXPECT_TRUE(probe.measures());
}

TEST(Probe, AWorkerWithATimeBeforeTheRoundDoesNotMeasure) {
  ProbeCounts<Machine> counts;
  Probe<Machine> one(counts, kSpan);
  Probe<Machine> late(counts, kSpan);
  (void)one.schedules(5 * kRound);
  (void)late.schedules(5 * kRound - 1);
  EXPECT_FALSE(late.measures());
  EXPECT_EQ(late.waits_until(), 6 * kRound + kSpan);
}

TEST(Round, IsAWord) {
  const Round round{
      .start = 123'456'789'016, .alike = Round::kMost * Round::kPatience, .schedules = false};
  const Round read = Round::unpack(round.pack());
  EXPECT_EQ(read.start, round.start);
  EXPECT_EQ(read.alike, round.alike);
  EXPECT_EQ(read.schedules, round.schedules);
  EXPECT_EQ(read.spans(), Round::kLeast << Round::kMost);
}

TEST(Probe, WorkersDecideTogether) {
  ProbeCounts<Machine> counts;
  Probe<Machine> one(counts, kSpan);
  Probe<Machine> other(counts, kSpan);
  // One worker's gain is the smaller: both turn scheduling off.
  for (Ticks round = 0; round < 8; ++round) {
    const Ticks from = round * kRound;
    const bool known = round > 0;
    const double mine = scheduled_share(one, from, from + kRound, 10, 11);
    const double others = scheduled_share(other, from, from + kRound, 20, 10);
    if (!known) continue;
    EXPECT_LT(mine, 0.15);
    EXPECT_LT(others, 0.15);
  }
}

TEST(Probe, AllMeasureAndChangeAtTheSameTime) {
  ProbeCounts<Machine> counts;
  Probe<Machine> one(counts, kSpan);
  Probe<Machine> other(counts, kSpan);
  for (Ticks now = 0; now < 3 * kRound; now += 7) {
    const bool scheduled = one.schedules(now);
    EXPECT_EQ(other.schedules(now), scheduled);
    EXPECT_EQ(one.measures(), now / kSpan % Round::kLeast < 2);
    if (!one.measures()) continue;
    EXPECT_EQ(scheduled, now / kSpan % Round::kLeast == 0);
  }
}

TEST(Probe, NoneIsDelayedIntoASpanThatMeasuresDrawing) {
  ProbeCounts<Machine> counts;
  Probe<Machine> probe(counts, kSpan);
  (void)probe.schedules(kSpan / 2);
  EXPECT_EQ(probe.waits_until(), kSpan);
  (void)probe.schedules(5 * kSpan);
  EXPECT_EQ(probe.waits_until(), kRound + kSpan);
  (void)probe.schedules(kRound + 1);
  EXPECT_EQ(probe.waits_until(), kRound + kSpan);
  Probe<Machine> granted(counts, 0);
  (void)granted.schedules(kSpan / 2);
  EXPECT_GT(granted.waits_until(), 1000 * kRound);
}

TEST(Probe, WithoutSpansEverythingIsScheduled) {
  ProbeCounts<Machine> counts;
  Probe<Machine> probe(counts, 0);
  EXPECT_EQ(scheduled_share(probe, 0, kRound, 20, 10), 1.0);
}

TEST(Partition, AKeyHasOneOwner) {
  for (std::uint32_t slot = 0; slot < 100; ++slot) {
    const int owner = Partition::owner(operations({writes(slot), writes(5)}), 7);
    EXPECT_EQ(owner, Partition::owner(operations({reads(slot, 0.5F)}), 7));
    EXPECT_GE(owner, 0);
    EXPECT_LT(owner, 7);
  }
}

}  // namespace
}  // namespace heddle::admission
