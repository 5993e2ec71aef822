#pragma once

// The contract of both kinds of index, as one type-parameterised suite that each kind's test
// instantiates.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machine/threads.h"
#include "model/random.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "storage/record.h"
#include "storage/storage.h"

namespace heddle::test {

using M = ThreadsMachine;

/// By how much the long tests of a single thread, which has no races to find, are cut short.
#if defined(__SANITIZE_THREAD__)
inline constexpr int kSlowdown = 60;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr int kSlowdown = 5;
#else
inline constexpr int kSlowdown = 1;
#endif

/// The `id`-th key: ids and keys have the same order, and all words of wide keys matter.
template <class K>
K key_of(std::uint64_t id) {
  if constexpr (K::kWords == 1) {
    return make_key(id);
  } else if constexpr (K::kWords == 2) {
    return make_key(id / 16, id % 16);
  } else {
    static_assert(K::kWords == 3);
    return make_key(id / 64, id / 8 % 8, id % 8);
  }
}

template <class K>
std::uint64_t id_of(const K& key) {
  if constexpr (K::kWords == 1) {
    return key.words[0];
  } else if constexpr (K::kWords == 2) {
    return key.words[0] * 16 + key.words[1];
  } else {
    return key.words[0] * 64 + key.words[1] * 8 + key.words[2];
  }
}

/// Records to put into an index: a record's TID word, unused by indexes, identifies it.
class Records {
 public:
  explicit Records(std::size_t count) : records_(count) {
    for (std::size_t id = 0; id < count; ++id) {
      records_[id].word.store(id, std::memory_order_relaxed);  // relaxed: set-up
    }
  }
  Record<M>* operator[](std::size_t id) { return &records_[id]; }

 private:
  std::vector<Record<M>> records_;
};

inline std::uint64_t owner_of(const Record<M>* record) { return record->word.peek(); }

inline bool holds(const NodeVersion<M>& seen) { return seen.word->peek() == seen.value; }

/// A transaction's node set in its strictest form: each node once, each own insert exact.
class ObservedNodes {
 public:
  void add(const NodeVersion<M>& seen) {
    EXPECT_TRUE(holds(seen));
    const auto [at, fresh] = nodes_.try_emplace(seen.word, seen.value);
    if (!fresh) {
      EXPECT_EQ(at->second, seen.value);
    }
  }

  void own_insert(const InsertResult<M>& result) {
    ASSERT_TRUE(result.inserted);
    const auto at = nodes_.find(result.before.word);
    if (at == nodes_.end()) return;
    ASSERT_EQ(at->second, result.before.value);
    at->second = result.after;
    for (int i = 0; i < result.created_count; ++i) add(result.created[i]);
  }

  [[nodiscard]] bool valid() const {
    return std::ranges::all_of(nodes_,
                               [](const auto& node) { return node.first->peek() == node.second; });
  }
  [[nodiscard]] bool has(const Shared<M, std::uint64_t>* word) const {
    return nodes_.contains(word);
  }

 private:
  std::map<const Shared<M, std::uint64_t>*, std::uint64_t> nodes_;
};

/// Runs `body(worker)` on as many threads.
template <class F>
void run_threads(int workers, const F& body) {
  std::vector<std::jthread> threads;
  for (int worker = 0; worker < workers; ++worker) threads.emplace_back(body, worker);
}

template <class Index>
struct KeyOf;
template <template <class, class> class Index, class K>
struct KeyOf<Index<M, K>> {
  using Type = K;
};

template <class Index>
class IndexContract : public ::testing::Test {
 protected:
  using K = typename KeyOf<Index>::Type;
  static constexpr int kWorkers = 4;
  // Few buckets, so that a hash index's chains are long, and emptied and filled again.
  static constexpr std::size_t kExpectedRows = 40;

  Record<M>* find(std::uint64_t id) {
    NodeVersion<M> seen;
    return index_.find(key_of<K>(id), seen);
  }
  NodeVersion<M> miss(std::uint64_t id) {
    NodeVersion<M> seen;
    EXPECT_EQ(index_.find(key_of<K>(id), seen), nullptr);
    EXPECT_NE(seen.word, nullptr);
    return seen;
  }
  /// The result of a find in the fetched lines.
  Record<M>* find_fetched(std::uint64_t id) {
    return index_.find_at(index_.prefetch(key_of<K>(id)), key_of<K>(id));
  }
  InsertResult<M> insert(std::uint64_t id, Record<M>* record) {
    return index_.insert(0, key_of<K>(id), record);
  }
  bool remove(std::uint64_t id, const Record<M>* record) {
    return index_.remove(0, key_of<K>(id), record);
  }

