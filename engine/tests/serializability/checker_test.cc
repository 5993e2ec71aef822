#include "serializability/checker.h"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "serializability/history.h"
#include "workload/random.h"

namespace heddle::serializability {
namespace {

constexpr std::uint32_t kX = 0;
constexpr std::uint32_t kY = 1;
constexpr std::uint32_t kNew = 9;  // not populated

constexpr Item item(std::uint32_t key) { return Item::of(0, key, 0); }
constexpr VersionId loaded() { return make_version(kLoader, 0, 1); }
/// The `number`-th version that attempt `sequence` of `client` wrote.
constexpr VersionId version(std::uint32_t client, std::uint64_t sequence,
                            std::uint32_t number = 1) {
  return make_version(client, sequence, number);
}

Operation read(std::uint32_t key, VersionId seen, VersionId replaced = kNothing,
               std::uint64_t stamp = 7) {
  return {
      .step = Step::read, .item = item(key), .version = seen, .replaced = replaced, .stamp = stamp};
}
Operation missed(std::uint32_t key, bool by_scan = false) {
  return {.step = Step::missed, .by_scan = by_scan, .item = item(key)};
}
Operation write(std::uint32_t key, VersionId written, VersionId replaced) {
  return {.step = Step::write, .item = item(key), .version = written, .replaced = replaced};
}
Operation remove(std::uint32_t key, VersionId replaced) {
  return {.step = Step::remove, .item = item(key), .replaced = replaced};
}

/// A history by hand. X and Y are populated; clients count from 1.
class Story {
 public:
  explicit Story(std::uint32_t clients = 4) : history_(clients + 1) {
    add(history_[kLoader], {.client = kLoader, .sequence = 0, .began = 0, .ended = 0},
        {write(kX, loaded(), kNothing), write(kY, loaded(), kNothing)});
  }

  /// @param began, ended of the clock; all at once unless given
  Story& commit(std::uint32_t client, std::uint64_t sequence,
                std::initializer_list<Operation> steps, std::uint64_t began = 0,
                std::uint64_t ended = 1000) {
    add(history_[client], {.client = client, .sequence = sequence, .began = began, .ended = ended},
        steps);
    return *this;
  }
  Story& roll_back(std::uint32_t client, std::uint64_t sequence,
                   std::initializer_list<Operation> steps) {
    add(history_[client],
        {.client = client, .sequence = sequence, .began = 0, .ended = 1000, .committed = false},
        steps);
    return *this;
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Anomaly& anomaly : Checker(history_).run()) names.push_back(anomaly.name);
    return names;
  }
  [[nodiscard]] const History& history() const { return history_; }

