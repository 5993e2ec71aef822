#include "protocol/lock_table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fixture.h"
#include "model/random.h"
#include "protocol/grant/registry.h"
#include "protocol/wait_graph.h"

namespace heddle {
namespace {

using test::eventually;
using test::M;

constexpr int kOwners = 6;
constexpr auto kWaitDie = ConflictRule::wait_die;
constexpr auto kNoWait = ConflictRule::no_wait;

enum class Mode : bool { shared, exclusive };
/// Whether the record comes after all records that its transaction holds.
enum class Place : bool { unordered, ordered };

enum class Answer { granted, waits, dies };

/// A lock table and its owners. Owner n began at time n: the lower, the older.
class Locks : public testing::Test {
 protected:
  /// A request made in a thread of its own, so that it can wait.
  class InThread {
   public:
    template <class F>
    InThread(Locks& locks, int owner, F asks)
        : locks_(&locks), owner_(owner), thread_([this, asks] {
            granted_ = asks();
            done_ = true;
          }) {}
    ~InThread() {
      if (thread_.joinable()) thread_.join();
    }

    Answer answer() {
      EXPECT_TRUE(eventually([this] { return done_ || locks_->waiting(owner_); }));
      if (!done_) return Answer::waits;
      return granted_ ? Answer::granted : Answer::dies;
    }
    [[nodiscard]] bool done() const { return done_; }
    /// Whether it is granted in the end.
    bool granted() {
      EXPECT_TRUE(eventually([this] { return done_.load(); })) << "owner " << owner_ << " waits on";
      return done_ && granted_;
    }

   private:
    Locks* locks_;
    int owner_;
    std::atomic<bool> done_{false};
    bool granted_ = false;
    std::thread thread_;
  };

  explicit Locks(std::unique_ptr<WaitGraph<M>> graph = nullptr)
      : table_(kOwners, stop_, std::move(graph)) {
    for (int owner = 0; owner < kOwners; ++owner) {
      owners_[static_cast<std::size_t>(owner)].worker = owner;
    }
  }
  ~Locks() override { stop_.store(1, std::memory_order_relaxed); }  // for requests that still wait

  LockRequest<M> request(int owner, int record, Mode mode) {
    LockRequest<M> made;
    made.record = &records_[static_cast<std::size_t>(record)];
    made.owner = &owners_[static_cast<std::size_t>(owner)];
    made.age = {.began = static_cast<std::uint64_t>(owner), .worker = owner};
    made.exclusive = mode == Mode::exclusive;
    return made;
  }

  /// A request that is granted at once, and kept.
  LockRequest<M>& hold(int owner, int record, Mode mode) {
    LockRequest<M>& held = held_.emplace_back(request(owner, record, mode));
    EXPECT_TRUE(table_.acquire(held, true, kNoWait));
    return held;
  }

  InThread& start(LockRequest<M>& asked, Place place = Place::unordered) {
    return threads_.emplace_back(*this, asked.owner->worker, [this, &asked, place] {
      return table_.acquire(asked, place == Place::ordered, kWaitDie);
    });
  }
  InThread& start_upgrade(LockRequest<M>& held) {
    return threads_.emplace_back(*this, held.owner->worker,
                                 [this, &held] { return table_.upgrade(held, kWaitDie); });
  }

  /// The answer to a request if no other transaction releases anything. Unless granted it leaves
  /// nothing behind. Not while another waits: it would be stopped as well.
  Answer ask(int owner, int record, Mode mode, Place place = Place::unordered,
             ConflictRule rule = kWaitDie) {
    LockRequest<M>& asked = held_.emplace_back(request(owner, record, mode));
    return answer(owner, [&] { return table_.acquire(asked, place == Place::ordered, rule); });
  }
  Answer ask_upgrade(LockRequest<M>& held, ConflictRule rule = kWaitDie) {
    return answer(held.owner->worker, [&] { return table_.upgrade(held, rule); });
  }

  template <class F>
  Answer answer(int owner, F asks) {
    M::Ticks& waited = owners_[static_cast<std::size_t>(owner)].waited;
    waited = 0;
    stop_.store(1, std::memory_order_relaxed);  // a waiting request is stopped
    const bool granted = asks();
    stop_.store(0, std::memory_order_relaxed);
    if (granted) return Answer::granted;
    return waited > 0 ? Answer::waits : Answer::dies;
  }

  [[nodiscard]] bool waiting(int owner) const {
    return owners_[static_cast<std::size_t>(owner)].waits_for.load(std::memory_order_acquire) != 0;
  }

