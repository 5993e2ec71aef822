#include "model/hints.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "dummy/workload.h"
#include "model/signature.h"
#include "program_file.h"
#include "protocol/outcome.h"
#include "workload/bomb.h"
#include "workload/concepts.h"
#include "workload/epinions.h"
#include "workload/micro.h"
#include "workload/replay.h"
#include "workload/shop.h"
#include "workload/shop_program.h"
#include "workload/signature_check.h"
#include "workload/smallbank.h"
#include "workload/taobench.h"
#include "workload/tpcb.h"
#include "workload/tpcc.h"
#include "workload/tpce.h"
#include "workload/ycsb.h"

/// Every access is the one that the signature describes under its state, and every hint of a
/// transaction that committed names an access that it made.
namespace heddle {
namespace {

using test::Alone;
using test::SignatureCheck;

template <template <class> class W>
void expect_true_hints(const typename W<ThreadsMachine>::Options& options, int transactions) {
  using Workload = W<ThreadsMachine>;
  static_assert(HasHints<Workload>);
  Alone<W> alone(options);
  const Signature signature = Workload::signature(options);
  std::vector<std::uint64_t> hinted(signature.types.size());
  std::vector<bool> reached(signature.state_count());
  for (int i = 0; i < transactions; ++i) {
    const auto input = alone.next();
    const int number = Workload::type_of(input);
    Hints hints;
    alone.workload().hints(input, hints);
    if (alone.workload().is_snapshot(number)) {
      EXPECT_TRUE(hints.empty());
      continue;
    }
    const auto type = static_cast<std::size_t>(number);
    std::vector<Hint> accesses;
    const Outcome outcome = alone.transact([&](auto& txn) {
      SignatureCheck<ThreadsMachine> check(txn, signature, type);
      ObservedTransaction<ThreadsMachine> checked(check);
      const Outcome wanted = alone.workload().execute(checked, input);
      accesses = check.accesses();
      return wanted;
    });
    for (const Hint& access : accesses) reached[access.state] = true;
    if (outcome != Outcome::commit) continue;
    hinted[type] += hints.size();
    for (const Hint& hint : hints) {
      ASSERT_NE(std::find(accesses.begin(), accesses.end(), hint), accesses.end())
          << signature.types[type].name << ": " << signature.access(hint.state).name << " of "
          << hint.key;
    }
  }
  for (std::size_t type = 0; type < hinted.size(); ++type) {
    EXPECT_GT(hinted[type], 0U) << signature.types[type].name << " passed no hint";
  }
  for (std::size_t state = 0; state < reached.size(); ++state) {
    EXPECT_TRUE(reached[state]) << "never reached: state " << state << ", "
                                << signature.access(state).name;
  }
}

TEST(Hints, OfTheDummyAreTrue) { expect_true_hints<Dummy>({}, 1000); }

TEST(Hints, OfTpccAreTrue) { expect_true_hints<Tpcc>(TpccOptions::parse({{"mix", "full"}}), 300); }

TEST(Hints, OfTpccWithAnalyticalQueriesAreTrue) {
  expect_true_hints<Tpcc>(TpccOptions::parse({{"warehouses", "2"},
                                              {"mix", "full"},
                                              {"analytical", "4"},
                                              {"analytical_warehouses", "2"},
                                              {"analytical_orders", "20"}}),
                          300);
}

TEST(Hints, OfTpceAreTrue) {
  expect_true_hints<Tpce>(
      TpceOptions::parse(
          {{"customers", "100"}, {"trade_days", "1"}, {"theta", "0.5"}, {"market_orders", "50"}}),
      3000);
}

TEST(Hints, OfTheFullMixOfTpceAreTrue) {
  expect_true_hints<Tpce>(TpceOptions::parse({{"customers", "100"},
                                              {"trade_days", "1"},
                                              {"mix", "full"},
                                              {"theta", "0"},
                                              {"market_orders", "60"}}),
                          20'000);
}

TEST(Hints, OfYcsbAreTrue) {
  expect_true_hints<Ycsb>(YcsbOptions::parse({{"records", "300"},
                                              {"index", "ordered"},
                                              {"read", "20"},
                                              {"rmw", "20"},
                                              {"scan", "20"},
                                              {"insert", "20"},
                                              {"delete", "20"}}),
                          300);
}

TEST(Hints, OfMicroAreTrue) {
  expect_true_hints<Micro>(
      MicroOptions::parse({{"hot_records", "16"}, {"records", "100"}, {"own_records", "10"}}), 300);
}

TEST(Hints, OfTheShopAreTrue) {
  using enum test::ShopRequest::Type;
  const test::ProgramFile file = test::shop_program(
      3, 2,
      {{0, cart, 0}, {0, cart, 0}, {0, cart, 2}, {1, purchase, 1}, {0, purchase, 2}, {1, view, 0}});
  expect_true_hints<Shop>(ShopOptions::parse({{"program", file.path()}}), 100);
}

/// One session adds an order and drops it, so that every row is there when it is accessed.
test::ProgramFile orders_program() {
  return {R"(
  "tables": [{"name": "goods", "rows": 2}, {"name": "orders", "rows": 1}],
  "types": [
    {"name": "order", "accesses": [
      {"name": "look", "table": 0, "kind": "read"},
      {"name": "sell", "table": 0, "kind": "update"},
      {"name": "add", "table": 1, "kind": "insert"}]},
    {"name": "cancel", "accesses": [
      {"name": "list", "table": 1, "kind": "scan"},
      {"name": "drop", "table": 1, "kind": "delete"}]}])",
          1,
          {{0, 0, {{0, 0}, {1, 0}, {1, 1}, {2, 0}}}, {0, 1, {{0, 0}, {1, 0}}}},
          {0, 0, 1}};
}

TEST(Hints, OfAReplayAreTrue) {
  const test::ProgramFile file = orders_program();
  for (const char* hints : {"writes", "all"}) {
    expect_true_hints<Replay>(ReplayOptions::parse({{"program", file.path()}, {"hints", hints}}),
                              100);
  }
}

TEST(Hints, OfAReplayAreThoseOfItsOption) {
  const test::ProgramFile file = orders_program();
  const std::vector<std::pair<std::string, std::vector<AccessId>>> expected{
      {"none", {}}, {"writes", {1, 1, 2}}, {"all", {0, 1, 1, 2}}};
  for (const auto& [name, states] : expected) {
    Alone<Replay> alone(ReplayOptions::parse({{"program", file.path()}, {"hints", name}}));
    EXPECT_EQ(alone.workload().passes_hints(), name != "none");
    Hints hints;
    const auto input = alone.next();
    if (alone.workload().passes_hints()) alone.workload().hints(input, hints);
    std::vector<AccessId> found;
    for (const Hint& hint : hints) found.push_back(hint.state);
    EXPECT_EQ(found, states) << name;
  }
}

TEST(Hints, OfALongReplayHaveAnUpperBound) {
  std::vector<test::ProgramFile::Access> accesses;
  for (std::uint32_t row = 0; row < Hints::kMost + 10; ++row) accesses.push_back({0, row});
  const test::ProgramFile file(R"(
  "tables": [{"name": "goods", "rows": 138}],
  "types": [{"name": "all", "accesses": [{"name": "sell", "table": 0, "kind": "update"}]}])",
                               1, {{0, 0, accesses}}, std::vector<std::uint8_t>(138, 0));
  Alone<Replay> alone(ReplayOptions::parse({{"program", file.path()}, {"hints", "writes"}}));
  Hints hints;
  alone.workload().hints(alone.next(), hints);
  EXPECT_EQ(hints.size(), Hints::kMost);
}

TEST(Hints, OfSmallBankAreTrue) {
  for (const char* reads : {"latest", "snapshot"}) {
    expect_true_hints<SmallBank>(SmallBankOptions::parse({{"accounts", "100"}, {"reads", reads}}),
                                 1000);
  }
}

TEST(Hints, OfTpcbAreTrue) {
  expect_true_hints<Tpcb>(TpcbOptions::parse({{"branches", "3"}, {"accounts", "50"}}), 1000);
}

TEST(Hints, OfBombAreTrue) {
  expect_true_hints<Bomb>(BombOptions::parse({{"factories", "2"},
                                              {"products", "3"},
                                              {"materials", "64"},
                                              {"trees", "16"},
                                              {"updated_materials", "2"},
                                              {"update_product_cost", "100"},
                                              {"change_product", "100"}}),
                          2000);
}

TEST(Hints, OfEpinionsAreTrue) {
  for (const char* reads : {"latest", "snapshot"}) {
    expect_true_hints<Epinions>(
        EpinionsOptions::parse({{"users", "300"}, {"items", "100"}, {"reads", reads}}), 1000);
  }
}

TEST(Hints, OfTaoBenchAreTrue) {
  for (const char* reads : {"latest", "snapshot"}) {
    expect_true_hints<TaoBench>(TaoBenchOptions::parse({{"objects", "50"}, {"reads", reads}}),
                                1000);
  }
}

/// Payment's metadata is its warehouse and district (SMF, §4.1.1).
TEST(Hints, OfPaymentAreWarehouseAndDistrict) {
  tpcc::Input input{};
  input.type = tpcc::Type::payment;
  input.payment.warehouse = 3;
  input.payment.district = 7;
  Hints hints;
  Tpcc<ThreadsMachine>::hints(input, hints);
  ASSERT_EQ(hints.size(), 2U);
  EXPECT_EQ(hints[0], (Hint{3, tpcc::kPaymentUpdateWarehouse}));
  EXPECT_EQ(hints[1], (Hint{3U << 4 | 7, tpcc::kPaymentUpdateDistrict}));
  hints.clear();
  EXPECT_TRUE(hints.empty());
}

}  // namespace
}  // namespace heddle
