#include "storage/ordered_index.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/storage/index_contract.h"

namespace heddle::test {
namespace {

using OrderedIndexes =
    ::testing::Types<OrderedIndex<M, Key<1>>, OrderedIndex<M, Key<2>>, OrderedIndex<M, Key<3>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(OrderedIndex, IndexContract, OrderedIndexes);

using Rows = std::vector<std::pair<std::uint64_t, Record<M>*>>;  // ids and records

template <class Index>
class OrderedIndexTest : public ::testing::Test {
 protected:
  using K = typename KeyOf<Index>::Type;
  using Entry = typename Index::Entry;
  static constexpr int kWorkers = 4;

  /// The result of a scan of the ids [lo, hi] that continues until it has `limit` rows.
  Rows scan(std::uint64_t lo, std::uint64_t hi, Order order, ObservedNodes& nodes,
            std::size_t limit = SIZE_MAX) const {
    Rows rows;
    index_.scan(key_of<K>(lo), key_of<K>(hi), order,
                [&](const NodeVersion<M>& seen, std::span<const Entry> entries) {
                  nodes.add(seen);
                  for (const Entry& entry : entries) {
                    rows.emplace_back(id_of(entry.key), entry.record);
                  }
                  return rows.size() < limit;
                });
    return rows;
  }
  InsertResult<M> insert(std::uint64_t id, Record<M>* record) {
    return index_.insert(0, key_of<K>(id), record);
  }
  bool remove(std::uint64_t id, const Record<M>* record) {
    return index_.remove(0, key_of<K>(id), record);
  }

