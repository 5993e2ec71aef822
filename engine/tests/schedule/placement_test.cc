#include "schedule/placement.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"
#include "schedule/batch.h"
#include "schedule/composite.h"
#include "schedule/insertion.h"
#include "schedule/makespan.h"
#include "schedule/smf.h"

namespace heddle::schedule {
namespace {

constexpr Protocol kProtocols[] = {Protocol::kMvtso, Protocol::kLock, Protocol::kOcc};

/// `r1 w2 *` and so on: keys are digits.
std::vector<Operation> operations(const std::string& text) {
  std::vector<Operation> found;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '*') found.push_back({});
    if (text[at] != 'r' && text[at] != 'w') continue;
    const Access access = text[at] == 'r' ? Access::kRead : Access::kWrite;
    found.push_back({access, static_cast<std::uint32_t>(text[++at] - '0')});
  }
  return found;
}

Batch batch_of(const std::vector<std::string>& transactions) {
  Batch batch;
  for (const std::string& transaction : transactions) batch.add(operations(transaction));
  return batch;
}

std::vector<Slot> makespans(const std::vector<std::string>& transactions, const Order& order) {
  std::vector<Slot> found;
  for (const Protocol protocol : kProtocols) {
    found.push_back(makespan(Problem(batch_of(transactions), protocol), order));
  }
  return found;
}

TEST(Placement, WorkedExamples) {
  const std::vector<std::string> figure_1 = {"r1 w2", "r2 w1", "r1 w2", "r2 w1"};
  EXPECT_EQ(makespans(figure_1, {0, 1, 2, 3}), (std::vector<Slot>{8, 8, 5}));
  EXPECT_EQ(makespans(figure_1, {0, 2, 1, 3}), (std::vector<Slot>{6, 6, 4}));
  EXPECT_EQ(makespans({"r1 w1", "r1 w1", "r1 w1"}, {0, 1, 2}), (std::vector<Slot>{6, 6, 4}));
  EXPECT_EQ(makespans({"r1 w1 ***", "r1 w1 ***"}, {0, 1}), (std::vector<Slot>{7, 10, 9}));
}

TEST(Placement, ReadersShareALockButDoNotBeginBeforeTheOneBefore) {
  const Problem problem(batch_of({"**r1", "r1", "w1"}), Protocol::kLock);
  EXPECT_EQ(starts(problem, Order{0, 1, 2}), (std::vector<Slot>{1, 3, 4}));
}

TEST(Placement, AKeyThatIsNeverWrittenDelaysNoTransaction) {
  const Problem problem(batch_of({"**r1", "r1", "w2"}), Protocol::kMvtso);
  EXPECT_EQ(problem.touches.key_count(), 0U);
  EXPECT_EQ(starts(problem, Order{0, 1, 2}), (std::vector<Slot>{1, 1, 1}));
}

TEST(Batch, RefusesATransactionWithoutOperations) {
  Batch batch;
  EXPECT_THROW(batch.add({}), std::invalid_argument);
}

Batch random_batch(Random& random) {
  Batch batch;
  const std::uint64_t size = 2 + random.below(30);
  for (std::uint64_t transaction = 0; transaction < size; ++transaction) {
    std::vector<Operation> drawn(1 + random.below(8));
    for (Operation& operation : drawn) {
      operation = {static_cast<Access>(random.below(3)),
                   static_cast<std::uint32_t>(random.below(6))};
    }
    batch.add(drawn);
  }
  return batch;
}

/// The model by its definition, with every entry kept: slow, for comparison.
class PlainModel {
 public:
  PlainModel(const Batch& batch, Protocol protocol) : batch_(batch), protocol_(protocol) {}

  Slot place(std::uint32_t transaction) {
    const auto slots = batch_[transaction];
    Slot start = 1;
    while (!allowed(slots, start)) ++start;
    const Slot end = start + static_cast<Slot>(slots.size()) - 1;
    std::vector<Entry> own;
    for (std::size_t at = 0; at < slots.size(); ++at) {
      if (slots[at].access == Access::kFiller) continue;
      const auto [access, key] = slots[at];
      bool writes = access == Access::kWrite;
      Slot until = end;
      if (protocol_ == Protocol::kLock) {
        for (const Entry& before : own) writes |= before.key == key && before.writes;
        const Entry* newest = newest_of(key, true);
        if (!writes && newest != nullptr && !newest->writes) until = std::max(end, newest->end);
      }
      own.push_back({key, writes, start + static_cast<Slot>(at), until});
      entries_.push_back(own.back());
    }
    return start;
  }

 private:
  struct Entry {
    std::uint32_t key;
    bool writes;
    Slot time;
    Slot end;
  };

  const Entry* newest_of(std::uint32_t key, bool as_placed) const {
    const Entry* newest = nullptr;
    for (const Entry& entry : entries_) {
      if (entry.key != key) continue;
      if (newest == nullptr || as_placed || entry.time >= newest->time) newest = &entry;
    }
    return newest;
  }

  Slot least_time(const Operation& operation) const {
    const bool writes = operation.access == Access::kWrite;
    const Entry* newest = newest_of(operation.key, protocol_ == Protocol::kLock);
    if (newest == nullptr) return 1;
    Slot after_writes = 1;
    Slot after_all = 1;
    for (const Entry& entry : entries_) {
      if (entry.key != operation.key) continue;
      after_all = std::max(after_all, entry.time + 1);
      if (entry.writes) after_writes = std::max(after_writes, entry.time + 1);
    }
    const bool conflict = writes || newest->writes;
    switch (protocol_) {
      case Protocol::kMvtso: return writes ? after_all : after_writes;
      case Protocol::kLock: return conflict ? newest->end + 1 : newest->time;
      case Protocol::kOcc: return conflict ? newest->end : after_writes;
    }
    return 0;
  }

