#include "storage/hash_index.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/storage/index_contract.h"

namespace heddle::test {
namespace {

using HashIndexes =
    ::testing::Types<HashIndex<M, Key<1>>, HashIndex<M, Key<2>>, HashIndex<M, Key<3>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(HashIndex, IndexContract, HashIndexes);

TEST(HashIndexTest, InsertsCreateNoNodesToWatch) {
  Storage<M> storage(1);
  HashIndex<M, Key1> index(storage, 10);
  Records records(1000);
  for (std::uint64_t id = 0; id < 1000; ++id) {
    EXPECT_EQ(index.insert(0, make_key(id), records[id]).created_count, 0);
  }
}

/// Rows up to the number expected need hardly any overflow buckets, dense keys none at all.
TEST(HashIndexTest, TheExpectedRowsFit) {
  constexpr std::uint64_t kRows = 20'000;
  Records records(kRows);
  for (const std::uint64_t stride : {1, 3, 1024, 1 << 20}) {
    Storage<M> storage(1);
    HashIndex<M, Key1> index(storage, kRows);
    const std::int64_t empty = storage.live_bytes();
    for (std::uint64_t id = 0; id < kRows; ++id) {
      index.insert(0, make_key(id * stride), records[id]);
    }
    EXPECT_LT(storage.live_bytes(), empty * 11 / 10) << "stride " << stride;
  }
}

template <class K>
double share_of_range_used(const std::vector<K>& keys) {
  std::vector<bool> used(keys.size());
  std::uint64_t count = 0;
  for (const K& key : keys) {
    const auto at = static_cast<std::size_t>(static_cast<double>(hash_of(key)) * 0x1.0p-64 *
                                             static_cast<double>(keys.size() - 1));
    count += used[at] ? 0 : 1;
    used[at] = true;
  }
  return static_cast<double>(count) / static_cast<double>(keys.size());
}

/// Keys as workloads make them spread at least about as well as random ones (1 - 1/e).
TEST(HashOfTest, SpreadsStructuredKeys) {
  std::vector<Key1> packed;
  std::vector<Key1> high;
  std::vector<Key2> pairs;
  std::vector<Key3> triples;
  for (std::uint64_t i = 0; i < 100; ++i) {
    for (std::uint64_t j = 0; j < 100; ++j) {
      packed.push_back(make_key(i << 32 | j));
      high.push_back(make_key(i << 56 | j << 40));
      pairs.push_back(make_key(i, j));
      triples.push_back(make_key(i, j % 10, j / 10));
    }
  }
  EXPECT_GT(share_of_range_used(packed), 0.55);
  EXPECT_GT(share_of_range_used(high), 0.55);
  EXPECT_GT(share_of_range_used(pairs), 0.55);
  EXPECT_GT(share_of_range_used(triples), 0.55);
}

}  // namespace
}  // namespace heddle::test
