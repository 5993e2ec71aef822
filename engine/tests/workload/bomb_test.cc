#include "workload/bomb.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "damage.h"

namespace heddle::bomb {
namespace {

using test::Alone;

BombOptions few(OptionMap more = {}) {
  more.insert({{"factories", "2"},
               {"products", "3"},
               {"materials", "64"},
               {"trees", "16"},
               {"product_trees", "2"},
               {"tree_items", "4"},
               {"item_materials", "2"}});
  return BombOptions::parse(more);
}

class BombTest : public test::Damage<Bomb> {
 protected:
  BombTest() : Damage(factory_) {}

  Input input(Type type, std::uint64_t transaction = 7) {
    Input drawn{};
    drawn.type = type;
    drawn.factory = 1;
    drawn.transaction = transaction;
    return drawn;
  }
  void commit(const Input& input) { ASSERT_EQ(factory_.execute(input), Outcome::commit); }

  std::vector<std::uint64_t> products() {
    std::vector<std::uint64_t> found;
    tables().manufacturing.for_each([&](const Key1& key, const Manufacturing&) {
      if (first_of(key) == 1) found.push_back(second_of(key));
    });
    return found;
  }
  const ProductCost* cost(std::uint64_t product) {
    return tables().product_cost.find_quiescent(pair_key(1, product));
  }
  /// The raw materials of an item, and how many of each it needs.
  std::map<std::uint64_t, std::uint64_t> materials(std::uint64_t item) {
    std::map<std::uint64_t, std::uint64_t> found;
    tables().construction.for_each([&](const Key1& key, const Construction& row) {
      if (first_of(key) == item) found[second_of(key)] = row.quantity;
    });
    return found;
  }
  /// An item of raw materials that a product is made of.
  std::uint64_t item_of(std::uint64_t product) {
    std::uint64_t item = product;
    while (!tables().items.is_material(materials(item).begin()->first)) {
      item = materials(item).begin()->first;
    }
    return item;
  }