  Storage<M> storage_{kWorkers};
  Index index_{storage_, 0};
};

TYPED_TEST_SUITE(OrderedIndexTest, OrderedIndexes);

TYPED_TEST(OrderedIndexTest, ScansMatchAModel) {
  constexpr std::uint64_t kIds = 4000;
  Records records(kIds);
  std::map<std::uint64_t, Record<M>*> model;
  Random random(3);
  constexpr int kRounds = kSlowdown > 5 ? 300 : 3000;
  for (int round = 0; round < kRounds; ++round) {
    for (int change = 0; change < 8; ++change) {
      const std::uint64_t id = random.below(kIds);
      if (random.below(kRounds) < static_cast<std::uint64_t>(round)) {  // grows first, then shrinks
        model.erase(id);
        this->remove(id, records[id]);
      } else {
        model[id] = records[id];
        this->insert(id, records[id]);
      }
    }
    const std::uint64_t lo = random.below(kIds);
    const std::uint64_t hi = round % 8 == 0 ? random.below(kIds) : lo + random.below(300);
    Rows expected;
    if (lo <= hi) expected.assign(model.lower_bound(lo), model.upper_bound(hi));
    ObservedNodes nodes;
    ASSERT_EQ(this->scan(lo, hi, Order::ascending, nodes), expected) << lo << ".." << hi;
    std::ranges::reverse(expected);
    ASSERT_EQ(this->scan(lo, hi, Order::descending, nodes), expected) << lo << ".." << hi;
  }
}

TYPED_TEST(OrderedIndexTest, AScanStopsOnRequest) {
  Records records(1000);
  for (std::uint64_t id = 0; id < 1000; ++id) this->insert(id, records[id]);
  ObservedNodes nodes;
  const Rows first = this->scan(100, 900, Order::ascending, nodes, 1);
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(first.front().first, 100u);
  EXPECT_LT(first.size(), 100u);  // the rest of one leaf
  const Rows last = this->scan(100, 900, Order::descending, nodes, 1);
  ASSERT_FALSE(last.empty());
  EXPECT_EQ(last.front().first, 900u);
  EXPECT_LT(last.size(), 100u);
}

TYPED_TEST(OrderedIndexTest, ForEachGoesInKeyOrder) {
  using K = typename TestFixture::K;
  constexpr std::uint64_t kIds = 2000;
  Records records(kIds);
  for (std::uint64_t i = 0; i < kIds; ++i) this->insert(i * 7 % kIds, records[i * 7 % kIds]);
  ASSERT_TRUE(this->index_.insert(0, K::max(), records[0]).inserted);
  std::vector<K> keys;
  this->index_.for_each([&](const K& key, Record<M>*) { keys.push_back(key); });
  EXPECT_EQ(keys.size(), kIds + 1);
  EXPECT_TRUE(std::ranges::is_sorted(keys));
}

/// A gap is guarded even where a scan found nothing: any insert into the range, and any remove from
/// it, changes a node the scan reported. The scanner can account for its own inserts.
TYPED_TEST(OrderedIndexTest, AScanGuardsItsWholeRange) {
  constexpr std::uint64_t kIds = 3000;
  Records records(kIds);
  for (int seed = 0; seed < 200 / kSlowdown; ++seed) {
    Random random(seed);
    std::vector<bool> present(kIds);
    const std::uint64_t sparsity = random.below(6) + 1;
    for (std::uint64_t id = 0; id < kIds; ++id) {
      present[id] = random.below(sparsity * sparsity) == 0;
      if (present[id]) this->insert(id, records[id]);
    }
    // Thin out a stretch, so that leaves are dropped and neighbours' ranges grow.
    for (std::uint64_t id = 1000; id < 2000 && seed % 2 == 0; ++id) {
      if (present[id] && random.below(50) != 0) present[id] = !this->remove(id, records[id]);
    }
    const std::uint64_t lo = random.below(kIds - 400);
    const std::uint64_t hi = lo + 1 + random.below(400);
    ObservedNodes nodes;
    this->scan(lo, hi, seed % 3 == 0 ? Order::descending : Order::ascending, nodes);
    for (int own = 0; own < 150; ++own) {
      const std::uint64_t id = lo + random.below(hi - lo + 1);
      if (present[id]) continue;
      nodes.own_insert(this->insert(id, records[id]));
      present[id] = true;
      ASSERT_TRUE(nodes.valid());
    }
    const std::uint64_t phantom = lo + random.below(hi - lo + 1);
    if (present[phantom]) {
      ASSERT_TRUE(this->remove(phantom, records[phantom]));
    } else {
      ASSERT_TRUE(this->insert(phantom, records[phantom]).inserted);
    }
    EXPECT_FALSE(nodes.valid()) << "seed " << seed;
    for (std::uint64_t id = 0; id < kIds; ++id) this->remove(id, records[id]);
    this->storage_.drain();
  }
}

TYPED_TEST(OrderedIndexTest, ASplitIsReportedWhole) {
  Records records(200);
  std::uint64_t splits = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t id = i * 77 % 200;
    const InsertResult<M> result = this->insert(id, records[id]);
    ASSERT_TRUE(result.inserted);
    EXPECT_TRUE(holds({result.before.word, result.after}));
    EXPECT_FALSE(holds(result.before));
    ASSERT_LE(result.created_count, 1);
    if (result.created_count == 0) continue;
    ++splits;
    EXPECT_TRUE(holds(result.created[0]));
    EXPECT_NE(result.created[0].word, result.before.word);
  }
  EXPECT_GT(splits, 4u);
  // A scan of everything visits as many leaves as splits have made.
  std::uint64_t leaves = 0;
  this->index_.scan(TestFixture::K::min(), TestFixture::K::max(), Order::ascending,
                    [&](const NodeVersion<M>&, auto) { return ++leaves > 0; });
  EXPECT_EQ(leaves, splits + 1);
}

TYPED_TEST(OrderedIndexTest, ARemovedLeafIsAChangedLeaf) {
  constexpr std::uint64_t kIds = 500;
  Records records(kIds);
  for (std::uint64_t id = 0; id < kIds; ++id) this->insert(id, records[id]);
  ObservedNodes nodes;
  this->scan(200, 300, Order::ascending, nodes);
  NodeVersion<M> last{};  // of the leaf of 250, just before it is removed
  for (std::uint64_t id = 150; id < 350; ++id) {
    if (id == 250) continue;
    ASSERT_TRUE(this->remove(id, records[id]));
  }
  ObservedNodes alone;
  ASSERT_EQ(this->scan(250, 250, Order::ascending, alone).size(), 1u);
  this->index_.scan(key_of<typename TestFixture::K>(250), key_of<typename TestFixture::K>(250),
                    Order::ascending, [&](const NodeVersion<M>& seen, auto) {
                      last = seen;
                      return true;
                    });
  ASSERT_TRUE(this->remove(250, records[250]));
  EXPECT_FALSE(holds(last));
  EXPECT_FALSE(alone.valid());
  EXPECT_FALSE(nodes.valid());
  // A later reader gets another node, which guards the same keys.
  ObservedNodes again;
  EXPECT_TRUE(this->scan(200, 300, Order::descending, again).empty());
  EXPECT_FALSE(again.has(last.word));
  this->insert(250, records[250]);
  EXPECT_FALSE(again.valid());
}

/// Keys that arrive in order leave full leaves behind, in one range of the tree or in several.
TYPED_TEST(OrderedIndexTest, AscendingInsertsFillTheLeaves) {
  constexpr std::uint64_t kRows = 20'000;
  constexpr double kRowBytes = sizeof(typename TestFixture::K) + sizeof(void*);
  Records records(1);
  // With several ranges inner nodes are split in their middle, as are the first leaves they share.
  for (const auto& [places, overhead_max] : {std::pair{1, 1.15}, std::pair{10, 1.35}}) {
    Storage<M> storage(1);
    TypeParam index(storage, kRows);
    for (std::uint64_t i = 0; i < kRows; ++i) {
      const std::uint64_t id = i % places * kRows + i / places;
      index.insert(0, key_of<typename TestFixture::K>(id), records[0]);
    }
    const auto bytes = static_cast<double>(storage.live_bytes());
    EXPECT_LT(bytes / kRows, kRowBytes * overhead_max) << places;
  }
}

/// A queue: inserts at the right, removes at the left. Memory stays that of the rows in the queue.
TYPED_TEST(OrderedIndexTest, AQueueDoesNotGrow) {
  constexpr std::uint64_t kOperations = 1'000'000 / kSlowdown;
  constexpr std::uint64_t kReclaim = 1024;  // operations between two calls of drain()
  for (const std::uint64_t length : {1, 40, 3000}) {
    Records records(1);
    std::uint64_t head = 0;
    std::int64_t bytes_max = 0;
    for (std::uint64_t tail = 0; tail < kOperations; ++tail) {
      ASSERT_TRUE(this->insert(tail, records[0]).inserted);
      if (tail >= length) {
        ASSERT_TRUE(this->remove(head++, records[0]));
      }
      if (tail % kReclaim == 0) {
        this->storage_.drain();
        bytes_max = std::max(bytes_max, this->storage_.live_bytes());
      }
    }
    // Full leaves; two that are not; and inner nodes, of which a few may be nearly empty.
    const std::uint64_t rows_bytes = length * (sizeof(typename TestFixture::K) + sizeof(void*));
    EXPECT_LT(bytes_max, static_cast<std::int64_t>(rows_bytes * 5 / 4 + 8 * 1024)) << length;
    while (head < kOperations) ASSERT_TRUE(this->remove(head++, records[0]));
    this->storage_.drain();
  }
}

TYPED_TEST(OrderedIndexTest, ADescendingQueueDoesNotGrow) {
  constexpr std::uint64_t kOperations = 300'000 / kSlowdown;
  constexpr std::uint64_t kLength = 1000;
  Records records(1);
  std::int64_t bytes_max = 0;
  for (std::uint64_t i = 0; i < kOperations; ++i) {
    ASSERT_TRUE(this->insert(kOperations - i, records[0]).inserted);
    if (i >= kLength) {
      ASSERT_TRUE(this->remove(kOperations - (i - kLength), records[0]));
    }
    if (i % 1024 != 0) continue;
    this->storage_.drain();
    bytes_max = std::max(bytes_max, this->storage_.live_bytes());
  }
  // Splits in the middle: leaves are half full.
  const std::uint64_t rows_bytes = kLength * (sizeof(typename TestFixture::K) + sizeof(void*));
  EXPECT_LT(bytes_max, static_cast<std::int64_t>(rows_bytes * 5 / 2 + 8 * 1024));
}

/// While others insert and remove around them, scans keep their order and bounds, return each key
/// once, miss none that stays, and pair keys with their records.
TYPED_TEST(OrderedIndexTest, ScansRunConcurrentlyWithWriters) {
  using K = typename TestFixture::K;
  using Entry = typename TestFixture::Entry;
  constexpr std::uint64_t kIds = 1500;
  constexpr std::uint64_t kStaying = 16;  // every 16th id stays
  constexpr int kOperations = 20'000;
  Records records(kIds);
  for (std::uint64_t id = 0; id < kIds; id += kStaying) this->insert(id, records[id]);
  std::atomic<int> wrong = 0;
  const auto scan_once = [&](Random& random, Order order) {
    const std::uint64_t lo = random.below(kIds);
    const std::uint64_t hi = std::min(kIds - 1, lo + random.below(200));
    Rows rows;
    this->index_.scan(key_of<K>(lo), key_of<K>(hi), order,
                      [&](const NodeVersion<M>&, std::span<const Entry> entries) {
                        for (const Entry& entry : entries) {
                          rows.emplace_back(id_of(entry.key), entry.record);
                        }
                        return true;
                      });
    if (order == Order::descending) std::ranges::reverse(rows);
    std::uint64_t staying = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].first < lo || rows[i].first > hi) ++wrong;
      if (i > 0 && rows[i - 1].first >= rows[i].first) ++wrong;
      if (owner_of(rows[i].second) != rows[i].first) ++wrong;
      if (rows[i].first % kStaying == 0) ++staying;
    }
    if (staying != hi / kStaying + 1 - (lo + kStaying - 1) / kStaying) ++wrong;
  };
  run_threads(TestFixture::kWorkers, [&](int worker) {
    Random random(40 + worker);
    for (int operation = 0; operation < kOperations / (worker < 2 ? 1 : 8); ++operation) {
      this->storage_.boundary(worker, M::now());
      if (worker >= 2) {
        scan_once(random, worker == 2 ? Order::ascending : Order::descending);
        continue;
      }
      const std::uint64_t id = random.below(kIds);
      if (id % kStaying == 0) continue;
      // Waves, so that leaves fill, split, empty and go.
      if ((operation / 1000 + worker) % 2 == 0) {
        this->index_.insert(worker, key_of<K>(id), records[id]);
      } else {
        this->index_.remove(worker, key_of<K>(id), records[id]);
      }
    }
    this->storage_.leave(worker);
  });
  EXPECT_EQ(wrong, 0);
}

