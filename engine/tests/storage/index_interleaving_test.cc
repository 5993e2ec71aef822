// The results of an index operation if others run in the middle of it: at every one of its loads,
// one run each. Deterministic, so that races too rare for threads to hit are covered every time.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machine/threads.h"
#include "model/random.h"
#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "storage/ordered_index.h"
#include "storage/record.h"
#include "storage/storage.h"

namespace heddle::test {
namespace {

/// By how much the tests are cut short where every load costs ten times as much.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kSlowdown = 10;
#else
constexpr int kSlowdown = 1;
#endif

/// Lets "another core" act right before a chosen load of shared memory. Once the running operation
/// has written, nothing may come between: it holds locks that the other would wait for.
struct InterruptedMachine : ThreadsMachine {
  static void on_load(const void*, std::size_t = 0) {
    if (loads_left > 0 && --loads_left == 0) std::exchange(other, nullptr)();
  }
  static void on_exchange(const void*) { loads_left = 0; }

  static inline int loads_left = 0;  // until `other` runs; 0: never
  static inline std::function<void()> other;
};

using M = InterruptedMachine;
using Model = std::map<std::uint64_t, Record<M>*>;

// Wide keys make small nodes: a tree of three levels needs only 150 rows.
constexpr int kWords = 6;
using K = Key<kWords>;
constexpr std::uint64_t kIds = 400;

K key_of(std::uint64_t id) { return {{id / 8, 0, 0, id % 8, 0, 0}}; }
std::uint64_t id_of(const K& key) { return key.words[0] * 8 + key.words[3]; }

/// An index, and its expected content.
template <class Index>
struct Database {
  Storage<M> storage{1};
  Index index{storage, kIds / 8};
  Model model;

  bool insert(std::uint64_t id, Record<M>* record) {
    model.try_emplace(id, record);
    return index.insert(0, key_of(id), record).inserted;
  }
  bool remove(std::uint64_t id) {
    const auto at = model.find(id);
    if (at == model.end()) return false;
    Record<M>* const record = at->second;
    model.erase(at);
    return index.remove(0, key_of(id), record);
  }
  [[nodiscard]] Model content() const {
    Model content;
    index.for_each([&](const K& key, Record<M>* record) { content.emplace(id_of(key), record); });
    return content;
  }
};

template <class Index>
class InterleavingTest : public ::testing::Test {
 protected:
  static constexpr int kSeeds = 30 / kSlowdown;
  static constexpr int kLoadsMax = 10'000;

  /// Trees of one to three levels, with full nodes and half-full ones.
  void fill(Database<Index>& database, Random& random) {
    const std::uint64_t stride = 1 + random.below(3);
    const std::uint64_t end = random.below(4) == 0 ? random.below(kIds) : kIds;
    for (std::uint64_t id = 0; id < end; id += stride) database.insert(id, &records_[id]);
  }

  /// The action of the others: clears a stretch, often so long that whole subtrees are removed, or
  /// leaves it; then fills it a little or a lot, with other records.
  void disturb(Database<Index>& database, Random random) {
    const std::uint64_t first = random.below(kIds);
    const std::uint64_t last = std::min(kIds, first + 1 + random.below(2) * random.below(300));
    const bool clear = random.below(3) > 0;
    for (std::uint64_t id = first; id < last && clear; ++id) database.remove(id);
    const std::uint64_t inserts = random.below(4) * random.below(last - first + 3);
    for (std::uint64_t i = 0; i < inserts; ++i) {
      const std::uint64_t id = first + random.below(last - first);
      database.insert(id, &others_[id]);
    }
  }

  /// Runs `operate(database, before, random)` once for every load it makes, with the disturbance
  /// right before that load; `before` is the content it started from.
  template <class Operate>
  void at_every_load(Operate operate) {
    for (int seed = 0; seed < kSeeds; ++seed) {
      for (int load = 1; load < kLoadsMax; ++load) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed << ", load " << load);
        Random random(seed);
        Database<Index> database;
        fill(database, random);
        const Model before = database.model;
        M::other = [&, later = Random::stream(seed, 1)] { disturb(database, later); };
        M::loads_left = load;
        operate(database, before, random);
        M::loads_left = 0;
        if (M::other != nullptr) break;  // the operation made fewer loads
        ASSERT_EQ(database.content(), database.model);
        if (this->HasFailure()) return;
      }
    }
    M::other = nullptr;
  }

  static Record<M>* in(const Model& model, std::uint64_t id) {
    const auto at = model.find(id);
    return at == model.end() ? nullptr : at->second;
  }

  std::vector<Record<M>> records_{kIds};
  std::vector<Record<M>> others_{kIds};
};

using Indexes = ::testing::Types<HashIndex<M, K>, OrderedIndex<M, K>>;
TYPED_TEST_SUITE(InterleavingTest, Indexes);

TYPED_TEST(InterleavingTest, AFindSeesBeforeOrAfter) {
  this->at_every_load([this](auto& database, const Model& before, Random& random) {
    const std::uint64_t id = random.below(kIds);
    NodeVersion<M> seen;
    const Record<M>* found = database.index.find(key_of(id), seen);
    const Record<M>* after = this->in(database.model, id);
    ASSERT_TRUE(found == this->in(before, id) || found == after);
    // What a miss returned is a guard: while it holds, the key is absent.
    if (found == nullptr && after != nullptr) {
      EXPECT_NE(seen.word->peek(), seen.value);
    }
  });
}