  Storage<M> storage_{kWorkers};
  Index index_{storage_, kExpectedRows};
};

TYPED_TEST_SUITE_P(IndexContract);

TYPED_TEST_P(IndexContract, MatchesAModel) {
  constexpr int kSeeds = 12;
  constexpr int kOperations = 8000;
  Records records(4096);
  for (int seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    const std::uint64_t ids = std::uint64_t{8} << (seed % 10);  // dense to sparse
    std::map<std::uint64_t, Record<M>*> model;
    for (int operation = 0; operation < kOperations; ++operation) {
      const std::uint64_t id = random.below(ids);
      Record<M>* const record = records[random.below(4096)];
      const auto known = model.find(id);
      // Waves of growth and decline, so that nodes are made and dropped many times.
      const std::uint64_t inserts = operation / 1000 % 2 == 0 ? 6 : 2;
      switch (const std::uint64_t draw = random.below(10); draw < inserts ? 0 : draw < 8 ? 1 : 2) {
        case 0: {
          const InsertResult<M> result = this->insert(id, record);
          ASSERT_EQ(result.inserted, known == model.end());
          ASSERT_EQ(result.record, result.inserted ? record : known->second);
          if (result.inserted) model[id] = record;
          break;
        }
        case 1:
          ASSERT_EQ(this->remove(id, known == model.end() ? record : known->second),
                    known != model.end());
          if (known != model.end()) model.erase(known);
          break;
        default: {
          Record<M>* const found = this->find(id);
          ASSERT_EQ(found, known == model.end() ? nullptr : known->second);
          const Record<M>* const fetched = this->find_fetched(id);
          ASSERT_TRUE(fetched == found || fetched == nullptr);
        }
      }
    }
    std::map<std::uint64_t, Record<M>*> content;
    this->index_.for_each([&](const auto& key, Record<M>* record) {
      EXPECT_TRUE(content.emplace(id_of(key), record).second);
    });
    ASSERT_EQ(content, model);
    for (const auto& [id, record] : model) ASSERT_TRUE(this->remove(id, record));
    this->storage_.drain();
  }
}

/// As long as an index holds no more rows than expected.
TYPED_TEST_P(IndexContract, FindsNearlyEveryRecordInWhatIsFetched) {
  constexpr std::uint64_t kIds = TestFixture::kExpectedRows;
  Records records(kIds);
  for (std::uint64_t id = 0; id < kIds; ++id) this->insert(id, records[id]);
  std::uint64_t right = 0;
  for (std::uint64_t id = 0; id < kIds; ++id) right += this->find_fetched(id) == records[id];
  EXPECT_GE(right, kIds * 9 / 10);
  for (std::uint64_t id = kIds; id < 2 * kIds; ++id) EXPECT_EQ(this->find_fetched(id), nullptr);
  for (std::uint64_t id = 0; id < kIds; ++id) this->remove(id, records[id]);
  for (std::uint64_t id = 0; id < kIds; ++id) EXPECT_EQ(this->find_fetched(id), nullptr);
}

TYPED_TEST_P(IndexContract, InsertOfAPresentKeyChangesNothing) {
  Records records(2);
  const InsertResult<M> first = this->insert(5, records[0]);
  ASSERT_TRUE(first.inserted);
  EXPECT_EQ(first.before.word->peek(), first.after);
  EXPECT_NE(first.before.value, first.after);
  const InsertResult<M> second = this->insert(5, records[1]);
  EXPECT_FALSE(second.inserted);
  EXPECT_EQ(second.record, records[0]);
  EXPECT_EQ(second.created_count, 0);
  EXPECT_EQ(first.before.word->peek(), first.after);
}

TYPED_TEST_P(IndexContract, RemoveAsksForTheRecord) {
  Records records(2);
  const InsertResult<M> inserted = this->insert(5, records[0]);
  EXPECT_FALSE(this->remove(5, records[1]));
  EXPECT_FALSE(this->remove(6, records[0]));
  EXPECT_EQ(inserted.before.word->peek(), inserted.after);
  EXPECT_TRUE(this->remove(5, records[0]));
  EXPECT_NE(inserted.before.word->peek(), inserted.after);
  EXPECT_FALSE(this->remove(5, records[0]));
}

TYPED_TEST_P(IndexContract, AHitLeavesSeenAlone) {
  Records records(1);
  this->insert(5, records[0]);
  NodeVersion<M> seen{nullptr, 77};
  EXPECT_EQ(this->index_.find(key_of<typename TestFixture::K>(5), seen), records[0]);
  EXPECT_EQ(seen.word, nullptr);
  EXPECT_EQ(seen.value, 77u);
}

TYPED_TEST_P(IndexContract, ExtremeKeysAreKeysLikeOthers) {
  using K = typename TestFixture::K;
  Records records(2);
  NodeVersion<M> seen;
  EXPECT_EQ(this->index_.find(K::min(), seen), nullptr);
  EXPECT_EQ(this->index_.find(K::max(), seen), nullptr);
  EXPECT_FALSE(this->index_.remove(0, K::max(), records[0]));
  EXPECT_TRUE(this->index_.insert(0, K::max(), records[0]).inserted);
  EXPECT_TRUE(this->index_.insert(0, K::min(), records[1]).inserted);
  EXPECT_EQ(this->index_.find(K::max(), seen), records[0]);
  EXPECT_EQ(this->index_.find(K::min(), seen), records[1]);
  EXPECT_TRUE(this->index_.remove(0, K::max(), records[0]));
  EXPECT_EQ(this->index_.find(K::max(), seen), nullptr);
}

TYPED_TEST_P(IndexContract, AMissIsGuarded) {
  constexpr std::uint64_t kIds = 600;
  Records records(kIds);
  Random random(7);
  for (std::uint64_t id = 0; id < kIds; id += 2) this->insert(id, records[id]);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t id = random.below(kIds / 2) * 2 + 1;
    const NodeVersion<M> absent = this->miss(id);
    EXPECT_EQ(absent.value & VersionLock<M>::kLocked, 0u);
    records[id]->past.add(nullptr);  // an update: not the index's
    this->find(id - 1);
    EXPECT_TRUE(holds(absent));
    const InsertResult<M> result = this->insert(id, records[id]);
    ASSERT_TRUE(result.inserted);
    EXPECT_FALSE(holds(absent));
    ASSERT_TRUE(this->remove(id, records[id]));
    EXPECT_FALSE(holds(absent));  // a word never comes back to an old value
    if (result.created_count == 0) {
      EXPECT_FALSE(holds({result.before.word, result.after}));
    }
  }
}

