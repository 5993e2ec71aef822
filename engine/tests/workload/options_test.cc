#include "model/options.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "workload/epinions/options.h"
#include "workload/micro/options.h"
#include "workload/smallbank/options.h"
#include "workload/taobench/options.h"
#include "workload/tpcc/options.h"
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

TEST(OptionReader, GivesWhatWasGivenOrElseTheFallback) {
  const OptionMap map{{"a", "3"}, {"b", "0.25"}, {"c", "red"}, {"d", "64"}};
  OptionReader reader("test", map);
  EXPECT_EQ(reader.integer("a", 1, 0, 9), 3);
  EXPECT_EQ(reader.integer("z", 1, 0, 9), 1);
  EXPECT_EQ(reader.real("b", 1, 0, 1), 0.25);
  EXPECT_EQ(reader.choice("c", "blue", {"red", "blue"}), "red");
  EXPECT_EQ(reader.integer_choice("d", 8, {8, 64}), 64);
  EXPECT_NO_THROW(reader.finish());
}

TEST(OptionReader, ErrorsNameKeyValueAndWhatIsAllowed) {
  const auto integer = [](const std::string& text) {
    const OptionMap map{{"cores", text}};
    return error_of([&] { OptionReader("test", map).integer("cores", 1, 1, 16); });
  };
  const std::string tail = "'; allowed: an integer from 1 to 16";
  for (const std::string text : {"0", "17", "", "x", "3x", "1.5", "99999999999999999999", " 3"}) {
    EXPECT_EQ(integer(text), "test: option 'cores' is '" + text + tail);
  }
  const OptionMap map{{"theta", "nan"}, {"colour", "green"}, {"size", "9"}};
  OptionReader reader("test", map);
  EXPECT_EQ(error_of([&] { reader.real("theta", 0, 0, 1); }),
            "test: option 'theta' is 'nan'; allowed: a number from 0 to 1");
  EXPECT_EQ(error_of([&] { reader.choice("colour", "red", {"red", "blue"}); }),
            "test: option 'colour' is 'green'; allowed: one of red, blue");
  EXPECT_EQ(error_of([&] { reader.integer_choice("size", 8, {8, 64}); }),
            "test: option 'size' is '9'; allowed: one of 8, 64");
}

TEST(TpccOptions, ParsesAndRefuses) {
  EXPECT_EQ(TpccOptions::parse({}).warehouses, 1);
  EXPECT_EQ(TpccOptions::parse({{"warehouses", "48"}}).warehouses, 48);
  EXPECT_EQ(TpccOptions::parse({{"mix", "full"}}).mix, TpccOptions::Mix::full);
  EXPECT_EQ(TpccOptions::parse({{"mix", "new_order_payment"}}).mix,
            TpccOptions::Mix::new_order_payment);
  EXPECT_EQ(error_of([] { TpccOptions::parse({{"warehouse", "2"}}); }),
            "tpcc: unknown option 'warehouse' (given '2'); valid options: warehouses, mix");
  EXPECT_EQ(error_of([] { TpccOptions::parse({{"warehouses", "0"}}); }),
            "tpcc: option 'warehouses' is '0'; allowed: an integer from 1 to 65535");
  EXPECT_EQ(error_of([] { TpccOptions::parse({{"mix", "most"}}); }),
            "tpcc: option 'mix' is 'most'; allowed: one of read_write, full, new_order_payment");
}

TEST(YcsbOptions, ParsesAndRefuses) {
  EXPECT_EQ(YcsbOptions::parse({}).operations, 16);
  EXPECT_EQ(YcsbOptions::parse({{"read", "0"}, {"rmw", "100"}}).rmw_share, 100);
  EXPECT_EQ(error_of([] { YcsbOptions::parse({{"read", "60"}}); }),
            "ycsb: option 'read + rmw + scan + insert + delete' is '110'; allowed: shares that add "
            "up to 100");
  EXPECT_EQ(error_of([] { YcsbOptions::parse({{"read", "40"}, {"scan", "10"}}); }),
            "ycsb: option 'index' is 'hash'; allowed: ordered, where the share of scan is above 0");
  EXPECT_EQ(error_of([] { YcsbOptions::parse({{"record_bytes", "99"}}); }),
            "ycsb: option 'record_bytes' is '99'; allowed: one of 8, 64, 100, 256, 1024");
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
