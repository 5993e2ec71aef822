#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/random.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/initial_trades.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/names.h"
#include "workload/tpce/people.h"
#include "workload/tpce/reference_population.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/schema.h"
#include "workload/tpce/tables.h"

namespace heddle::tpce {

/// The balance of an account before its first trade.
inline constexpr std::int64_t kOpeningBalance_cents = 1'000'000'00;

/// Fills the tables (clause 2.6). The same seed gives the same rows.
template <class M>
class Population {
 public:
  /// @param full nullptr: only the tables of the mix of Polyjuice
  Population(Tables<M>& tables, FullTables<M>* full, const Scale& scale, std::uint64_t seed)
      : tables_(tables), full_(full), scale_(scale), seed_(seed) {}

  void load() {
    load_trade_types();
    load_fees();
    load_market();
    load_customers();
    if (full_ != nullptr) {
      ReferencePopulation<M>(*full_, scale_, random_for(Part::reference).next()).load();
    }
    const std::vector<std::uint32_t> broker_of = draw_brokers();
    InitialTrades<M> trades(tables_, full_, scale_, random_for(Part::trades).next(), broker_of);
    trades.load();
    load_accounts(broker_of, trades.cash_cents());
    for (std::uint32_t broker = 0; broker < scale_.brokers(); ++broker) {
      const auto& earnings = trades.earnings()[broker];
      tables_.broker.load(make_key(broker),
                          {broker_name(broker), earnings.trades, earnings.commission_cents});
    }
  }

 private:
  enum class Part : std::uint64_t {
    fees = 1,
    market,
    customers,
    brokers,
    accounts,
    trades,
    reference
  };

  [[nodiscard]] Random random_for(Part part) const {
    return Random::stream(seed_, static_cast<std::uint64_t>(part));
  }

  void load_trade_types() {
    for (std::uint32_t number = 0; number < kOrderTypes; ++number) {
      const auto type = static_cast<OrderType>(number);
      tables_.trade_type.load(make_key(number), {Text<14>::of(kOrderTypeNames[number]),
                                                 is_sell(type), is_market(type)});
    }
  }

  /// Charges, commission rates and tax rates, which the specification takes from files.
  void load_fees() {
    Random random = random_for(Part::fees);
    for (std::uint32_t tier = 0; tier < kTiers; ++tier) {
      for (std::uint32_t number = 0; number < kOrderTypes; ++number) {
        const auto type = static_cast<OrderType>(number);
        tables_.charge.load(charge_key(tier, type), {between(random, 1'00, 10'00)});
        for (std::uint32_t exchange = 0; exchange < kExchanges; ++exchange) {
          std::uint32_t from = 1;
          for (std::uint32_t to = kLeastQuantity; to <= kMostQuantity; to *= 2) {
            tables_.commission_rate.load(commission_rate_key(tier, type, exchange, from),
                                         {to, between(random, 10, 100)});
            from = to + 1;
          }
        }
      }
    }
    for (std::uint32_t rate = 0; rate < kTaxRates; ++rate) {
      const bool national = rate < kNationalTaxRates;
      tables_.taxrate.load(
          make_key(rate), {national ? between(random, 10'000, 35'000) : between(random, 0, 9'000)});
    }
  }

  void load_market() {
    for (std::uint32_t company = 0; company < scale_.companies(); ++company) {
      const CompanyName name = company_name(company);
      tables_.company.load(make_key(company), {name});
      tables_.company_by_name.load(company_name_key(name), {company});
    }
    Random random = random_for(Part::market);
    for (std::uint32_t security = 0; security < scale_.securities(); ++security) {
      const Issue issue = issue_of(security, scale_);
      tables_.security.load(make_key(security), {issue.company, security % kExchanges,
                                                 security_name(issue.company, issue.issue)});
      tables_.security_by_company.load(security_of_company_key(issue.company, issue.issue),
                                       {security});
      const std::uint32_t price_cents = between(random, kLeastPrice_cents, kMostPrice_cents);
      tables_.last_trade.load(make_key(security), {.date_us = scale_.run_start_us(),
                                                   .price_cents = price_cents,
                                                   .open_price_cents = price_cents,
                                                   .volume = 0,
                                                   .entries = 0});
    }
  }

  /// Each customer pays one national tax and one of a division.
  void load_customers() {
    Random random = random_for(Part::customers);
    for (std::uint32_t customer = 0; customer < scale_.customers; ++customer) {
      tables_.customer.load(make_key(customer), {person_name(customer), tier_of(customer)});
      tables_.customer_taxrate.load(customer_taxrate_key(customer, 0),
                                    {random.below(kNationalTaxRates)});
      tables_.customer_taxrate.load(
          customer_taxrate_key(customer, 1),
          {kNationalTaxRates + random.below(kTaxRates - kNationalTaxRates)});
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> draw_brokers() const {
    Random random = random_for(Part::brokers);
    std::vector<std::uint32_t> broker_of(scale_.accounts());
    for (std::uint32_t& broker : broker_of) broker = between(random, 0, scale_.brokers() - 1);
    return broker_of;
  }

  /// Of the accounts a fifth are not taxed, half are taxed and the tax is withheld, the others are
  /// taxed and it is not.
  void load_accounts(const std::vector<std::uint32_t>& broker_of,
                     const std::vector<std::int64_t>& cash_cents) {
    Random random = random_for(Part::accounts);
    for (std::uint32_t customer = 0; customer < scale_.customers; ++customer) {
      for (std::uint32_t index = 0; index < accounts_of(customer); ++index) {
        const std::uint32_t account = account_number(customer, index);
        const std::uint32_t share = between(random, 0, 9);
        const std::uint64_t tax_status = share < 2 ? 0 : share < 7 ? 1 : 2;
        tables_.account.load(make_key(account), {{broker_of[account], customer, tax_status},
                                                 kOpeningBalance_cents + cash_cents[account]});
        const Permitted others = permitted(account, scale_);
        for (std::size_t i = 0; i < others.count; ++i) {
          tables_.permission.load(permission_key(account, others.people[i]),
                                  {person_name(others.people[i])});
        }
      }
    }
  }

  static std::uint32_t between(Random& random, std::uint32_t lo, std::uint32_t hi) {
    return static_cast<std::uint32_t>(random.between(lo, hi));
  }

  Tables<M>& tables_;
  FullTables<M>* full_;
  Scale scale_;
  std::uint64_t seed_;
};

}  // namespace heddle::tpce
