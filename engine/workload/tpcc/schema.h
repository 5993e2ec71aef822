#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "workload/text.h"

/// The rows of TPC-C (specification v5.11, clause 1.3).
///
/// Money is in whole cents, taxes and discounts in basis points (1/100 of a percent), so that the
/// consistency conditions hold exactly. Primary keys are not repeated in the rows. A row starts
/// with a head of the frequently used columns; an access may read and write the head alone.
namespace heddle::tpcc {

// Clause 1.2.1.
inline constexpr std::uint32_t kDistrictsPerWarehouse = 10;
inline constexpr std::uint32_t kCustomersPerDistrict = 3000;
inline constexpr std::uint32_t kItems = 100'000;
inline constexpr std::uint32_t kLastNames = 1000;  // clause 4.3.2.3

inline constexpr std::uint32_t kFewestOrderLines = 5;
inline constexpr std::uint32_t kMostOrderLines = 15;
/// The most that an analytical query reads.
inline constexpr std::uint32_t kMostAnalyticalWarehouses = 32;

// Clause 4.3.3.1: the initial contents of each district.
inline constexpr std::uint32_t kLoadedOrders = kCustomersPerDistrict;
inline constexpr std::uint32_t kLoadedDelivered = 2100;  // orders up to this one

/// Times are microseconds on the clock of the inputs; the population happens at 0.
inline constexpr std::uint64_t kPopulationTime_us = 0;
/// A time that is null.
inline constexpr std::uint64_t kNoTime = ~std::uint64_t{0};
/// A carrier that is null; carriers are 1 to 10.
inline constexpr std::uint8_t kNoCarrier = 0;

struct Address {
  Text<20> street_1;
  Text<20> street_2;
  Text<20> city;
  Text<2> state;
  Text<9> zip;
};
static_assert(sizeof(Address) == 71);

// The columns of a warehouse and a district that Payment changes come after those that the others
// read: see OptimisticCore::reads_the_same().
struct WarehouseHead {
  std::int64_t tax_bp;
};
static_assert(sizeof(WarehouseHead) == 8);

struct alignas(8) Warehouse {
  WarehouseHead head;
  std::int64_t ytd_cents;
  Text<10> name;
  Address address;
};
static_assert(sizeof(Warehouse) == 104);

struct DistrictHead {
  std::uint32_t next_order;
  std::uint32_t tax_bp;
};
static_assert(sizeof(DistrictHead) == 8);

struct alignas(8) District {
  DistrictHead head;
  std::int64_t ytd_cents;
  Text<10> name;
  Address address;
};
static_assert(sizeof(District) == 104);

/// The columns of a customer that NewOrder and Delivery use.
struct alignas(8) CustomerHead {
  std::int64_t balance_cents;
  std::int64_t ytd_payment_cents;
  std::uint32_t payments;
  std::uint32_t deliveries;
  std::uint16_t discount_bp;
  Text<2> credit;  // "GC" good, "BC" bad
  Text<16> last;
};
static_assert(sizeof(CustomerHead) == 48);

/// Every column of a customer but C_DATA.
struct CustomerProfile {
  CustomerHead head;
  std::int64_t credit_limit_cents;
  std::uint64_t since_us;
  Text<16> first;
  Text<2> middle;
  Text<16> phone;
  Address address;
};
static_assert(sizeof(CustomerProfile) == 176);

struct Customer {
  CustomerProfile profile;
  Text<500> data;
};
static_assert(sizeof(Customer) == 680);

/// A row of the secondary index CUSTOMER(C_W_ID, C_D_ID, C_LAST), a posting list: the customers of
/// that name in the order of C_FIRST. No transaction of TPC-C changes a name, so it stays as
/// loaded. For most names the head is enough to find the middle customer.
struct NamesakesHead {
  static constexpr std::size_t kCustomers = 11;

  std::uint16_t count;
  std::array<std::uint16_t, kCustomers> customers;
};
static_assert(sizeof(NamesakesHead) == 24);

struct alignas(8) Namesakes {
  /// The most customers of one district that may share a name. The skew of NURand gives the
  /// commonest name about 50; the population fails if there are more than this.
  static constexpr std::size_t kMost = 131;

  NamesakesHead head;
  std::array<std::uint16_t, kMost - NamesakesHead::kCustomers> more;

  [[nodiscard]] std::uint32_t customer(std::size_t position) const {
    return position < head.customers.size() ? head.customers[position]
                                            : more[position - head.customers.size()];
  }
};
static_assert(sizeof(Namesakes) == 264);

struct History {
  std::uint64_t date_us;
  std::uint32_t amount_cents;
  std::uint16_t warehouse;           // where the payment was made
  std::uint16_t customer_warehouse;  // where the customer belongs
  std::uint16_t customer;
  std::uint8_t district;
  std::uint8_t customer_district;
  Text<24> data;
};
static_assert(sizeof(History) == 48);

struct NewOrder {
  std::uint64_t order;
};
static_assert(sizeof(NewOrder) == 8);

/// ORDER. As in most implementations the table is called OORDER: ORDER is a word of SQL, and
/// `heddle::Order` is the direction of a scan.
struct OOrder {
  std::uint64_t entry_us;
  std::uint32_t customer;
  std::uint8_t carrier;
  std::uint8_t lines;
  bool all_local;
};
static_assert(sizeof(OOrder) == 16);

/// A row of the secondary index OORDER(O_W_ID, O_D_ID, O_C_ID, O_ID).
struct CustomerOrder {
  std::uint64_t order;
};
static_assert(sizeof(CustomerOrder) == 8);

/// The columns of an order line that Delivery and StockLevel use.
struct OrderLineHead {
  std::uint64_t delivery_us;
  std::uint32_t amount_cents;
  std::uint32_t item;
};
static_assert(sizeof(OrderLineHead) == 16);

struct OrderLine {
  OrderLineHead head;
  std::uint32_t supply_warehouse;
  std::uint32_t quantity;
  Text<24> district_info;
};
static_assert(sizeof(OrderLine) == 48);

/// The columns of an item that NewOrder uses. Its output depends on I_DATA only through whether it
/// contains "ORIGINAL" (clause 2.4.2.2), which is determined once, at population.
struct alignas(8) ItemHead {
  std::uint32_t price_cents;
  std::uint16_t image;
  bool original;
  Text<24> name;
};
static_assert(sizeof(ItemHead) == 32);

struct alignas(8) Item {
  ItemHead head;
  Text<50> data;
};
static_assert(sizeof(Item) == 88);

/// The columns of STOCK that change.
struct Stock {
  std::uint32_t ytd;
  std::uint32_t orders;
  std::uint32_t remote_orders;
  std::uint32_t quantity;
};
static_assert(sizeof(Stock) == 16);

/// The columns of STOCK that never change, as a vertical partition (which clause 1.4 allows).
struct alignas(8) StockText {
  bool original;  // S_DATA contains "ORIGINAL"; in the cache line of the record's header
  std::array<Text<24>, kDistrictsPerWarehouse> district_info;  // S_DIST_01 .. S_DIST_10
  Text<50> data;
};
static_assert(sizeof(StockText) == 296);

}  // namespace heddle::tpcc