  Alone<Bomb> factory_{few()};
};

TEST_F(BombTest, CostsTheProductsOfAFactory) {
  commit(input(Type::update_product_cost));
  ASSERT_EQ(products().size(), 3U);
  for (const std::uint64_t product : products()) {
    ASSERT_NE(cost(product), nullptr);
    EXPECT_EQ(cost(product)->costing, 7U);
    // Nothing has been bought, so every material costs the same.
    EXPECT_EQ(cost(product)->roll_up.millicents, cost(product)->roll_up.materials * 100 * 1000);
    EXPECT_GE(cost(product)->roll_up.materials, 2U * 2U) << "trees, and materials of an item";
    EXPECT_EQ(tables().product_cost.find_quiescent(pair_key(0, product))->costing, 0U);
  }
  EXPECT_EQ(violated(), Names{});
}

TEST_F(BombTest, FollowsThePricesOfItsMaterials) {
  const std::uint64_t product = products().front();
  const auto [material, quantity] = *materials(item_of(product)).begin();
  commit(input(Type::update_product_cost, 1));
  const RollUp before = cost(product)->roll_up;
  Input purchase = input(Type::update_material_cost);
  purchase.numbers[0] = static_cast<std::uint32_t>(material);
  purchase.price_cents = 150;
  commit(purchase);
  const MaterialCost* stock = tables().material_cost.find_quiescent(pair_key(1, material));
  EXPECT_EQ(stock->stock_quantity, 2U);
  EXPECT_EQ(stock->unit_millicents(), 125'000U);
  EXPECT_EQ(violated(), Names{}) << "the stored cost is that of the prices it has read";
  commit(input(Type::update_product_cost, 2));
  const RollUp after = cost(product)->roll_up;
  EXPECT_GE(after.millicents, before.millicents + quantity * 25'000);
  EXPECT_EQ(after.materials, before.materials);
  EXPECT_EQ(violated(), Names{});
}

TEST_F(BombTest, ChangesAMaterialAndKeepsItsQuantity) {
  const std::uint64_t item = item_of(products().front());
  const auto before = materials(item);
  Input change = input(Type::change_raw_material);
  change.item = static_cast<std::uint32_t>(item);
  change.place = 3;  // the second of two
  // A material that the item already has: the next one that it has not is taken.
  change.material = static_cast<std::uint32_t>(before.begin()->first);
  commit(change);
  const auto after = materials(item);
  ASSERT_EQ(after.size(), 2U);
  EXPECT_TRUE(after.contains(before.begin()->first));
  EXPECT_FALSE(after.contains(before.rbegin()->first));
  const auto sum = [](const auto& map) {
    std::uint64_t all = 0;
    for (const auto& each : map) all += each.second;
    return all;
  };
  EXPECT_EQ(sum(after), sum(before));
  EXPECT_EQ(violated(), Names{});
}

TEST_F(BombTest, ReplacesAProduct) {
  commit(input(Type::update_product_cost));
  const std::vector<std::uint64_t> before = products();
  Input change = input(Type::change_product);
  change.old_product = static_cast<std::uint32_t>(before[1]);
  change.product = static_cast<std::uint32_t>(before[2] + 1);
  change.numbers[0] = static_cast<std::uint32_t>(tables().items.root(0));
  change.numbers[1] = static_cast<std::uint32_t>(tables().items.root(5));
  commit(change);
  EXPECT_EQ(products(), (std::vector<std::uint64_t>{before[0], before[2], before[2] + 1}));
  EXPECT_EQ(cost(before[1]), nullptr);
  EXPECT_EQ(cost(before[2] + 1), nullptr) << "until the next costing";
  commit(input(Type::update_product_cost, 8));
  ASSERT_NE(cost(before[2] + 1), nullptr);
  EXPECT_EQ(violated(), Names{});
}

TEST_F(BombTest, FindsTheFirstProductFromANumberOn) {
  const std::vector<std::uint64_t> made = products();
  Input change = input(Type::change_product_quantity);
  change.product = static_cast<std::uint32_t>(made[0] + 1);
  commit(change);
  change.product = 0xffff'ffff;  // none: the first of the factory
  commit(change);
  const auto quantity = [this](std::uint64_t product) {
    return tables().manufacturing.find_quiescent(pair_key(1, product))->quantity;
  };
  EXPECT_EQ(quantity(made[0]), 2U);
  EXPECT_EQ(quantity(made[1]), 2U);
  EXPECT_EQ(quantity(made[2]), 1U);
}

TEST_F(BombTest, IssuesAVoucherForEachCost) {
  commit(input(Type::update_product_cost));
  commit(input(Type::issue_journal_voucher, 9));
  std::map<std::uint64_t, JournalVoucher> vouchers;
  tables().journal_voucher.for_each([&](const Key1& key, const JournalVoucher& row) {
    EXPECT_EQ(transaction_of(key), 9U);
    vouchers[second_of({{row.product}})] = row;
  });
  ASSERT_EQ(vouchers.size(), 3U);
  for (const std::uint64_t product : products()) {
    EXPECT_EQ(vouchers.at(product).amount_millicents, 100 * cost(product)->roll_up.millicents);
    EXPECT_EQ(vouchers.at(product).of, 3U);
  }
}

TEST_F(BombTest, StaysConsistent) {
  const auto counts = factory_.run(20'000);
  EXPECT_EQ(counts.aborts, 0);
  EXPECT_EQ(counts.rollbacks.size(), 0U);
  EXPECT_EQ(counts.commits.size(), kTypes);
  EXPECT_EQ(violated(), Names{});
}

TEST(BombInputs, HaveTheWeightsOfTheAuthors) {
  Alone<Bomb> factory(few());
  std::array<int, kTypes> drawn{};
  constexpr int kDrawn = 81'200;  // 100 × the sum of the weights
  for (int i = 0; i < kDrawn; ++i) ++drawn.at(static_cast<std::size_t>(factory.next().type));
  EXPECT_NEAR(drawn[0], 100, 50);  // a single worker draws the long type too
  EXPECT_NEAR(drawn[1], 50'000, 1000);
  EXPECT_NEAR(drawn[2], 10'000, 500);
  EXPECT_NEAR(drawn[3], 100, 50);
  EXPECT_NEAR(drawn[4], 20'000, 700);
  EXPECT_NEAR(drawn[5], 1000, 150);
}

/// Whether a worker draws the long type always, and whether it ever does.
std::pair<bool, bool> draws_long(int worker, int workers) {
  const BombOptions options = few({{"long_workers", "2"}});
  const InputGenerator generator(options, workers);
  Items items(options);
  Random random(1);
  items.draw(random);
  bool always = true;
  bool ever = false;
  for (int i = 0; i < 5000; ++i) {
    Input input{};
    generator.generate(random, worker, workers, items, input);
    const bool is_long = input.type == Type::update_product_cost;
    always = always && is_long;
    ever = ever || is_long;
  }
  return {always, ever};
}

TEST(BombInputs, OfAWorkerOfItsOwnAreLong) {
  EXPECT_TRUE(draws_long(0, 4).first);
  EXPECT_TRUE(draws_long(1, 4).first);
  EXPECT_FALSE(draws_long(2, 4).second);
  EXPECT_TRUE(draws_long(0, 2).first) << "as many as leave one worker";
  EXPECT_FALSE(draws_long(1, 2).second);
}

/// Every condition is made to fail: a check that cannot fail proves nothing.
class BombConsistency : public BombTest {
 protected:
  void SetUp() override {
    commit(input(Type::update_product_cost));
    commit(input(Type::issue_journal_voucher, 9));
    ASSERT_EQ(violated(), Names{});
    product_ = products().front();
    item_ = item_of(product_);
    material_ = materials(item_).begin()->first;
  }

  std::uint64_t product_ = 0;
  std::uint64_t item_ = 0;
  std::uint64_t material_ = 0;
};

TEST_F(BombConsistency, AMaterialTooMany) {
  damage(tables().construction, pair_key(item_, material_),
         [](Construction& row) { ++row.quantity; });
  EXPECT_EQ(violated(), (Names{"components", "materials"}));
}

TEST_F(BombConsistency, AMaterialThatWasReplacedHalf) {
  remove(tables().construction, pair_key(item_, material_));
  EXPECT_EQ(violated(), (Names{"components", "materials"}));
}

TEST_F(BombConsistency, AProductTooFew) {
  remove(tables().manufacturing, pair_key(1, product_));
  EXPECT_EQ(violated(), (Names{"costs", "products"}));
}

TEST_F(BombConsistency, AWrongCost) {
  damage(tables().product_cost, pair_key(1, product_),
         [](ProductCost& row) { ++row.roll_up.millicents; });
  EXPECT_EQ(violated(), (Names{"roll_up", "vouchers"}));
}

TEST_F(BombConsistency, ACostOfAnotherCosting) {
  damage(tables().product_cost, pair_key(1, product_), [](ProductCost& row) { row.costing = 99; });
  EXPECT_EQ(violated(), Names{"costs"});
}

TEST_F(BombConsistency, ALostVoucher) {
  remove(tables().journal_voucher, voucher_key(9, 1));
  EXPECT_EQ(violated(), Names{"vouchers"});
}

TEST_F(BombConsistency, AVoucherOfAnotherCosting) {
  damage(tables().journal_voucher, voucher_key(9, 1), [](JournalVoucher& row) { row.costing = 1; });
  EXPECT_EQ(violated(), Names{"vouchers"});
}

}  // namespace
}  // namespace heddle::bomb