/// A transaction that saw keys missing and then inserted some of them can distinguish its own
/// inserts from all others, whatever splits they caused.
TYPED_TEST_P(IndexContract, OwnInsertsAreDistinguishedFromOthers) {
  constexpr std::uint64_t kIds = 3000;
  Records records(kIds);
  for (int seed = 0; seed < 150 / kSlowdown; ++seed) {
    Random random(seed);
    std::vector<std::uint64_t> absent;
    const std::uint64_t stride = random.below(5) + 2;
    for (std::uint64_t id = 0; id < kIds; ++id) {
      if (id % stride == 0) {
        ASSERT_TRUE(this->insert(id, records[id]).inserted);
      } else if (random.below(8) == 0) {
        absent.push_back(id);
      }
    }
    ObservedNodes nodes;
    for (const std::uint64_t id : absent) nodes.add(this->miss(id));
    for (std::size_t i = 0; i < absent.size(); i += 2) {
      nodes.own_insert(this->insert(absent[i], records[absent[i]]));
      ASSERT_TRUE(nodes.valid());
    }
    const std::uint64_t phantom = absent[random.below(absent.size() / 2) * 2 + 1];
    ASSERT_TRUE(this->insert(phantom, records[phantom]).inserted);
    EXPECT_FALSE(nodes.valid());
    for (std::uint64_t id = 0; id < kIds; ++id) this->remove(id, records[id]);
    this->storage_.drain();
  }
}

TYPED_TEST_P(IndexContract, AnEmptiedIndexHasGivenItsNodesBack) {
  constexpr std::uint64_t kIds = 5000;
  Records records(kIds);
  const std::int64_t empty = this->storage_.live_bytes();
  for (int seed = 0; seed < 3; ++seed) {
    std::vector<std::uint64_t> ids(kIds);
    for (std::uint64_t id = 0; id < kIds; ++id) ids[id] = id;
    Random random(seed);
    const auto shuffle = [&] {
      for (std::size_t i = kIds; i > 1; --i) std::swap(ids[i - 1], ids[random.below(i)]);
    };
    shuffle();
    for (const std::uint64_t id : ids) ASSERT_TRUE(this->insert(id, records[id]).inserted);
    EXPECT_GT(this->storage_.live_bytes(), empty);
    shuffle();
    for (const std::uint64_t id : ids) ASSERT_TRUE(this->remove(id, records[id]));
    this->storage_.drain();
    EXPECT_EQ(this->storage_.live_bytes(), empty);
  }
}

