#include "workload/smallbank.h"

#include <cstdint>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "alone.h"
#include "damage.h"

namespace heddle::smallbank {
namespace {

using test::Alone;

SmallBankOptions few(OptionMap more = {}) {
  more.insert({{"accounts", "20"}, {"hot_accounts", "5"}});
  return SmallBankOptions::parse(more);
}

struct Money {
  std::int64_t savings;
  std::int64_t checking;

  bool operator==(const Money&) const = default;
};

class SmallBankTransactions : public testing::Test {
 protected:
  Money money_of(std::uint64_t customer) {
    const auto& tables = bank_.workload().tables();
    return {tables.savings.find_quiescent(make_key(customer))->balance_cents,
            tables.checking.find_quiescent(make_key(customer))->balance_cents};
  }
  Outcome run(Type type, std::uint32_t customer, std::uint32_t other, std::int64_t amount_cents) {
    return bank_.execute(
        {.type = type, .customer = customer, .other = other, .amount_cents = amount_cents});
  }

  Alone<SmallBank> bank_{few()};
  const Money one_ = money_of(1);
  const Money two_ = money_of(2);
};

TEST_F(SmallBankTransactions, AmalgamateMovesAllOfACustomersMoney) {
  ASSERT_EQ(run(Type::amalgamate, 2, 1, 0), Outcome::commit);
  EXPECT_EQ(money_of(2), (Money{0, 0}));
  EXPECT_EQ(money_of(1), (Money{one_.savings, one_.checking + two_.savings + two_.checking}));
}

TEST_F(SmallBankTransactions, DepositCheckingAdds) {
  ASSERT_EQ(run(Type::deposit_checking, 1, 2, 6'00), Outcome::commit);
  EXPECT_EQ(money_of(1), (Money{one_.savings, one_.checking + 6'00}));
}

TEST_F(SmallBankTransactions, SendPaymentMovesWhatIsThere) {
  ASSERT_EQ(run(Type::send_payment, 2, 1, 5'00), Outcome::commit);
  EXPECT_EQ(money_of(2), (Money{two_.savings, two_.checking - 5'00}));
  EXPECT_EQ(money_of(1), (Money{one_.savings, one_.checking + 5'00}));
  ASSERT_EQ(run(Type::send_payment, 2, 1, two_.checking - 5'00), Outcome::commit);
  EXPECT_EQ(run(Type::send_payment, 2, 1, 1), Outcome::rollback);
  EXPECT_EQ(money_of(2), (Money{two_.savings, 0}));
}

TEST_F(SmallBankTransactions, TransactSavingsDoesNotOverdraw) {
  ASSERT_EQ(run(Type::transact_savings, 1, 2, -one_.savings), Outcome::commit);
  EXPECT_EQ(run(Type::transact_savings, 1, 2, -1), Outcome::rollback);
  ASSERT_EQ(run(Type::transact_savings, 1, 2, 20'20), Outcome::commit);
  EXPECT_EQ(money_of(1), (Money{20'20, one_.checking}));
}

TEST_F(SmallBankTransactions, WriteCheckChargesAPenaltyWhereItIsNotCovered) {
  ASSERT_EQ(run(Type::write_check, 1, 2, 5'00), Outcome::commit);
  EXPECT_EQ(money_of(1).checking, one_.checking - 5'00);
  ASSERT_EQ(run(Type::amalgamate, 1, 2, 0), Outcome::commit);
  ASSERT_EQ(run(Type::write_check, 1, 2, 5'00), Outcome::commit);
  EXPECT_EQ(money_of(1), (Money{0, -5'00 - kPenalty_cents}));
}

TEST(SmallBankInputs, HaveTheMixOfTheBenchmark) {
  Alone<SmallBank> bank(SmallBankOptions::parse({{"accounts", "1000"}}));
  std::map<Type, int> drawn;
  for (int i = 0; i < 20'000; ++i) ++drawn[bank.next().type];
  for (const auto& [type, count] : drawn) {
    EXPECT_NEAR(count, type == Type::send_payment ? 5000 : 3000, 250)
        << kTypeNames[static_cast<std::size_t>(type)];
  }
  EXPECT_EQ(drawn.size(), kTypes);
}

TEST(SmallBankInputs, AreForHotCustomersMostly) {
  Alone<SmallBank> bank(SmallBankOptions::parse(
      {{"accounts", "10000"}, {"hot_accounts", "10"}, {"hot_share", "80"}}));
  int hot = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Input input = bank.next();
    EXPECT_NE(input.customer, input.other);
    hot += input.customer < 10 && input.other < 10;
  }
  EXPECT_NEAR(hot, 8000, 200);
}

TEST(SmallBankInputs, AreZipfianWhereAsked) {
  Alone<SmallBank> bank(
      SmallBankOptions::parse({{"accounts", "1000"}, {"skew", "zipf"}, {"theta", "1"}}));
  int first = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Input input = bank.next();
    EXPECT_NE(input.customer, input.other);
    first += input.customer == 0;
  }
  EXPECT_NEAR(first, 10'000 / 7.485, 150);  // the sum of 1/n to 1000
}

TEST(SmallBank, StaysConsistentAndSolvent) {
  for (const char* reads : {"latest", "snapshot"}) {
    Alone<SmallBank> bank(few({{"reads", reads}}));
    const auto counts = bank.run(100'000);
    EXPECT_EQ(counts.aborts, 0);
    EXPECT_EQ(counts.commits.size(), kTypes);
    // However long it runs, most payments and withdrawals are covered.
    EXPECT_GT(counts.commits.at(2), counts.rollbacks.at(2));
    EXPECT_GT(counts.commits.at(3), counts.rollbacks.at(3));
    EXPECT_EQ(bank.workload().check(), std::vector<std::string>{});
  }
}

/// Every condition is made to fail: a check that cannot fail proves nothing.
class SmallBankConsistency : public test::Damage<SmallBank> {
 protected:
  SmallBankConsistency() : Damage(bank_) { (void)bank_.run(1000); }

  Alone<SmallBank> bank_{few()};
  const Key1 some_ = make_key(3u);
};

TEST_F(SmallBankConsistency, HoldsAtFirst) { EXPECT_EQ(violated(), Names{}); }

TEST_F(SmallBankConsistency, MoneyOutOfNowhere) {
  damage(tables().checking, some_, [](Checking& row) { row.balance_cents += 1; });
  EXPECT_EQ(violated(), Names{"checking"});
}

TEST_F(SmallBankConsistency, LostPayment) {
  damage(tables().checking, some_, [](Checking& row) {
    row.balance_cents -= 5'00;
    row.paid_cents -= 5'00;
  });
  EXPECT_EQ(violated(), Names{"payments"});
  EXPECT_EQ(bank_.workload().check().front(), "payments: transfers created -500 cents");
}

TEST_F(SmallBankConsistency, LostAmalgamation) {
  damage(tables().savings, some_, [](Savings& row) {
    row.balance_cents += 7;
    row.amalgamated_cents += 7;
  });
  EXPECT_EQ(violated(), Names{"amalgamations"});
}

TEST_F(SmallBankConsistency, ImpossibleAmounts) {
  damage(tables().checking, some_, [](Checking& row) {
    row.balance_cents += 1;
    row.deposited_cents += 1;
  });
  damage(tables().savings, some_, [](Savings& row) {
    row.balance_cents += 1;
    row.transacted_cents += 1;
  });
  EXPECT_EQ(violated(), (Names{"checking", "savings"}));
}

TEST_F(SmallBankConsistency, OverdrawnSavings) {
  damage(tables().savings, some_, [](Savings& row) {
    const std::int64_t times = row.balance_cents / kTransaction_cents + 1;
    row.balance_cents -= times * kTransaction_cents;
    row.transacted_cents -= times * kTransaction_cents;
  });
  EXPECT_EQ(violated(), Names{"overdrafts"});
}

TEST_F(SmallBankConsistency, WrongName) {
  damage(tables().accounts, some_, [](Account& row) { row.customer = 4; });
  EXPECT_EQ(violated(), Names{"accounts"});
}

TEST_F(SmallBankConsistency, MissingRows) {
  remove(tables().accounts, some_);
  EXPECT_EQ(violated(), Names{"rows"});
  EXPECT_EQ(bank_.workload().check().front(), "rows: ACCOUNTS has 19 rows for 20 customers");
}

}  // namespace
}  // namespace heddle::smallbank
