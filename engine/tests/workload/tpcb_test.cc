#include "workload/tpcb.h"

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "damage.h"

namespace heddle::tpcb {
namespace {

using test::Alone;

constexpr std::uint64_t kBranches = 3;
constexpr std::uint64_t kAccounts = 20;

TpcbOptions few(OptionMap more = {}) {
  more.insert({{"branches", "3"}, {"accounts", "20"}});
  return TpcbOptions::parse(more);
}

TEST(Tpcb, AddsToAnAccountATellerAndItsBranch) {
  Alone<Tpcb> bank(few());
  // An account of another branch: the money is at the teller's.
  ASSERT_EQ(bank.execute({.account = 2 * kAccounts + 5,
                          .teller = kTellersPerBranch + 4,
                          .delta_cents = -700,
                          .time_us = 9,
                          .history = 77}),
            Outcome::commit);
  auto& tables = bank.workload().tables();
  EXPECT_EQ(tables.accounts.find_quiescent(make_key(2 * kAccounts + 5))->cents, -700);
  EXPECT_EQ(tables.tellers.find_quiescent(make_key(kTellersPerBranch + 4))->cents, -700);
  EXPECT_EQ(tables.branches.find_quiescent(make_key(std::uint64_t{1}))->cents, -700);
  EXPECT_EQ(tables.branches.find_quiescent(make_key(std::uint64_t{2}))->cents, 0);
  EXPECT_EQ(bank.workload().check(), std::vector<std::string>{});
}

TEST(TpcbInputs, AreMostlyOfTheTellersBranch) {
  Alone<Tpcb> bank(few());
  constexpr int kDrawn = 20'000;
  int remote = 0;
  std::set<std::uint64_t> accounts;
  std::set<std::uint64_t> tellers;
  std::set<std::uint64_t> added;
  for (int i = 0; i < kDrawn; ++i) {
    const Input input = bank.next();
    remote += input.account / kAccounts != branch_of(input.teller);
    EXPECT_LE(std::abs(input.delta_cents), 999'999);
    accounts.insert(input.account);
    tellers.insert(input.teller);
    added.insert(input.history);
  }
  EXPECT_NEAR(remote, 0.15 * kDrawn, 250);
  EXPECT_EQ(accounts.size(), kBranches * kAccounts);
  EXPECT_EQ(*accounts.rbegin(), kBranches * kAccounts - 1);
  EXPECT_EQ(tellers.size(), kBranches * kTellersPerBranch);
  EXPECT_EQ(added.size(), static_cast<std::size_t>(kDrawn));
}

TEST(TpcbInputs, OfOneBranchAreLocal) {
  Alone<Tpcb> bank(few({{"branches", "1"}, {"remote", "100"}}));
  for (int i = 0; i < 100; ++i) EXPECT_LT(bank.next().account, kAccounts);
}

TEST(Tpcb, StaysConsistent) {
  Alone<Tpcb> bank(few());
  const auto counts = bank.run(20'000);
  EXPECT_EQ(counts.aborts, 0);
  EXPECT_EQ(counts.commits.at(0), 20'000);
  EXPECT_EQ(bank.workload().check(), std::vector<std::string>{});
}

/// Every condition is made to fail: a check that cannot fail proves nothing.
class TpcbConsistency : public test::Damage<Tpcb> {
 protected:
  TpcbConsistency() : Damage(bank_) { (void)bank_.run(1000); }

  static void add_a_cent(Balance& row) { ++row.cents; }

  Alone<Tpcb> bank_{few()};
  const Key1 some_ = make_key(std::uint64_t{2});
};

TEST_F(TpcbConsistency, HoldsAtFirst) { EXPECT_EQ(violated(), Names{}); }

TEST_F(TpcbConsistency, MoneyOutOfNowhere) {
  damage(tables().accounts, some_, add_a_cent);
  EXPECT_EQ(violated(), Names{"account"});
  damage(tables().tellers, some_, add_a_cent);
  EXPECT_EQ(violated(), (Names{"account", "teller"}));
  damage(tables().branches, some_, add_a_cent);
  EXPECT_EQ(violated(), (Names{"account", "branch", "teller"}));
}

TEST_F(TpcbConsistency, LostRows) {
  remove(tables().tellers, some_);
  EXPECT_EQ(violated(), Names{"rows"});
}

TEST_F(TpcbConsistency, HistoryOfWhatDoesNotExist) {
  insert(tables().history, history_key(0, 999'999),
         {.account = 1'000'000, .teller = 1, .delta_cents = 1, .time_us = 0, .filler = {}});
  EXPECT_EQ(violated(), Names{"history"});
}

}  // namespace
}  // namespace heddle::tpcb