 private:
  static void add(ClientLog& log, Transaction transaction, std::initializer_list<Operation> steps) {
    log.add(transaction, std::span(steps.begin(), steps.size()));
  }
  History history_;
};

using Names = std::vector<std::string>;

TEST(Checker, AcceptsWhatASerialRunLeaves) {
  Story story;
  story.commit(1, 1, {read(kX, loaded()), write(kX, version(1, 1), loaded())}, 1, 2)
      .commit(2, 1, {read(kX, version(1, 1), loaded()), write(kX, version(2, 1), version(1, 1))}, 3,
              4)
      .commit(1, 2, {missed(kNew), write(kNew, version(1, 2), kNothing)}, 5, 6)
      .commit(2, 2, {read(kNew, version(1, 2)), remove(kNew, version(1, 2))}, 7, 8)
      .commit(3, 1, {missed(kNew), read(kX, version(2, 1), version(1, 1))}, 9, 10);
  EXPECT_EQ(story.names(), Names{});
}

TEST(Checker, AcceptsOrdersOtherThanTheClocks) {
  // Client 2 reads what was before client 1 although it ended later: serializable all the same.
  Story story;
  story.commit(1, 1, {write(kX, version(1, 1), loaded())}, 1, 2)
      .commit(2, 1, {read(kX, loaded()), write(kY, version(2, 1), loaded())}, 3, 4);
  EXPECT_EQ(story.names(), Names{});
}

TEST(Checker, FindsALostUpdate) {
  Story story;
  story.commit(1, 1, {read(kX, loaded()), write(kX, version(1, 1), loaded())})
      .commit(2, 1, {read(kX, loaded()), write(kX, version(2, 1), loaded())});
  EXPECT_EQ(story.names().front(), "lost update (G-single)");
}

TEST(Checker, FindsWriteSkew) {
  Story story;
  story.commit(1, 1, {read(kX, loaded()), read(kY, loaded()), write(kX, version(1, 1), loaded())})
      .commit(2, 1, {read(kX, loaded()), read(kY, loaded()), write(kY, version(2, 1), loaded())});
  EXPECT_EQ(story.names(), Names{"G2-item (write skew)"});
}

TEST(Checker, FindsAReadOfAnAbortedVersion) {
  Story never_ended;
  never_ended.commit(2, 1, {read(kX, version(1, 1), loaded())});
  EXPECT_EQ(never_ended.names(), Names{"G1a aborted read"});

  Story rolled_back;
  rolled_back.roll_back(1, 1, {write(kX, version(1, 1), loaded())})
      .commit(2, 1, {read(kX, version(1, 1), loaded())});
  EXPECT_EQ(rolled_back.names(), Names{"G1a aborted read"});

  Story over_it;
  over_it.commit(2, 1, {write(kX, version(2, 1), version(1, 1))});
  EXPECT_EQ(over_it.names(), Names{"G1a aborted read"});
}

TEST(Checker, FindsAReadOfAnIntermediateVersion) {
  Story story;
  story
      .commit(
          1, 1,
          {write(kX, version(1, 1, 1), loaded()), write(kX, version(1, 1, 2), version(1, 1, 1))})
      .commit(2, 1, {read(kX, version(1, 1, 1), loaded())});
  EXPECT_EQ(story.names(), Names{"G1b intermediate read"});
}

TEST(Checker, FindsCircularInformationFlow) {
  Story story;
  story.commit(1, 1, {write(kX, version(1, 1), loaded()), read(kY, version(2, 1), loaded())})
      .commit(2, 1, {write(kY, version(2, 1), loaded()), read(kX, version(1, 1), loaded())});
  EXPECT_EQ(story.names(), Names{"G1c circular information flow"});
}

TEST(Checker, FindsAWriteCycle) {
  Story story;
  story.commit(1, 1, {write(kX, version(1, 1), loaded()), write(kY, version(1, 1), version(2, 1))})
      .commit(2, 1, {write(kY, version(2, 1), loaded()), write(kX, version(2, 1), version(1, 1))});
  EXPECT_EQ(story.names(), Names{"G0 write cycle"});
}

TEST(Checker, FindsANonRepeatableRead) {
  Story story;
  story.commit(1, 1, {write(kX, version(1, 1), loaded())})
      .commit(2, 1, {read(kX, loaded()), read(kX, version(1, 1), loaded())});
  EXPECT_EQ(story.names(), Names{"G-single (read skew)"});
}

TEST(Checker, FindsReadSkewOfARollback) {
  Story story;
  story.commit(1, 1, {write(kX, version(1, 1), loaded()), write(kY, version(1, 1), loaded())})
      .roll_back(2, 1, {read(kX, loaded()), read(kY, version(1, 1), loaded())});
  EXPECT_EQ(story.names(), Names{"G-single (read skew)"});
}

TEST(Checker, FindsAPhantom) {
  Story story;
  story.commit(1, 1, {write(kNew, version(1, 1), kNothing), write(kX, version(1, 1), loaded())})
      .commit(2, 1, {missed(kNew, true), read(kX, version(1, 1), loaded())});
  EXPECT_EQ(story.names(), Names{"G-single (phantom)"});
}

TEST(Checker, FindsInsertsThatEachLookedForTheOther) {
  Story story;
  story.commit(1, 1, {missed(8, true), write(9, version(1, 1), kNothing)})
      .commit(2, 1, {missed(9, true), write(8, version(2, 1), kNothing)});
  EXPECT_EQ(story.names(), Names{"G2 (phantom skew)"});
}

TEST(Checker, FindsARowMissedThatWasThereThroughout) {
  Story story;
  story.commit(1, 1, {write(kNew, version(1, 1), kNothing)}, 1, 2)
      .commit(2, 1, {missed(kNew)}, 3, 4)
      .commit(3, 1, {remove(kNew, version(1, 1))}, 5, 6);
  EXPECT_EQ(story.names(), Names{"missed a row that was there throughout"});
}

TEST(Checker, FindsARowInsertedTwice) {
  Story story;
  story.commit(1, 1, {write(kNew, version(1, 1), kNothing)}, 1, 2)
      .commit(2, 1, {write(kNew, version(2, 1), kNothing)}, 3, 4);
  EXPECT_EQ(story.names(), Names{"inserted twice"});
}

/// A row that came, and went again, while client 3 ran: which absence it saw only the rest tells.
Story in_doubt() {
  Story story;
  story
      .commit(1, 1, {write(kNew, version(1, 1), kNothing), write(kX, version(1, 1), loaded())}, 2,
              3)
      .commit(2, 1, {remove(kNew, version(1, 1)), write(kY, version(2, 1), loaded())}, 4, 5);
  return story;
}

TEST(Checker, LeavesOpenWhichAbsenceWasSeen) {
  Story before = in_doubt();
  before.commit(3, 1, {missed(kNew), read(kX, loaded()), read(kY, loaded())}, 1, 6);
  EXPECT_EQ(before.names(), Names{});
  Story after = in_doubt();
  after.commit(3, 1,
               {missed(kNew), read(kX, version(1, 1), loaded()), read(kY, version(2, 1), loaded())},
               1, 6);
  EXPECT_EQ(after.names(), Names{});
}

TEST(Checker, FindsAnAbsenceThatFitsNowhere) {
  // It saw what came with the row and not what came with its end: the row was there.
  Story story = in_doubt();
  story.commit(3, 1, {missed(kNew), read(kX, version(1, 1), loaded()), read(kY, loaded())}, 1, 6);
  EXPECT_EQ(story.names().size(), 1u);
}

TEST(Checker, AReaderOfThePastMayMissWhatIsThere) {
  Story story;
  story.commit(1, 1, {write(kNew, version(1, 1), kNothing), write(kX, version(1, 1), loaded())}, 1,
               2);
  History old = story.history();
  History torn = story.history();
  const Transaction reader{.client = 2, .sequence = 1, .began = 5, .ended = 6, .of_the_past = true};
  old[2].add(reader, std::vector{missed(kNew), read(kX, loaded())});
  EXPECT_TRUE(Checker(old).run().empty());
  torn[2].add(reader, std::vector{missed(kNew), read(kX, version(1, 1), loaded())});
  EXPECT_EQ(Checker(torn).run().size(), 1u);
}

TEST(Checker, HoldsATransactionToItsOwnWrites) {
  Story stale;
  stale.commit(1, 1, {read(kX, loaded()), write(kX, version(1, 1), loaded()), read(kX, loaded())});
  EXPECT_EQ(stale.names(), Names{"own writes"});
  Story gone;
  gone.commit(1, 1, {write(kNew, version(1, 1), kNothing), missed(kNew, true)});
  EXPECT_EQ(gone.names(), Names{"own writes"});
  Story right;
  right.commit(1, 1,
               {write(kNew, version(1, 1), kNothing), read(kNew, version(1, 1)),
                remove(kNew, version(1, 1)), missed(kNew)});
  EXPECT_EQ(right.names(), Names{});
}

TEST(Checker, FindsTwoVersionsUnderOneName) {
  Story stamps;
  stamps.commit(1, 1, {read(kX, loaded(), kNothing, 7)})
      .commit(2, 1, {read(kX, loaded(), kNothing, 8)});
  EXPECT_EQ(stamps.names(), Names{"torn or doubled version"});
  Story parents;
  parents.commit(1, 1, {read(kX, loaded(), version(3, 3), 7)});
  EXPECT_EQ(parents.names(), Names{"torn or doubled version"});
}

TEST(Checker, ShowsTheCycle) {
  Story story;
  story.commit(1, 1, {read(kX, loaded()), write(kY, version(1, 1), loaded())})
      .commit(2, 1, {read(kY, loaded()), write(kX, version(2, 1), loaded())});
  const auto anomalies = Checker(story.history()).run();
  ASSERT_EQ(anomalies.size(), 1u);
  const std::string& text = anomalies.front().text;
  EXPECT_NE(text.find("T1:1 --rw t0/0--> T2:1"), std::string::npos) << text;
  EXPECT_NE(text.find("T2:1 --rw t0/1--> T1:1"), std::string::npos) << text;
  EXPECT_NE(text.find("read t0/0 = loader#1; write t0/1 = T1:1#1 over loader#1"), std::string::npos)
      << text;
}

/// Transactions one after the other over a few rows, dealt to four clients in turn.
History serial_history(std::uint64_t transactions) {
  constexpr std::uint32_t kKeys = 16;
  constexpr std::uint32_t kClients = 4;
  Random random(1);
  std::vector<Operation> now(kKeys, read(0, kNothing));
  Story story(kClients);
  History history(kClients + 1);
  std::uint64_t clock = 0;
  for (std::uint64_t i = 1; i <= transactions; ++i) {
    const auto client = static_cast<std::uint32_t>(1 + i % kClients);
    std::vector<Operation> steps;
    for (std::uint32_t write_number = 1; write_number <= 4; ++write_number) {
      const auto key = static_cast<std::uint32_t>(random.below(kKeys));
      const VersionId old = now[key].version;
      steps.push_back(old == kNothing ? missed(key) : read(key, old, now[key].replaced));
      const std::uint64_t draw = random.below(8);
      if (draw > 3) continue;
      const bool removes = draw == 0 && old != kNothing;
      const VersionId next = removes ? kNothing : version(client, i, write_number);
      steps.push_back(removes ? remove(key, old) : write(key, next, old));
      now[key] = read(key, next, old);
    }
    // They overlap, as those of real clients do.
    const std::uint64_t began = clock < 3 ? 0 : clock - 3;
    history[client].add({.client = client, .sequence = i, .began = began, .ended = ++clock}, steps);
  }
  return history;
}

TEST(Checker, TakesALargeHistory) {
  const History history = serial_history(200'000);
  Checker checker(history);
  const auto start = std::chrono::steady_clock::now();
  const auto anomalies = checker.run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(anomalies.empty()) << anomalies.front().text;
  EXPECT_EQ(checker.transactions(), 200'000u);
  RecordProperty("seconds", std::to_string(took.count()));
}

TEST(Checker, FindsOneStaleReadInALargeHistory) {
  History history = serial_history(20'000);
  int changed = 0;
  // The read of one transaction in the middle is set back by one version.
  for (Transaction& transaction : history[1].transactions) {
    if (transaction.sequence < 10'000 || changed != 0) continue;
    std::vector<Operation>& all = history[1].operations;
    Operation& first = all[transaction.first_operation];
    const bool reads_only = transaction.end_operation - transaction.first_operation == 4;
    if (!reads_only || first.step != Step::read || first.replaced == kNothing) continue;
    const std::uint64_t writer = sequence_of(first.replaced);
    for (const Transaction& other : history[client_of(first.replaced)].transactions) {
      if (other.sequence != writer) continue;
      for (std::uint64_t at = other.first_operation; at < other.end_operation; ++at) {
        const Operation& step = history[other.client].operations[at];
        if (step.step == Step::write && step.version == first.replaced) {
          first.version = step.version;
          first.replaced = step.replaced;
          changed = 1;
        }
      }
    }
  }
  ASSERT_EQ(changed, 1);
  EXPECT_FALSE(Checker(history).run().empty());
}

}  // namespace
}  // namespace heddle::serializability