  Shared<M, std::uint64_t> stop_{0};
  LockTable<M> table_;
  std::array<LockOwner<M>, kOwners> owners_;
  std::array<Record<M>, 4> records_;
  std::deque<LockRequest<M>> held_;
  std::deque<InThread> threads_;  // last: they end before the members that they use are destroyed
};

TEST_F(Locks, SharedGoesWithSharedOnly) {
  hold(0, 0, Mode::shared);
  EXPECT_EQ(ask(1, 0, Mode::shared), Answer::granted);
  EXPECT_EQ(ask(2, 0, Mode::exclusive), Answer::dies);
  hold(0, 1, Mode::exclusive);
  EXPECT_EQ(ask(1, 1, Mode::shared), Answer::dies);
  EXPECT_EQ(ask(1, 1, Mode::exclusive), Answer::dies);
  EXPECT_EQ(ask(1, 2, Mode::exclusive), Answer::granted) << "another record";
}

TEST_F(Locks, RecordsThatShareABucketDoNotConflict) {
  std::vector<Record<M>> many(3000);  // more than there are buckets
  std::deque<LockRequest<M>> requests;
  for (Record<M>& record : many) {
    requests.push_back(request(0, 0, Mode::exclusive));
    requests.back().record = &record;
    ASSERT_TRUE(table_.acquire(requests.back(), false, kNoWait));
  }
  for (LockRequest<M>& held : requests) table_.release(held);
}

TEST_F(Locks, ReleasedLockCanBeTaken) {
  LockRequest<M>& held = hold(0, 0, Mode::exclusive);
  table_.release(held);
  EXPECT_EQ(ask(1, 0, Mode::exclusive), Answer::granted);
}

// ---- which requests may wait --------------------------------------------------------------------

TEST_F(Locks, OlderWaitsAndYoungerDies) {
  hold(2, 0, Mode::exclusive);
  EXPECT_EQ(ask(1, 0, Mode::exclusive), Answer::waits);
  EXPECT_EQ(ask(1, 0, Mode::shared), Answer::waits);
  EXPECT_EQ(ask(3, 0, Mode::exclusive), Answer::dies);
  EXPECT_EQ(ask(3, 0, Mode::shared), Answer::dies);
}

TEST_F(Locks, WaitsOnlyIfOlderThanEveryHolder) {
  hold(1, 0, Mode::shared);
  hold(3, 0, Mode::shared);
  EXPECT_EQ(ask(2, 0, Mode::exclusive), Answer::dies);
  EXPECT_EQ(ask(0, 0, Mode::exclusive), Answer::waits);
}

/// Of two that began at once, the lower worker is the older.
TEST_F(Locks, EqualAgesAreOrderedByWorker) {
  LockRequest<M>& held = hold(2, 0, Mode::exclusive);
  for (const int owner : {1, 3}) {
    LockRequest<M> asked = request(owner, 0, Mode::exclusive);
    asked.age.began = held.age.began;
    EXPECT_EQ(answer(owner, [&] { return table_.acquire(asked, false, kWaitDie); }),
              owner < 2 ? Answer::waits : Answer::dies);
  }
}

TEST_F(Locks, RequestInOrderNeverDies) {
  hold(0, 0, Mode::exclusive);
  EXPECT_EQ(ask(1, 0, Mode::exclusive, Place::ordered), Answer::waits);
  EXPECT_EQ(ask(1, 0, Mode::shared, Place::ordered), Answer::waits);
  EXPECT_EQ(ask(1, 0, Mode::exclusive, Place::unordered), Answer::dies);
}

TEST_F(Locks, NoWaitNeverWaits) {
  hold(2, 0, Mode::exclusive);
  hold(2, 1, Mode::shared);
  EXPECT_EQ(ask(1, 0, Mode::exclusive, Place::unordered, kNoWait), Answer::dies);
  EXPECT_EQ(ask(1, 0, Mode::shared, Place::ordered, kNoWait), Answer::dies);
  EXPECT_EQ(ask(1, 1, Mode::shared, Place::unordered, kNoWait), Answer::granted);
  EXPECT_EQ(ask(1, 2, Mode::exclusive, Place::unordered, kNoWait), Answer::granted);
}

/// A request that was stopped while it waited has left: it blocks no other.
TEST_F(Locks, StoppedRequestLeavesTheTable) {
  LockRequest<M>& held = hold(1, 0, Mode::shared);
  ASSERT_EQ(ask(0, 0, Mode::exclusive), Answer::waits);
  EXPECT_FALSE(waiting(0));
  EXPECT_EQ(ask(2, 0, Mode::shared), Answer::granted);
  table_.release(held_.back());
  table_.release(held);
  EXPECT_EQ(ask(2, 0, Mode::exclusive), Answer::granted);
}

// ---- the order of grants ------------------------------------------------------------------------

TEST_F(Locks, GrantedInTheOrderAskedFor) {
  LockRequest<M>& held = hold(4, 0, Mode::shared);
  LockRequest<M>& also_held = hold(3, 0, Mode::shared);
  LockRequest<M> first = request(2, 0, Mode::exclusive);
  LockRequest<M> second = request(1, 0, Mode::shared);
  LockRequest<M> third = request(0, 0, Mode::shared);
  InThread& exclusive = start(first);
  ASSERT_EQ(exclusive.answer(), Answer::waits);
  // They could join the holders, but would starve the waiting one.
  InThread& shared = start(second);
  InThread& also_shared = start(third);
  ASSERT_EQ(shared.answer(), Answer::waits);
  ASSERT_EQ(also_shared.answer(), Answer::waits);

  table_.release(held);
  EXPECT_FALSE(second.granted || third.granted || first.granted);
  table_.release(also_held);
  EXPECT_TRUE(exclusive.granted());
  EXPECT_FALSE(second.granted || third.granted);
  table_.release(first);
  EXPECT_TRUE(shared.granted());
  EXPECT_TRUE(also_shared.granted()) << "all compatible requests are granted at once";
  EXPECT_GT(owners_[0].waited, 0U);
}

/// Younger than a waiting one: waiting for it would violate the rule.
TEST_F(Locks, WaitingRequestsCountAsWell) {
  LockRequest<M>& held = hold(4, 0, Mode::shared);
  LockRequest<M> waits = request(1, 0, Mode::exclusive);
  LockRequest<M> younger = request(2, 0, Mode::shared);
  LockRequest<M> older = request(0, 0, Mode::shared);
  InThread& exclusive = start(waits);
  ASSERT_EQ(exclusive.answer(), Answer::waits);
  EXPECT_EQ(start(younger).answer(), Answer::dies);
  InThread& shared = start(older);
  EXPECT_EQ(shared.answer(), Answer::waits);
  table_.release(held);
  EXPECT_TRUE(exclusive.granted());
  table_.release(waits);
  EXPECT_TRUE(shared.granted());
}

// ---- upgrades -----------------------------------------------------------------------------------

TEST_F(Locks, OnlyHolderIsUpgradedAtOnce) {
  LockRequest<M>& held = hold(1, 0, Mode::shared);
  EXPECT_EQ(ask_upgrade(held, kNoWait), Answer::granted);
  EXPECT_TRUE(held.exclusive);
  EXPECT_EQ(ask(2, 0, Mode::shared), Answer::dies);
  table_.release(held);
  EXPECT_EQ(ask(2, 0, Mode::shared), Answer::granted);
}

TEST_F(Locks, OlderUpgradeWaitsAndYoungerDies) {
  LockRequest<M>& old = hold(1, 0, Mode::shared);
  LockRequest<M>& young = hold(2, 0, Mode::shared);
  EXPECT_EQ(ask_upgrade(young), Answer::dies);
  EXPECT_FALSE(young.exclusive) << "it still has its shared lock";
  EXPECT_EQ(ask_upgrade(old, kNoWait), Answer::dies);
  EXPECT_EQ(ask_upgrade(old), Answer::waits);
  // Stopped, it keeps the lock it had.
  EXPECT_EQ(ask_upgrade(young), Answer::dies);
  table_.release(old);
  EXPECT_EQ(ask_upgrade(young), Answer::granted);
}

TEST_F(Locks, UpgradeIsGrantedWhenTheOthersAreGone) {
  LockRequest<M>& old = hold(0, 0, Mode::shared);
  LockRequest<M>& young = hold(2, 0, Mode::shared);
  LockRequest<M> newcomer = request(1, 0, Mode::shared);
  InThread& upgrade = start_upgrade(old);
  ASSERT_EQ(upgrade.answer(), Answer::waits);
  EXPECT_EQ(start(newcomer).answer(), Answer::dies) << "it would come behind the upgrade";
  table_.release(young);
  EXPECT_TRUE(upgrade.granted());
  EXPECT_EQ(ask(3, 0, Mode::shared), Answer::dies);
}

/// While it waits it holds its shared lock: the row that was read must not change.
TEST_F(Locks, UpgradeThatWaitsKeepsItsSharedLock) {
  LockRequest<M>& old = hold(0, 0, Mode::shared);
  LockRequest<M>& young = hold(2, 0, Mode::shared);
  InThread& upgrade = start_upgrade(old);
  ASSERT_EQ(upgrade.answer(), Answer::waits);
  EXPECT_EQ(start_upgrade(young).answer(), Answer::dies) << "each would wait for the other";
  table_.release(young);
  EXPECT_TRUE(upgrade.granted());
}

/// A request that waits for the shared locks has agreed to wait for no more than those.
TEST_F(Locks, UpgradeDoesNotPassRequestsThatWait) {
  LockRequest<M>& old = hold(0, 0, Mode::shared);
  LockRequest<M>& young = hold(5, 0, Mode::shared);
  LockRequest<M> waits = request(4, 0, Mode::exclusive);
  InThread& exclusive = start(waits, Place::ordered);
  ASSERT_EQ(exclusive.answer(), Answer::waits);
  EXPECT_EQ(start_upgrade(old).answer(), Answer::dies);
  table_.release(old);
  table_.release(young);
  EXPECT_TRUE(exclusive.granted());
}

// ---- deadlocks ----------------------------------------------------------------------------------

/// An old transaction that waits out of order, for a young one that waits in order for it, would
/// wait forever. Neither rule alone forbids that; so of the two kinds of wait the second dies.
TEST_F(Locks, TwoKindsOfWaitsNeverCoexist) {
  LockRequest<M>& held = hold(1, 0, Mode::exclusive);
  LockRequest<M>& other = hold(4, 1, Mode::exclusive);
  LockRequest<M> younger = request(3, 0, Mode::exclusive);
  LockRequest<M> out_of_order = request(2, 1, Mode::exclusive);
  LockRequest<M> harmless = request(2, 1, Mode::exclusive);
  LockRequest<M> also_younger = request(5, 1, Mode::exclusive);
  InThread& ordered = start(younger, Place::ordered);
  ASSERT_EQ(ordered.answer(), Answer::waits);
  EXPECT_EQ(start(out_of_order, Place::unordered).answer(), Answer::dies);
  InThread& neither = start(harmless, Place::ordered);
  EXPECT_EQ(neither.answer(), Answer::waits) << "of neither kind";
  InThread& same = start(also_younger, Place::ordered);
  EXPECT_EQ(same.answer(), Answer::waits) << "of the same kind";
  table_.release(held);
  EXPECT_TRUE(ordered.granted());
  table_.release(other);
  EXPECT_TRUE(neither.granted());
  table_.release(harmless);
  EXPECT_TRUE(same.granted());
  EXPECT_EQ(ask(2, 1, Mode::exclusive, Place::unordered), Answer::waits) << "now it may";
}

TEST_F(Locks, OrderedWaitOfAYoungerDiesWhileOneOutOfOrderExists) {
  LockRequest<M>& held = hold(4, 1, Mode::exclusive);
  LockRequest<M>& other = hold(1, 0, Mode::exclusive);
  LockRequest<M> older = request(2, 1, Mode::exclusive);
  LockRequest<M> younger = request(3, 0, Mode::exclusive);
  LockRequest<M> oldest = request(0, 0, Mode::exclusive);
  InThread& unordered = start(older, Place::unordered);
  ASSERT_EQ(unordered.answer(), Answer::waits);
  EXPECT_EQ(start(younger, Place::ordered).answer(), Answer::dies);
  InThread& same = start(oldest, Place::unordered);
  EXPECT_EQ(same.answer(), Answer::waits) << "of the same kind";
  table_.release(held);
  table_.release(other);
  EXPECT_TRUE(unordered.granted());
  EXPECT_TRUE(same.granted());
  EXPECT_EQ(ask(3, 0, Mode::exclusive, Place::ordered), Answer::waits) << "now it may";
}

TEST_F(Locks, WaitingUpgradeIsAWaitOutOfOrder) {
  LockRequest<M>& old = hold(0, 0, Mode::shared);
  LockRequest<M>& young = hold(2, 0, Mode::shared);
  hold(1, 1, Mode::exclusive);
  LockRequest<M> younger = request(3, 1, Mode::exclusive);
  InThread& upgrade = start_upgrade(old);
  ASSERT_EQ(upgrade.answer(), Answer::waits);
  EXPECT_EQ(start(younger, Place::ordered).answer(), Answer::dies);
  table_.release(young);
  EXPECT_TRUE(upgrade.granted());
}

TEST_F(Locks, UpgradeDiesWhileAnOrderedWaitExists) {
  LockRequest<M>& held = hold(1, 1, Mode::exclusive);
  LockRequest<M>& old = hold(0, 0, Mode::shared);
  hold(2, 0, Mode::shared);
  LockRequest<M> younger = request(3, 1, Mode::exclusive);
  InThread& ordered = start(younger, Place::ordered);
  ASSERT_EQ(ordered.answer(), Answer::waits);
  EXPECT_EQ(start_upgrade(old).answer(), Answer::dies);
  table_.release(held);
  EXPECT_TRUE(ordered.granted());
}

#if defined(__SANITIZE_THREAD__)
constexpr int kRounds = 300;
#else
constexpr int kRounds = 3000;
#endif

/// Transactions that lock some of four records, in order or out of it, shared, exclusive, upgraded:
/// all end, and no lock is ever granted while another has an exclusive one.
class LockStress : public Locks {
 protected:
  explicit LockStress(std::unique_ptr<WaitGraph<M>> graph = nullptr) : Locks(std::move(graph)) {}

