#include "model/options.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "workload/bomb/options.h"
#include "workload/epinions/options.h"
#include "workload/micro/options.h"
#include "workload/smallbank/options.h"
#include "workload/taobench/options.h"
#include "workload/tpcb/options.h"
#include "workload/tpcc/options.h"
#include "workload/tpce/options.h"
#include "workload/ycsb/options.h"

namespace heddle {
namespace {

std::string error_of(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(OptionReader, GivesWhatWasGivenOrElseTheDefault) {
  const OptionMap map{{"a", "3"},    {"b", "0.25"}, {"c", "red"},
                      {"e", "true"}, {"f", "x,y"},  {"g", "any"}};
  OptionReader reader("test", map);
  std::uint32_t a = 1;
  int z = 1;
  double b = 1;
  std::optional<double> none;
  std::string c = "blue";
  bool is_red = false;
  std::optional<bool> e;
  std::vector<std::string> f{"w"};
  std::string g;
  reader.integer("a", a, 0, 9, "");
  reader.integer("z", z, 0, 9, "");
  reader.real("b", b, 0, 1, "");
  reader.real("y", none, 0, 1, "");
  reader.choice("c", c, {"red", "blue"}, "");
  reader.choice("c", is_red, {{"red", true}, {"blue", false}}, "");
  reader.flag("e", e, "");
  reader.names("f", f, "");
  reader.text("g", g, "");
  EXPECT_EQ(a, 3U);
  EXPECT_EQ(z, 1);
  EXPECT_EQ(b, 0.25);
  EXPECT_FALSE(none.has_value());
  EXPECT_EQ(c, "red");
  EXPECT_TRUE(is_red);
  EXPECT_EQ(e, true);
  EXPECT_EQ(f, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(g, "any");
  EXPECT_NO_THROW(reader.finish());
}

TEST(OptionReader, ErrorsNameKeyValueAndWhatIsAllowed) {
  const auto integer = [](const std::string& text) {
    const OptionMap map{{"cores", text}};
    int cores = 1;
    return error_of([&] { OptionReader("test", map).integer("cores", cores, 1, 16, ""); });
  };
  const std::string tail = "'; allowed: an integer from 1 to 16";
  for (const std::string text : {"0", "17", "", "x", "3x", "1.5", "99999999999999999999", " 3"}) {
    EXPECT_EQ(integer(text), "test: option 'cores' is '" + text + tail);
  }
  const OptionMap map{{"theta", "nan"}, {"colour", "green"}, {"on", "maybe"}};
  OptionReader reader("test", map);
  double theta = 0;
  std::string colour = "red";
  std::optional<bool> on;
  EXPECT_EQ(error_of([&] { reader.real("theta", theta, 0, 1, ""); }),
            "test: option 'theta' is 'nan'; allowed: a number from 0 to 1");
  EXPECT_EQ(error_of([&] { reader.choice("colour", colour, {"red", "blue"}, ""); }),
            "test: option 'colour' is 'green'; allowed: one of red, blue");
  EXPECT_EQ(error_of([&] { reader.flag("on", on, ""); }),
            "test: option 'on' is 'maybe'; allowed: one of true, false");
}

/// A type as a workload has it.
struct Painting {
  int width = 3;
  double gloss = 0.5;
  bool is_red = false;
  std::optional<bool> framed;
  std::vector<std::string> tags;

  void read(OptionReader& reader) {
    reader.integer("width", width, 1, 9, "width in feet");
    reader.real("gloss", gloss, 0, 1, "how much it shines");
    reader.choice("colour", is_red, {{"red", true}, {"blue", false}}, "of the paint");
    reader.flag("framed", framed, "null: as it comes");
    reader.names("tags", tags, "words");
  }
};

TEST(OptionReader, KeepsEachDeclarationInOrder) {
  using Values = std::vector<OptionValue>;
  const std::vector<OptionSpec> specs = specs_of<Painting>();
  ASSERT_EQ(specs.size(), 5U);
  EXPECT_EQ(specs[0].name, "width");
  EXPECT_EQ(specs[0].kind, OptionKind::integer);
  EXPECT_EQ(specs[0].fallback, OptionValue(std::int64_t{3}));
  EXPECT_EQ(specs[0].least, OptionValue(std::int64_t{1}));
  EXPECT_EQ(specs[0].most, OptionValue(std::int64_t{9}));
  EXPECT_EQ(specs[0].sentence, "width in feet");
  EXPECT_EQ(specs[1].kind, OptionKind::real);
  EXPECT_EQ(specs[1].most, OptionValue(1.0));
  EXPECT_EQ(specs[2].fallback, OptionValue("blue"));
  EXPECT_EQ(specs[2].choices, (Values{"red", "blue"}));
  EXPECT_EQ(specs[3].kind, OptionKind::flag);
  EXPECT_EQ(specs[3].fallback, OptionValue());
  EXPECT_EQ(specs[4].fallback, OptionValue(std::vector<std::string>{}));
}

TEST(TpccOptions, ParsesAndRefuses) {
  EXPECT_EQ(TpccOptions::parse({}).warehouses, 1);
  EXPECT_EQ(TpccOptions::parse({{"warehouses", "48"}}).warehouses, 48);
  EXPECT_EQ(TpccOptions::parse({{"mix", "full"}}).mix, TpccOptions::Mix::full);
  EXPECT_EQ(TpccOptions::parse({{"mix", "new_order_payment"}}).mix,
            TpccOptions::Mix::new_order_payment);
  EXPECT_EQ(error_of([] { TpccOptions::parse({{"warehouse", "2"}}); }),
            "tpcc: unknown option 'warehouse' (given '2'); valid options: warehouses, mix, "
            "analytical, analytical_warehouses, analytical_orders");
  EXPECT_EQ(error_of([] { TpccOptions::parse({{"warehouses", "0"}}); }),
            "tpcc: option 'warehouses' is '0'; allowed: an integer from 1 to 65535");
  EXPECT_EQ(error_of([] { TpccOptions::parse({{"mix", "most"}}); }),
            "tpcc: option 'mix' is 'most'; allowed: one of read_write, full, new_order_payment");
}

TEST(TpccOptions, RefusesAnalyticalQueriesThatDoNotFit) {
  EXPECT_EQ(TpccOptions::parse({{"mix", "full"}, {"analytical", "0.5"}}).analytical, 0.5);
  EXPECT_EQ(error_of([] { TpccOptions::parse({{"analytical", "0.5"}}); }),
            "tpcc: option 'analytical' is '0.5'; allowed: 0, or mix=full, whose StockLevels they "
            "replace");
  EXPECT_EQ(error_of([] { TpccOptions::parse({{"mix", "full"}, {"analytical", "4.5"}}); }),
            "tpcc: option 'analytical' is '4.5'; allowed: a number from 0 to 4");
  EXPECT_EQ(error_of([] {
              TpccOptions::parse({{"warehouses", "2"},
                                  {"mix", "full"},
                                  {"analytical", "1"},
                                  {"analytical_warehouses", "3"}});
            }),
            "tpcc: option 'analytical_warehouses' is '3'; allowed: 1 to the number of warehouses, "
            "2");
  EXPECT_EQ(error_of([] { TpccOptions::parse({{"analytical_orders", "30"}}); }),
            "tpcc: option 'analytical_orders' is '30'; allowed: none, or together with analytical");
  EXPECT_EQ(error_of([] { TpccOptions::parse({{"analytical_orders", "0"}}); }),
            "tpcc: option 'analytical_orders' is '0'; allowed: an integer from 1 to 1000000");
}

TEST(TpceOptions, ParsesAndRefuses) {
  EXPECT_EQ(TpceOptions::parse({}).scale().securities(), 3425U);
  EXPECT_EQ(TpceOptions::parse({{"theta", "4"}}).theta, 4);
  EXPECT_EQ(error_of([] { TpceOptions::parse({{"customers", "50"}}); }),
            "tpce: option 'customers' is '50'; allowed: an integer from 100 to 20000");
  EXPECT_EQ(error_of([] { TpceOptions::parse({{"customers", "250"}}); }),
            "tpce: option 'customers' is '250'; allowed: multiples of 100");
  EXPECT_FALSE(TpceOptions::parse({{"trade_update", "20"}}).is_full());
  EXPECT_TRUE(TpceOptions::parse({{"mix", "full"}, {"trade_update", "50"}}).is_full());
  EXPECT_EQ(error_of([] { TpceOptions::parse({{"mix", "full"}, {"trade_update", "20"}}); }),
            "tpce: option 'trade_update' is '20'; allowed: any with mix=polyjuice; with mix=full "
            "they are 2 % of the transactions");
  EXPECT_EQ(error_of([] { TpceOptions::parse({{"theta", "4.5"}}); }),
            "tpce: option 'theta' is '4.5'; allowed: a number from 0 to 4");
}

TEST(YcsbOptions, ParsesAndRefuses) {
  EXPECT_EQ(YcsbOptions::parse({}).operations, 16);
  EXPECT_EQ(YcsbOptions::parse({{"read", "0"}, {"rmw", "100"}}).rmw_share, 100);
  EXPECT_EQ(error_of([] { YcsbOptions::parse({{"read", "60"}}); }),
            "ycsb: option 'read + rmw + scan + insert + delete' is '110'; allowed: shares that add "
            "up to 100");
  EXPECT_EQ(error_of([] { YcsbOptions::parse({{"read", "40"}, {"scan", "10"}}); }),
            "ycsb: option 'index' is 'hash'; allowed: ordered, where the share of scan is above 0");
  EXPECT_EQ(error_of([] { YcsbOptions::parse({{"record_bytes", "7"}}); }),
            "ycsb: option 'record_bytes' is '7'; allowed: an integer from 8 to 4096");
  EXPECT_EQ(
      error_of([] { YcsbOptions::parse({{"read", "35"}, {"insert", "5"}, {"delete", "10"}}); }),
      "ycsb: option 'delete' is '10'; allowed: 0 to the share of insert, 5, as only inserted "
      "rows are deleted");
}

TEST(MicroOptions, ParsesAndRefuses) {
  EXPECT_EQ(MicroOptions::parse({}).records, 10'000'000U);
  EXPECT_EQ(MicroOptions::parse({{"theta", "1"}}).theta, 1);
  EXPECT_EQ(error_of([] { MicroOptions::parse({{"theta", "-1"}}); }),
            "micro: option 'theta' is '-1'; allowed: a number from 0 to 4");
}

TEST(SmallBankOptions, ParsesAndRefuses) {
  EXPECT_EQ(SmallBankOptions::parse({}).accounts, 1'000'000U);
  EXPECT_FALSE(SmallBankOptions::parse({}).reads.on_snapshots);
  EXPECT_TRUE(SmallBankOptions::parse({{"reads", "snapshot"}}).reads.on_snapshots);
  EXPECT_EQ(error_of([] { SmallBankOptions::parse({{"balance", "16"}}); }),
            "smallbank: option 'amalgamate + deposit_checking + send_payment + transact_savings + "
            "write_check + balance' is '101'; allowed: shares that add up to 100");
  EXPECT_EQ(error_of([] { SmallBankOptions::parse({{"accounts", "50"}}); }),
            "smallbank: option 'hot_accounts' is '100'; allowed: 2 to the number of accounts, 50");
  EXPECT_EQ(SmallBankOptions::parse({{"accounts", "50"}, {"skew", "zipf"}}).accounts, 50U);
}

TEST(TpcbOptions, ParsesAndRefuses) {
  EXPECT_EQ(TpcbOptions::parse({}).accounts, 100'000U);
  EXPECT_EQ(error_of([] { TpcbOptions::parse({{"branches", "0"}}); }),
            "tpcb: option 'branches' is '0'; allowed: an integer from 1 to 1000000");
  EXPECT_EQ(error_of([] { TpcbOptions::parse({{"remote", "101"}}); }),
            "tpcb: option 'remote' is '101'; allowed: an integer from 0 to 100");
}

TEST(BombOptions, ParsesAndRefuses) {
  EXPECT_EQ(BombOptions::parse({}).weights[1], 500U);
  EXPECT_EQ(error_of([] { BombOptions::parse({{"products", "0"}}); }),
            "bomb: option 'products' is '0'; allowed: an integer from 1 to 128");
  EXPECT_EQ(error_of([] {
              BombOptions::parse({{"update_material_cost", "0"},
                                  {"issue_journal_voucher", "0"},
                                  {"change_product", "0"},
                                  {"change_raw_material", "0"},
                                  {"change_product_quantity", "0"}});
            }),
            "bomb: option 'weights of the short types' is '0'; allowed: a weight above 0 for one "
            "of them at least");
}

TEST(EpinionsOptions, ParsesAndRefuses) {
  EXPECT_EQ(EpinionsOptions::parse({}).mix.shares[2], 20);
  EXPECT_EQ(error_of([] { EpinionsOptions::parse({{"users", "0"}}); }),
            "epinions: option 'users' is '0'; allowed: an integer from 1 to 100000000");
  EXPECT_EQ(error_of([] { EpinionsOptions::parse({{"reads", "dirty"}}); }),
            "epinions: option 'reads' is 'dirty'; allowed: one of latest, snapshot");
}

TEST(TaoBenchOptions, ParsesAndRefuses) {
  EXPECT_EQ(TaoBenchOptions::parse({{"long", "0"}}).long_share, 0);
  EXPECT_EQ(error_of([] { TaoBenchOptions::parse({{"objects", "15"}}); }),
            "taobench: option 'objects' is '15'; allowed: an integer from 17 to 100000000");
  EXPECT_EQ(error_of([] { TaoBenchOptions::parse({{"read", "20"}}); }),
            "taobench: option 'write + write_txn + read + read_txn' is '105'; allowed: shares "
            "that add up to 100");
}

}  // namespace
}  // namespace heddle
