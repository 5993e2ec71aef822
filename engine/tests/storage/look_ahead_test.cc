#include "storage/look_ahead.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "machine/threads.h"
#include "storage/hash_index.h"
#include "storage/ordered_index.h"
#include "storage/table.h"

namespace heddle::test {
namespace {

using M = ThreadsMachine;

struct Value {
  std::uint64_t number;
};

/// A table of even keys.
template <class T>
class RowsAheadTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kRows = 200;

  RowsAheadTest() {
    for (std::uint64_t id = 0; id < kRows; ++id) table_.load(make_key(2 * id), {id});
  }

  Record<M>* record(std::uint64_t key) {
    NodeVersion<M> seen;
    return table_.index().find(make_key(key), seen);
  }

  Storage<M> storage_{1};
  T table_{storage_, "T", 4 * kRows};
};

using Tables =
    testing::Types<Table<M, Key1, Value, HashIndex>, Table<M, Key1, Value, OrderedIndex>>;
TYPED_TEST_SUITE(RowsAheadTest, Tables);

TYPED_TEST(RowsAheadTest, AreThoseOfTheKeysThatAreThere) {
  const std::array<std::uint64_t, 5> keys{0, 7, 10, 11, 398};
  RowsAhead<M> rows;
  EXPECT_EQ(rows[0], nullptr) << "nothing was fetched";
  rows.fetch([&](auto ahead) {
    for (const std::uint64_t key : keys) ahead(this->table_, make_key(key), sizeof(Value));
  });
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(rows[i], this->record(keys[i]));
  EXPECT_EQ(rows[keys.size()], nullptr);
  rows.fetch([&](auto ahead) { ahead(this->table_, make_key(2), sizeof(Value)); });
  EXPECT_EQ(rows[0], this->record(2));
  EXPECT_EQ(rows[1], nullptr) << "of the fetch before";
}

TYPED_TEST(RowsAheadTest, AreBounded) {
  RowsAhead<M> rows;
  rows.fetch([&](auto ahead) {
    for (std::uint64_t id = 0; id < this->kRows; ++id) ahead(this->table_, make_key(2 * id), 8);
  });
  for (std::size_t i = 0; i < this->kRows; ++i) {
    EXPECT_EQ(rows[i], i < RowsAhead<M>::kRows ? this->record(2 * i) : nullptr);
  }
}

TYPED_TEST(RowsAheadTest, FollowALoop) {
  for (const std::size_t count : {1U, 2U, 8U, 9U, 17U, 150U}) {
    RowsAheadInLoop<M> rows;
    for (std::size_t i = 0; i < count; ++i) {
      const auto* const found = rows.turn(i, count, [&](std::size_t at, auto ahead) {
        ASSERT_LT(at, count);
        ahead(this->table_, make_key(at), sizeof(Value));
      });
      EXPECT_EQ(found, count == 1 ? nullptr : this->record(i)) << i << " of " << count;
    }
  }
}

TYPED_TEST(RowsAheadTest, FollowALoopOfSeveralRowsPerRound) {
  RowsAheadInLoop<M, 3> rows;
  for (const std::size_t count : {17U, 1U, 2U, 8U, 9U, 50U}) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto* const first = rows.turn(i, count, [&](std::size_t at, auto ahead) {
        ASSERT_LT(at, count);
        for (std::size_t k = 0; k < 3; ++k) {
          ahead(this->table_, make_key(3 * at + k), sizeof(Value));
        }
      });
      EXPECT_EQ(first, rows[0]);
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(rows[k], count == 1 ? nullptr : this->record(3 * i + k))
            << k << " of round " << i << " of " << count;
      }
    }
  }
}

}  // namespace
}  // namespace heddle::test