  static constexpr int kThreads = 4;
  static constexpr int kRecords = 4;

  void run(ConflictRule rule) {
    std::vector<std::thread> threads;
    std::atomic<int> running{kThreads};
    for (int owner = 0; owner < kThreads; ++owner) {
      threads.emplace_back([this, owner, rule, &running] {
        Random random(static_cast<std::uint64_t>(owner) + 1);
        for (int round = 0; round < kRounds; ++round) {
          const std::uint64_t began = clock_.fetch_add(1);
          while (!transaction(random, owner, began, rule)) {
            if (stop_.load(std::memory_order_relaxed) != 0) break;
            std::this_thread::yield();
          }
        }
        --running;
      });
    }
    EXPECT_TRUE(eventually([&] { return running == 0; })) << "a deadlock";
    stop_.store(1, std::memory_order_relaxed);
    for (std::thread& thread : threads) thread.join();
    int sum = 0;
    for (const int writes : written_) sum += writes;
    EXPECT_EQ(sum, writes_.load());
  }

 private:
  /// False: it died.
  bool transaction(Random& random, int owner, std::uint64_t began, ConflictRule rule) {
    std::deque<LockRequest<M>> requests;
    int highest = -1;
    std::uint64_t met = 0;  // the records it holds
    bool alive = true;
    for (int i = 0; alive && i < 3; ++i) {
      const int record = static_cast<int>(random.below(kRecords));
      if ((met >> record & 1) != 0) continue;
      met |= std::uint64_t{1} << record;
      const bool exclusive = random.below(2) == 0;
      LockRequest<M>& made =
          requests.emplace_back(request(owner, record, exclusive ? Mode::exclusive : Mode::shared));
      made.age.began = began;
      made.owner->held = static_cast<std::uint32_t>(requests.size() - 1);
      if (!table_.acquire(made, record > highest, rule)) {
        requests.pop_back();
        alive = false;
        break;
      }
      highest = std::max(highest, record);
      if (!exclusive && random.below(3) == 0) {
        alive = table_.upgrade(made, rule);
        if (!alive && made.exclusive) requests.pop_back();  // stopped
      }
    }
    for (LockRequest<M>& held : requests) visit(held);
    for (LockRequest<M>& held : requests) {
      if (rule == ConflictRule::detect) {
        table_.release_by_graph(held);
      } else {
        table_.release(held);
      }
    }
    return alive;
  }

  /// Plain memory: the test is that the locks order these accesses.
  void visit(const LockRequest<M>& held) {
    const auto at = static_cast<std::size_t>(held.record - records_.data());
    if (held.exclusive) {
      ++written_[at];
      ++writes_;
    } else {
      EXPECT_GE(written_[at], 0);
    }
  }

  std::atomic<std::uint64_t> clock_{1};
  std::array<int, kRecords> written_{};
  std::atomic<int> writes_{0};
};

TEST_F(LockStress, WaitDieEnds) { run(kWaitDie); }
TEST_F(LockStress, NoWaitEnds) { run(kNoWait); }

class DetectingLockStress : public LockStress {
 protected:
  DetectingLockStress()
      : LockStress(std::make_unique<WaitGraph<M>>(
            kOwners, 1, grant::make_policy("bldsf", options()), options().exact)) {}
  static grant::Options options() { return {.exact = true, .delay = grant::delay_factor("log2")}; }
};

TEST_F(DetectingLockStress, Ends) { run(ConflictRule::detect); }

}  // namespace
}  // namespace heddle
