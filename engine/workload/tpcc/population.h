#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/random.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/random_values.h"
#include "workload/tpcc/schema.h"
#include "workload/tpcc/tables.h"

namespace heddle::tpcc {

/// Picks exactly `chosen` of `rows` rows at random, one row after the other: Knuth's Algorithm S
/// (TAOCP vol. 2, 3.4.2). "10 % of the rows, selected at random" then is exactly 10 %.
class Selection {
 public:
  Selection(std::uint64_t rows, std::uint64_t chosen) : rows_(rows), chosen_(chosen) {}

  bool next(Random& random) {
    const bool hit = random.below(rows_) < chosen_;
    --rows_;
    chosen_ -= hit;
    return hit;
  }

 private:
  std::uint64_t rows_;
  std::uint64_t chosen_;
};

/// Fills the tables according to clause 4.3.3.1. The same seed gives the same rows; each warehouse
/// and table has a random stream of its own.
template <class M>
class Population {
 public:
  Population(Tables<M>& tables, const NurandConstants& constants, std::uint64_t seed)
      : tables_(tables), constants_(constants), seed_(seed) {}

  void load(std::uint32_t warehouses) {
    load_items();
    for (std::uint32_t warehouse = 1; warehouse <= warehouses; ++warehouse) {
      load_warehouse(warehouse);
      load_stock(warehouse);
      for (std::uint32_t district = 1; district <= kDistrictsPerWarehouse; ++district) {
        load_customers(warehouse, district);
        load_orders(warehouse, district);
      }
    }
  }

 private:
  static constexpr std::int64_t kWarehouseYtd_cents = 300'000'00;
  static constexpr std::int64_t kDistrictYtd_cents = 30'000'00;
  static constexpr std::int64_t kCreditLimit_cents = 50'000'00;
  static constexpr std::uint32_t kFirstPayment_cents = 10'00;
  /// HISTORY rows of the population are numbered as if one more worker had written them.
  static constexpr std::uint64_t kLoader = 0xffff;

  enum class Part : std::uint64_t { items = 1, warehouse, stock, customers, orders };

  [[nodiscard]] Random random_for(Part part, std::uint64_t warehouse,
                                  std::uint64_t district = 0) const {
    return Random::stream(seed_,
                          static_cast<std::uint64_t>(part) << 32 | warehouse << 8 | district);
  }

  static std::uint32_t between(Random& random, std::uint32_t lo, std::uint32_t hi) {
    return static_cast<std::uint32_t>(random.between(lo, hi));
  }

  /// I_DATA or S_DATA.
  static Text<50> random_data(Random& random, bool original) {
    constexpr std::string_view kOriginal = "ORIGINAL";
    Text<50> data = random_text<50>(random, 26);
    if (original) {
      const std::size_t last_place = data.view().size() - kOriginal.size();
      std::copy(kOriginal.begin(), kOriginal.end(),
                data.chars.begin() + static_cast<std::ptrdiff_t>(random.below(last_place + 1)));
    }
    return data;
  }

  static Address random_address(Random& random) {
    Address address{.street_1 = random_text<20>(random, 10),
                    .street_2 = random_text<20>(random, 10),
                    .city = random_text<20>(random, 10),
                    .state = random_text<2>(random, 2, kLetters),
                    .zip = Text<9>::of("000011111")};  // 4.3.2.7: four random digits, then ones
    fill_random(random, address.zip.chars.data(), 4, kDigits);
    return address;
  }