/// Producers append at the right while consumers take what a scan finds at the left: leaves, inner
/// nodes and roots are created and removed meanwhile. Everything is taken exactly once.
TYPED_TEST(OrderedIndexTest, ThreadsShareAQueue) {
  using K = typename TestFixture::K;
  using Entry = typename TestFixture::Entry;
  constexpr std::uint64_t kIds = 20'000;
  Records records(kIds);
  std::vector<std::atomic<int>> taken(kIds);
  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> left = kIds;
  run_threads(TestFixture::kWorkers, [&](int worker) {
    while (left.load() > 0) {
      this->storage_.boundary(worker, M::now());
      if (worker < 2) {
        const std::uint64_t id = next.fetch_add(1);
        if (id >= kIds) break;
        this->index_.insert(worker, key_of<K>(id), records[id]);
        continue;
      }
      Entry oldest{};
      this->index_.scan(K::min(), K::max(), Order::ascending,
                        [&](const NodeVersion<M>&, std::span<const Entry> entries) {
                          if (!entries.empty()) oldest = entries.front();
                          return entries.empty();
                        });
      int spins = 300;  // yield: there are more workers than cores
      if (oldest.record == nullptr) {
        M::relax(spins);
      } else if (this->index_.remove(worker, oldest.key, oldest.record)) {
        ++taken[id_of(oldest.key)];
        --left;
      }
    }
    this->storage_.leave(worker);
  });
  for (const auto& count : taken) ASSERT_EQ(count, 1);
  this->index_.for_each([](const K& key, const Record<M>*) { ADD_FAILURE() << id_of(key); });
}

TEST(KeyTest, SuccessorCarries) {
  EXPECT_EQ(make_key(1, 2, 3).successor(), make_key(1, 2, 4));
  EXPECT_EQ(make_key(1, ~std::uint64_t{0}, ~std::uint64_t{0}).successor(), make_key(2, 0, 0));
  EXPECT_EQ(Key2::max().successor(), Key2::min());
}

}  // namespace
}  // namespace heddle::test