TYPED_TEST(InterleavingTest, AnInsertIsOneStep) {
  this->at_every_load([this](auto& database, const Model& before, Random& random) {
    const std::uint64_t id = random.below(kIds);
    Record<M> own;
    const InsertResult<M> result = database.index.insert(0, key_of(id), &own);
    M::loads_left = 0;
    Record<M>* const after = this->in(database.model, id);
    if (!result.inserted) {
      ASSERT_NE(result.record, nullptr);
      ASSERT_TRUE(result.record == this->in(before, id) || result.record == after);
      return;
    }
    // Inserted after the others' changes: had it come before, they would have found it.
    ASSERT_EQ(after, nullptr);
    ASSERT_EQ(result.before.word->peek(), result.after);
    ASSERT_TRUE(database.index.remove(0, key_of(id), &own));
  });
}

TYPED_TEST(InterleavingTest, ARemoveIsOneStep) {
  this->at_every_load([this](auto& database, const Model& before, Random& random) {
    const std::uint64_t id = random.below(kIds);
    Record<M>* const record = this->in(before, id);
    if (record == nullptr) return;
    const bool removed = database.index.remove(0, key_of(id), record);
    M::loads_left = 0;
    // Removed, or found removed: the model knows by which.
    ASSERT_EQ(removed, this->in(database.model, id) == record);
    if (removed) database.model.erase(id);
  });
}

using ScanInterleavingTest = InterleavingTest<OrderedIndex<M, K>>;

TEST_F(ScanInterleavingTest, AScanIsOrderedExactlyOnceAndGuarded) {
  int validated = 0;
  at_every_load([&](auto& database, const Model& before, Random& random) {
    const std::uint64_t lo = random.below(kIds);
    const std::uint64_t hi = std::min(kIds - 1, lo + random.below(40));
    const Order order = random.below(2) == 0 ? Order::ascending : Order::descending;
    std::vector<std::pair<std::uint64_t, Record<M>*>> rows;
    std::vector<NodeVersion<M>> nodes;
    database.index.scan(key_of(lo), key_of(hi), order,
                        [&](const NodeVersion<M>& seen, auto entries) {
                          nodes.push_back(seen);
                          for (const auto& entry : entries) {
                            rows.emplace_back(id_of(entry.key), entry.record);
                          }
                          return true;
                        });
    M::loads_left = 0;
    if (order == Order::descending) std::ranges::reverse(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& [id, record] = rows[i];
      ASSERT_TRUE(lo <= id && id <= hi);
      ASSERT_TRUE(i == 0 || rows[i - 1].first < id);
      const auto was = before.find(id);
      const auto is = database.model.find(id);
      ASSERT_TRUE((was != before.end() && was->second == record) ||
                  (is != database.model.end() && is->second == record));
    }
    // If the transaction could commit now, then only with the present content.
    const bool valid = std::ranges::all_of(
        nodes, [](const NodeVersion<M>& node) { return node.word->peek() == node.value; });
    if (!valid) return;
    ++validated;
    const Model& now = database.model;
    const std::vector<std::pair<std::uint64_t, Record<M>*>> expected(now.lower_bound(lo),
                                                                     now.upper_bound(hi));
    ASSERT_EQ(rows, expected);
  });
  EXPECT_GT(validated, 0);
}

/// A leaf takes over the range of a subtree that is removed while a scan descends. The scan must
/// not take what is inserted there for part of the range it had descended for, and find it a second
/// time.
TEST_F(ScanInterleavingTest, AScanKeepsToTheRangeItDescendedFor) {
  constexpr std::uint64_t kLeaf = 8;
  constexpr std::uint64_t kSubtree = 18 * kLeaf;  // of full nodes, as ascending inserts leave them
  for (const Order order : {Order::ascending, Order::descending}) {
    const bool ascending = order == Order::ascending;
    // The last subtree's range goes to the one before it, any other's to the one after it.
    const std::uint64_t rows = ascending ? 2 * kSubtree : 3 * kSubtree;
    const std::uint64_t neighbour = ascending ? kSubtree - 1 : 2 * kSubtree;
    std::vector<Record<M>> records(rows);
    for (int load = 1; load < kLoadsMax; load += kSlowdown) {
      SCOPED_TRACE(::testing::Message() << (ascending ? "ascending" : "descending") << ' ' << load);
      Database<OrderedIndex<M, K>> database;
      for (std::uint64_t id = 0; id < rows; ++id) database.insert(id, &records[id]);
      M::other = [&] {
        for (std::uint64_t id = kSubtree; id < 2 * kSubtree; ++id) database.remove(id);
        database.remove(neighbour);  // frees a slot, so that its leaf need not split
        database.insert(kSubtree + 50, &records[kSubtree + 50]);
      };
      M::loads_left = load;
      std::vector<std::uint64_t> ids;
      database.index.scan(key_of(kSubtree - 4), key_of(2 * kSubtree + 4), order,
                          [&](const NodeVersion<M>&, auto entries) {
                            for (const auto& entry : entries) ids.push_back(id_of(entry.key));
                            return true;
                          });
      M::loads_left = 0;
      if (!ascending) std::ranges::reverse(ids);
      ASSERT_EQ(std::ranges::adjacent_find(ids, std::greater_equal{}), ids.end());
      if (std::exchange(M::other, nullptr) != nullptr) break;  // the scan made fewer loads
    }
  }
}

}  // namespace
}  // namespace heddle::test
