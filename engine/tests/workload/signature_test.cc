#include "model/signature.h"

#include <gtest/gtest.h>

#include "machine/threads.h"
#include "workload/micro.h"
#include "workload/tpcc.h"
#include "workload/tpce.h"
#include "workload/ycsb.h"

namespace heddle {
namespace {

using M = ThreadsMachine;

TEST(Signature, NumbersStatesThroughTheTypes) {
  const Signature signature = Tpcc<M>::signature({});
  EXPECT_EQ(signature.state_count(), 26U);
  EXPECT_EQ(signature.first_state(0), 0U);
  EXPECT_EQ(signature.first_state(1), 11U);
  EXPECT_EQ(signature.first_state(2), 18U);
  EXPECT_EQ(signature.type_of(10), 0U);
  EXPECT_EQ(signature.type_of(11), 1U);
  EXPECT_EQ(signature.type_of(25), 2U);
  EXPECT_EQ(signature.access(17).name, "insert_history");
  EXPECT_THROW((void)signature.access(26), std::out_of_range);
}

TEST(Signature, ComparesEveryField) {
  const Signature signature = Tpcc<M>::signature({});
  EXPECT_EQ(signature, Tpcc<M>::signature({.warehouses = 4, .mix = TpccOptions::Mix::full}));
  Signature other = signature;
  other.types[1].accesses[0].loop = true;
  EXPECT_NE(signature, other);
}

/// The 26 states of the paper, in its order: another numbering could not read its policies.
TEST(TpccSignature, IsThePapers) {
  using enum AccessKind;
  const std::vector<TypeSpec> expected{
      {"new_order",
       {{"read_warehouse", "WAREHOUSE", read, false},
        {"read_district", "DISTRICT", read, false},
        {"update_district", "DISTRICT", update, false},
        {"read_item", "ITEM", read, true},
        {"read_stock", "STOCK", read, true},
        {"update_stock", "STOCK", update, true},
        {"insert_new_order", "NEW_ORDER", insert, false},
        {"insert_oorder", "OORDER", insert, false},
        {"insert_oorder_c_id_idx", "OORDER_C_ID_IDX", insert, false},
        {"insert_order_line", "ORDER_LINE", insert, true},
        {"read_customer", "CUSTOMER", read, false}}},
      {"payment",
       {{"read_warehouse", "WAREHOUSE", read, false},
        {"update_warehouse", "WAREHOUSE", update, false},
        {"read_district", "DISTRICT", read, false},
        {"update_district", "DISTRICT", update, false},
        {"read_customer", "CUSTOMER", read, false},
        {"update_customer", "CUSTOMER", update, false},
        {"insert_history", "HISTORY", insert, false}}},
      {"delivery",
       {{"scan_new_order", "NEW_ORDER", scan, true},
        {"remove_new_order", "NEW_ORDER", remove, true},
        {"read_oorder", "OORDER", read, true},
        {"update_oorder", "OORDER", update, true},
        {"scan_order_line", "ORDER_LINE", scan, true},
        {"update_order_line", "ORDER_LINE", update, true},
        {"read_customer", "CUSTOMER", read, true},
        {"update_customer", "CUSTOMER", update, true}}}};
  const Signature signature = Tpcc<M>::signature({});
  EXPECT_EQ(signature.workload, "tpcc");
  EXPECT_EQ(signature.types, expected);
}

TEST(TpccSignature, NamesTheSnapshotTypesAfterThoseWithStates) {
  const std::vector<std::string> three{"new_order", "payment", "delivery"};
  EXPECT_EQ(Tpcc<M>::type_names({}), three);
  const std::vector<std::string> five{"new_order", "payment", "delivery", "order_status",
                                      "stock_level"};
  EXPECT_EQ(Tpcc<M>::type_names({.mix = TpccOptions::Mix::full}), five);
  EXPECT_EQ(TpccOptions{.mix = TpccOptions::Mix::full}.types().with_states(), 3U);
}

/// A policy without the query's states would be refused, as one for another workload.
TEST(TpccSignature, HasTheAnalyticalQueryOnlyIfItRuns) {
  using enum AccessKind;
  const TpccOptions options{.mix = TpccOptions::Mix::full, .analytical = 0.5};
  const std::vector<std::string> six{"new_order",  "payment",      "delivery",
                                     "analytical", "order_status", "stock_level"};
  EXPECT_EQ(Tpcc<M>::type_names(options), six);
  EXPECT_EQ(options.types().with_states(), 4U);

  Signature signature = Tpcc<M>::signature(options);
  const TypeSpec query{"analytical",
                       {{"read_warehouse", "WAREHOUSE", read, true},
                        {"read_district", "DISTRICT", read, true},
                        {"scan_order_line", "ORDER_LINE", scan, true}}};
  ASSERT_EQ(signature.types.size(), 4U);
  EXPECT_EQ(signature.types.back(), query);
  EXPECT_EQ(signature.first_state(3), std::size_t{tpcc::kAnalyticalReadWarehouse});
  signature.types.pop_back();
  EXPECT_EQ(signature, Tpcc<M>::signature({}));
}

/// As many states of each type as in the paper (§7.4) and its artifact.
TEST(TpceSignature, HasThePapersStates) {
  const Signature signature = Tpce<M>::signature({});
  ASSERT_EQ(signature.types.size(), 3U);
  EXPECT_EQ(signature.types[0].accesses.size(), 30U);
  EXPECT_EQ(signature.types[1].accesses.size(), 12U);
  EXPECT_EQ(signature.types[2].accesses.size(), 23U);
  EXPECT_EQ(signature.access(tpce::kTradeOrderReadLastPrice).name, "read_last_price");
  EXPECT_EQ(signature.access(tpce::kMarketFeedUpdateLastTrade).name, "update_last_trade");
  EXPECT_EQ(signature.access(tpce::kByAccountScanTrades).table, "TRADE_CA_ID_IDX");
  EXPECT_EQ(signature, Tpce<M>::signature({.customers = 100, .market_orders = 60}));
  const std::vector<std::string> names{"trade_order", "market_feed", "trade_update"};
  EXPECT_EQ(Tpce<M>::type_names({}), names);
}

/// As many states as all of the artifact's types have.
TEST(TpceSignature, OfTheFullMixHasTradeResultAfterThem) {
  const TpceOptions full{.mix = TpceOptions::Mix::full};
  Signature signature = Tpce<M>::signature(full);
  ASSERT_EQ(signature.types.size(), 4U);
  EXPECT_EQ(signature.types[3].accesses.size(), 51U);
  EXPECT_EQ(signature.state_count(), 116U);
  EXPECT_EQ(signature.access(tpce::kTradeResultReadOpenTrade).name, "read_open_trade");
  EXPECT_EQ(signature.access(tpce::kTradeResultRemoveSummary).name, "remove_summary");
  EXPECT_EQ(signature.access(tpce::kTradeResultInsertLongRestByAccount).name,
            "insert_long_rest_by_account");
  EXPECT_EQ(signature.access(tpce::kTradeResultInsertCash).name, "insert_cash");
  signature.types.pop_back();
  EXPECT_EQ(signature, Tpce<M>::signature({}));
}

TEST(YcsbSignature, IsTheSameForEveryOption) {
  YcsbOptions options;
  options.index = YcsbOptions::Index::ordered;
  EXPECT_EQ(Ycsb<M>::signature({}), Ycsb<M>::signature(options));
  EXPECT_EQ(Ycsb<M>::signature({}).state_count(), 7U);
  EXPECT_EQ(Ycsb<M>::signature({}).access(ycsb::kRemove).kind, AccessKind::remove);
}

TEST(MicroSignature, HasTenTypesOfEight) {
  const Signature signature = Micro<M>::signature({});
  EXPECT_EQ(signature.types.size(), 10U);
  EXPECT_EQ(signature.state_count(), 80U);
  EXPECT_EQ(signature.access(0).table, "HOT");
  EXPECT_EQ(signature.access(6).table, "COLD");
  EXPECT_EQ(signature.access(79).table, "OWN_9");
  for (std::size_t state = 0; state < 80; ++state) {
    EXPECT_EQ(signature.access(state).kind, AccessKind::read_modify_write);
  }
}

}  // namespace
}  // namespace heddle