  void load_items() {
    Random random = random_for(Part::items, 0);
    Selection originals(kItems, kItems / 10);
    for (std::uint32_t id = 1; id <= kItems; ++id) {
      Item item{};
      item.head.price_cents = between(random, 1'00, 100'00);
      item.head.image = static_cast<std::uint16_t>(between(random, 1, 10'000));
      item.head.original = originals.next(random);
      item.head.name = random_text<24>(random, 14);
      item.data = random_data(random, item.head.original);
      tables_.item.load(item_key(id), item);
    }
  }

  void load_warehouse(std::uint32_t id) {
    Random random = random_for(Part::warehouse, id);
    Warehouse warehouse{};
    warehouse.head = {.tax_bp = between(random, 0, 2000)};
    warehouse.ytd_cents = kWarehouseYtd_cents;
    warehouse.name = random_text<10>(random, 6);
    warehouse.address = random_address(random);
    tables_.warehouse.load(warehouse_key(id), warehouse);
    for (std::uint32_t number = 1; number <= kDistrictsPerWarehouse; ++number) {
      District district{};
      district.head = {.next_order = kLoadedOrders + 1, .tax_bp = between(random, 0, 2000)};
      district.ytd_cents = kDistrictYtd_cents;
      district.name = random_text<10>(random, 6);
      district.address = random_address(random);
      tables_.district.load(district_key(id, number), district);
    }
  }

  void load_stock(std::uint32_t warehouse) {
    Random random = random_for(Part::stock, warehouse);
    Selection originals(kItems, kItems / 10);
    for (std::uint32_t item = 1; item <= kItems; ++item) {
      const Key1 key = stock_key(warehouse, item);
      const std::uint32_t quantity = between(random, 10, 100);
      tables_.stock.load(key, {.ytd = 0, .orders = 0, .remote_orders = 0, .quantity = quantity});
      StockText text{};
      for (Text<24>& info : text.district_info) info = random_text<24>(random, 24);
      text.original = originals.next(random);
      text.data = random_data(random, text.original);
      tables_.stock_text.load(key, text);
    }
  }

  void load_customers(std::uint32_t warehouse, std::uint32_t district) {
    Random random = random_for(Part::customers, warehouse, district);
    Selection bad_credits(kCustomersPerDistrict, kCustomersPerDistrict / 10);
    std::vector<Named> named;
    for (std::uint32_t id = 1; id <= kCustomersPerDistrict; ++id) {
      // Every name once, then names at random (4.3.2.3).
      const std::uint32_t name =
          id <= kLastNames ? id - 1 : random_last_name(random, constants_.last_name_load);
      const Customer customer = random_customer_row(random, name, bad_credits.next(random));
      tables_.customer.load(customer_key(warehouse, district, id), customer);
      named.push_back({name, customer.profile.first.chars, static_cast<std::uint16_t>(id)});
      load_first_payment(random, warehouse, district, id);
    }
    load_names(warehouse, district, std::move(named));
  }

  /// A customer in the sort order of CUSTOMER_NAME.
  struct Named {
    std::uint32_t name;
    std::array<char, 16> first;
    std::uint16_t customer;

    auto operator<=>(const Named&) const = default;
  };

  void load_names(std::uint32_t warehouse, std::uint32_t district, std::vector<Named> named) {
    std::sort(named.begin(), named.end());
    for (auto begin = named.begin(); begin != named.end();) {
      const auto end = std::find_if(
          begin, named.end(), [begin](const Named& other) { return other.name != begin->name; });
      const auto count = static_cast<std::size_t>(end - begin);
      if (count > Namesakes::kMost) {
        throw std::logic_error("tpcc: " + std::to_string(count) +
                               " customers of a district share a name; enlarge Namesakes::kMost");
      }
      Namesakes row{};
      row.head.count = static_cast<std::uint16_t>(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint16_t customer = begin[static_cast<std::ptrdiff_t>(i)].customer;
        if (i < row.head.customers.size()) {
          row.head.customers[i] = customer;
        } else {
          row.more[i - row.head.customers.size()] = customer;
        }
      }
      tables_.customer_name.load(name_key(warehouse, district, kLastNameTexts[begin->name]), row);
      begin = end;
    }
  }

  static Customer random_customer_row(Random& random, std::uint32_t name, bool bad_credit) {
    Customer customer{};
    CustomerProfile& profile = customer.profile;
    profile.head = {.balance_cents = -std::int64_t{kFirstPayment_cents},
                    .ytd_payment_cents = kFirstPayment_cents,
                    .payments = 1,
                    .deliveries = 0,
                    .discount_bp = static_cast<std::uint16_t>(between(random, 0, 5000)),
                    .credit = Text<2>::of(bad_credit ? "BC" : "GC"),
                    .last = kLastNameTexts[name]};
    profile.credit_limit_cents = kCreditLimit_cents;
    profile.since_us = kPopulationTime_us;
    profile.first = random_text<16>(random, 8);
    profile.middle = Text<2>::of("OE");
    profile.phone = random_text<16>(random, 16, kDigits);
    profile.address = random_address(random);
    customer.data = random_text<500>(random, 300);
    return customer;
  }

  void load_first_payment(Random& random, std::uint32_t warehouse, std::uint32_t district,
                          std::uint32_t customer) {
    const History payment{.date_us = kPopulationTime_us,
                          .amount_cents = kFirstPayment_cents,
                          .warehouse = static_cast<std::uint16_t>(warehouse),
                          .customer_warehouse = static_cast<std::uint16_t>(warehouse),
                          .customer = static_cast<std::uint16_t>(customer),
                          .district = static_cast<std::uint8_t>(district),
                          .customer_district = static_cast<std::uint8_t>(district),
                          .data = random_text<24>(random, 12)};
    tables_.history.load(history_key(kLoader, ++payments_loaded_), payment);
  }

  void load_orders(std::uint32_t warehouse, std::uint32_t district) {
    Random random = random_for(Part::orders, warehouse, district);
    // Each customer has one order: O_C_ID is a random permutation of the customers.
    std::vector<std::uint32_t> customers(kCustomersPerDistrict);
    for (std::uint32_t i = 0; i < kCustomersPerDistrict; ++i) customers[i] = i + 1;
    for (std::size_t i = customers.size(); i > 1; --i) {
      std::swap(customers[i - 1], customers[random.below(i)]);
    }
    for (std::uint32_t id = 1; id <= kLoadedOrders; ++id) {
      const std::uint32_t customer = customers[id - 1];
      const bool delivered = id <= kLoadedDelivered;
      const OOrder order{
          .entry_us = kPopulationTime_us,
          .customer = customer,
          .carrier = delivered ? static_cast<std::uint8_t>(between(random, 1, 10)) : kNoCarrier,
          .lines = static_cast<std::uint8_t>(between(random, kFewestOrderLines, kMostOrderLines)),
          .all_local = true};
      const Key1 key = order_key(warehouse, district, id);
      tables_.order.load(key, order);
      tables_.customer_order.load(customer_order_key(warehouse, district, customer, id), {id});
      if (!delivered) tables_.new_order.load(key, {id});
      for (std::uint32_t line = 1; line <= order.lines; ++line) {
        tables_.order_line.load(order_line_key(warehouse, district, id, line),
                                random_order_line(random, warehouse, delivered));
      }
    }
  }

  static OrderLine random_order_line(Random& random, std::uint32_t warehouse, bool delivered) {
    return {.head = {.delivery_us = delivered ? kPopulationTime_us : kNoTime,
                     .amount_cents = delivered ? 0 : between(random, 1, 9'999'99),
                     .item = between(random, 1, kItems)},
            .supply_warehouse = warehouse,
            .quantity = 5,
            .district_info = random_text<24>(random, 24)};
  }

  Tables<M>& tables_;
  NurandConstants constants_;
  std::uint64_t seed_;
  std::uint64_t payments_loaded_ = 0;
};

}  // namespace heddle::tpcc