/// Four threads on keys of their own, interleaved so that they share nodes: each sees exactly its
/// own changes.
TYPED_TEST_P(IndexContract, ThreadsOnDisjointKeysDoNotDisturbEachOther) {
  using K = typename TestFixture::K;
  constexpr std::uint64_t kIds = 2000;
  constexpr int kOperations = 30'000;
  constexpr int kWorkers = TestFixture::kWorkers;
  Records records(kIds);
  std::array<std::atomic<int>, kWorkers> wrong{};
  run_threads(kWorkers, [&](int worker) {
    Random random(worker);
    std::vector<bool> present(kIds);
    for (int operation = 0; operation < kOperations; ++operation) {
      this->storage_.boundary(worker, M::now());
      const std::uint64_t id = random.below(kIds / kWorkers) * kWorkers + worker;
      NodeVersion<M> seen;
      const Record<M>* found = this->index_.find(key_of<K>(id), seen);
      bool right = found == (present[id] ? records[id] : nullptr);
      if (random.below(2) == 0) {
        right &= this->index_.insert(worker, key_of<K>(id), records[id]).inserted != present[id];
        present[id] = true;
      } else {
        right &= this->index_.remove(worker, key_of<K>(id), records[id]) == present[id];
        present[id] = false;
      }
      if (!right) ++wrong[worker];
    }
    for (std::uint64_t id = worker; id < kIds; id += kWorkers) {
      this->storage_.boundary(worker, M::now());
      if (present[id]) this->index_.remove(worker, key_of<K>(id), records[id]);
    }
    this->storage_.leave(worker);
  });
  for (const auto& count : wrong) EXPECT_EQ(count, 0);
  this->index_.for_each([](const auto& key, const Record<M>*) { ADD_FAILURE() << id_of(key); });
}

/// Four threads on the same few keys: of rival inserts one succeeds, of rival removes one, and a
/// find never returns a record of another key.
TYPED_TEST_P(IndexContract, ThreadsOnTheSameKeysTakeTurns) {
  using K = typename TestFixture::K;
  constexpr std::uint64_t kIds = 200;
  constexpr int kOperations = 30'000;
  constexpr int kWorkers = TestFixture::kWorkers;
  Records records(kIds * kWorkers);  // worker w's record for key i is i + w * kIds
  std::array<std::atomic<int>, kIds> present{};
  std::atomic<int> wrong = 0;
  run_threads(kWorkers, [&](int worker) {
    Random random(100 + worker);
    for (int operation = 0; operation < kOperations; ++operation) {
      this->storage_.boundary(worker, M::now());
      const std::uint64_t id = random.below(kIds);
      NodeVersion<M> seen;
      const Record<M>* found = this->index_.find(key_of<K>(id), seen);
      if (found != nullptr && owner_of(found) % kIds != id) ++wrong;
      const Record<M>* fetched = this->find_fetched(id);
      if (fetched != nullptr && owner_of(fetched) % kIds != id) ++wrong;
      if (random.below(2) == 0) {
        const auto result = this->index_.insert(worker, key_of<K>(id), records[id + worker * kIds]);
        if (result.inserted) ++present[id];
        if (owner_of(result.record) % kIds != id) ++wrong;
      } else if (found != nullptr && this->index_.remove(worker, key_of<K>(id), found)) {
        --present[id];
      }
    }
    this->storage_.leave(worker);
  });
  EXPECT_EQ(wrong, 0);
  std::array<int, kIds> content{};
  this->index_.for_each([&](const auto& key, const Record<M>* record) {
    EXPECT_EQ(owner_of(record) % kIds, id_of(key));
    ++content[id_of(key)];
  });
  for (std::uint64_t id = 0; id < kIds; ++id) EXPECT_EQ(content[id], present[id]) << id;
}

REGISTER_TYPED_TEST_SUITE_P(IndexContract, MatchesAModel, FindsNearlyEveryRecordInWhatIsFetched,
                            InsertOfAPresentKeyChangesNothing, RemoveAsksForTheRecord,
                            AHitLeavesSeenAlone, ExtremeKeysAreKeysLikeOthers, AMissIsGuarded,
                            OwnInsertsAreDistinguishedFromOthers,
                            AnEmptiedIndexHasGivenItsNodesBack,
                            ThreadsOnDisjointKeysDoNotDisturbEachOther,
                            ThreadsOnTheSameKeysTakeTurns);

}  // namespace heddle::test
