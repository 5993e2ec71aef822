#include "workload/micro.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "alone.h"

namespace heddle {
namespace {

using test::Alone;

TEST(Micro, UpdatesAddUp) {
  Alone<Micro> micro({.theta = 1, .hot_records = 16, .records = 100, .own_records = 10});
  const auto counts = micro.run(5000);
  int commits = 0;
  for (const auto& [type, count] : counts.commits) commits += count;
  EXPECT_EQ(commits, 5000);
  EXPECT_EQ(counts.commits.size(), 10U);
  EXPECT_TRUE(micro.workload().check().empty());
}

/// A transaction that loses everything after its first update, and commits.
template <class Txn>
struct LosesUpdates {
  Txn& txn;
  int updates_left = 1;

  template <class T>
  auto read(AccessId state, T& table, const Key1& key, typename T::RecordType* found) {
    return txn.read(state, table, key, found);
  }
  template <class T, class V, class F>
  bool update(AccessId state, T& table, const Row<V>& row, F modify) {
    return updates_left-- > 0 && txn.update(state, table, row, modify);
  }
  Outcome stop() { return Outcome::commit; }
};

TEST(Micro, CheckSeesALostUpdate) {
  Alone<Micro> micro({.theta = 0, .hot_records = 16, .records = 100, .own_records = 10});
  const auto input = micro.next();
  const Outcome outcome = micro.transact([&]<class Txn>(Txn& txn) {
    LosesUpdates<Txn> losing{txn};
    return micro.workload().execute(losing, input);
  });
  ASSERT_EQ(outcome, Outcome::commit);
  EXPECT_EQ(micro.workload().check().size(), 1U);
}

TEST(Micro, InputsAreSkewedWhereTheyShouldBe) {
  Alone<Micro> micro({.theta = 1, .hot_records = 64, .records = 1000, .own_records = 100});
  std::map<std::uint32_t, int> hot;
  std::map<std::uint32_t, int> cold;
  for (int i = 0; i < 10'000; ++i) {
    const auto input = micro.next();
    ++hot[input.rows[0]];
    ASSERT_TRUE(std::is_sorted(input.rows.begin() + 1, input.rows.end() - 1));
    for (int access = 1; access < 7; ++access) ++cold[input.rows[access]];
    ASSERT_LT(input.rows[7], 100U);
  }
  EXPECT_NEAR(hot[0], 10'000 / 4.744, 300);  // 4.744: the 64th harmonic number
  EXPECT_NEAR(hot[0] / 2.0, hot[1], 200);
  EXPECT_EQ(cold.size(), 1000U);
  for (const auto& [row, count] : cold) EXPECT_NEAR(count, 60, 50);
}

}  // namespace
}  // namespace heddle