  bool allowed(std::span<const Operation> slots, Slot start) const {
    for (std::size_t at = 0; at < slots.size(); ++at) {
      if (slots[at].access == Access::kFiller) continue;
      if (start + static_cast<Slot>(at) < least_time(slots[at])) return false;
    }
    return true;
  }

  const Batch& batch_;
  Protocol protocol_;
  std::vector<Entry> entries_;
};

Order shuffled(std::size_t size, Random& random) {
  Order order(size);
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  for (std::size_t left = size; left > 1; --left) {
    std::swap(order[left - 1], order[random.below(left)]);
  }
  return order;
}

TEST(Placement, AgreesWithThePlainModel) {
  Random random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const Batch batch = random_batch(random);
    const Order order = shuffled(batch.size(), random);
    for (const Protocol protocol : kProtocols) {
      PlainModel plain(batch, protocol);
      std::vector<Slot> expected;
      for (const std::uint32_t transaction : order) expected.push_back(plain.place(transaction));
      ASSERT_EQ(starts(Problem(batch, protocol), order), expected) << "trial " << trial;
    }
  }
}

void expect_permutation(Order order, std::size_t size) {
  std::sort(order.begin(), order.end());
  Order all(size);
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  EXPECT_EQ(order, all);
}

TEST(Policies, OrderEveryTransactionOnce) {
  Random random(8);
  for (int trial = 0; trial < 30; ++trial) {
    const Batch batch = random_batch(random);
    for (const Protocol protocol : kProtocols) {
      const Problem problem(batch, protocol);
      for (const std::size_t samples : {0, 1, 5}) {
        expect_permutation(shortest_makespan_first(problem, samples, 3), batch.size());
        expect_permutation(composite_dispatching(problem, samples, {}, 3), batch.size());
      }
      const Order sequence = shuffled(batch.size(), random);
      expect_permutation(insert_each(problem, sequence), batch.size());
    }
  }
}

TEST(ShortestMakespanFirst, TakesOfAllTheOneThatAddsLeast) {
  // After any first one, those that touch the other key add nothing.
  const Problem problem(batch_of({"r1 w1", "r1 w1", "r2 w2", "r2 w2"}), Protocol::kMvtso);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Order order = shortest_makespan_first(problem, 0, seed);
    EXPECT_NE(order[0] < 2, order[1] < 2);
    EXPECT_EQ(makespan(problem, order), 4);
  }
}

TEST(ShortestMakespanFirst, TheSeedDecides) {
  Random random(9);
  const Problem problem(random_batch(random), Protocol::kMvtso);
  EXPECT_EQ(shortest_makespan_first(problem, 5, 1), shortest_makespan_first(problem, 5, 1));
  EXPECT_NE(shortest_makespan_first(problem, 5, 1), shortest_makespan_first(problem, 5, 2));
}

TEST(CompositeDispatching, KeepsReadersOfAKeyTogetherBeforeItsWriters) {
  const Problem problem(batch_of({"r1 *", "w1", "r1 *", "w1", "r1 *", "w1"}), Protocol::kMvtso);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const CompositeWeights delay_alone{.work = 0, .length = 0, .bound = 0};
    EXPECT_EQ(makespan(problem, composite_dispatching(problem, 0, delay_alone, seed)), 4);
  }
}

TEST(CompositeDispatching, BeginsTheLongestChainFirst) {
  // The first reads what the others write, which delays them by one.
  const Problem problem(batch_of({"r2 *", "w1 * w2", "w1 * w2", "w1 * w2"}), Protocol::kOcc);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const CompositeWeights work_alone{.delay = 0, .length = 0, .bound = 0};
    EXPECT_NE(composite_dispatching(problem, 0, work_alone, seed)[0], 0U);
  }
}

TEST(CompositeDispatching, LeavesNoGapInTheLongestQueue) {
  // The last one writes late: if it begins first, it delays none of the others.
  const Problem problem(batch_of({"w1", "w1", "w1", "* * * w1"}), Protocol::kMvtso);
  int longest = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CompositeWeights weights{.delay = 0, .work = 0, .length = 0, .bound = 4};
    EXPECT_EQ(makespan(problem, composite_dispatching(problem, 0, weights, seed)), 4);
    weights.bound = 0;
    longest =
        std::max(longest, makespan(problem, composite_dispatching(problem, 0, weights, seed)));
  }
  EXPECT_GT(longest, 4);
}

TEST(Dispatching, AppendsTheRestWhenItIsStopped) {
  Random random(11);
  const Batch batch = random_batch(random);
  const Problem problem(batch, Protocol::kMvtso);
  std::size_t asked = 0;
  const auto stop = [&asked](std::size_t) { return ++asked < 2; };
  expect_permutation(composite_dispatching(problem, 0, {}, 1, stop), batch.size());
  EXPECT_EQ(asked, 2U);
}

TEST(Insertion, FindsWhatAppendingMisses) {
  // Figure 2 of the paper, in SMF's order.
  const Problem problem(batch_of({"r1 w1", "r1 w1", "r1 r2 w2", "r1 r2 w2"}), Protocol::kMvtso);
  const Order appended = {0, 1, 2, 3};
  const Order inserted = insert_each(problem, appended);
  EXPECT_LT(makespan(problem, inserted), makespan(problem, appended));
}

TEST(Insertion, AppendsTheRestWhenItIsStopped) {
  Random random(10);
  const Batch batch = random_batch(random);
  const Problem problem(batch, Protocol::kLock);
  const Order sequence = shuffled(batch.size(), random);
  EXPECT_EQ(insert_each(problem, sequence, [](std::size_t) { return false; }), sequence);
}

}  // namespace
}  // namespace heddle::schedule
