#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "storage/key.h"
#include "workload/tpcc/schema.h"

/// Primary keys, packed into one word each, the most significant column highest, so that the order
/// of keys is the order of the columns:
///
///     warehouse 16 bits | district 4 | customer 12 | order 32 | order line 4 | item 17
namespace heddle::tpcc {

inline constexpr int kDistrictBits = 4;
inline constexpr int kCustomerBits = 12;
inline constexpr int kOrderBits = 32;
inline constexpr int kLineBits = 4;
inline constexpr int kItemBits = 17;
inline constexpr int kHistoryBits = 48;
inline constexpr std::uint32_t kMostWarehouses = 0xffff;
inline constexpr std::uint32_t kLastOrder = std::numeric_limits<std::uint32_t>::max();

static_assert(kDistrictsPerWarehouse < 1U << kDistrictBits);
static_assert(kCustomersPerDistrict < 1U << kCustomerBits);
static_assert(kMostOrderLines < 1U << kLineBits);
static_assert(kItems + 1 < 1U << kItemBits);  // one more: the unused item number

constexpr Key1 warehouse_key(std::uint64_t warehouse) { return {{warehouse}}; }

constexpr Key1 district_key(std::uint64_t warehouse, std::uint64_t district) {
  return {{warehouse << kDistrictBits | district}};
}

constexpr Key1 customer_key(std::uint64_t warehouse, std::uint64_t district,
                            std::uint64_t customer) {
  return {{district_key(warehouse, district).words[0] << kCustomerBits | customer}};
}

constexpr Key1 item_key(std::uint64_t item) { return {{item}}; }

constexpr Key1 stock_key(std::uint64_t warehouse, std::uint64_t item) {
  return {{warehouse << kItemBits | item}};
}

/// The key of ORDER and of NEW-ORDER.
constexpr Key1 order_key(std::uint64_t warehouse, std::uint64_t district, std::uint64_t order) {
  return {{district_key(warehouse, district).words[0] << kOrderBits | order}};
}

constexpr Key1 order_line_key(std::uint64_t warehouse, std::uint64_t district, std::uint64_t order,
                              std::uint64_t line) {
  return {{order_key(warehouse, district, order).words[0] << kLineBits | line}};
}

constexpr Key1 customer_order_key(std::uint64_t warehouse, std::uint64_t district,
                                  std::uint64_t customer, std::uint64_t order) {
  return {{customer_key(warehouse, district, customer).words[0] << kOrderBits | order}};
}

/// HISTORY has no primary key (clause 1.3.1): its rows are numbered by the paying worker. Each
/// worker appends to a range of its own.
constexpr Key1 history_key(std::uint64_t worker, std::uint64_t number) {
  return {{worker << kHistoryBits | number}};
}

struct DistrictId {
  std::uint32_t warehouse;
  std::uint32_t district;
};
struct OrderId {
  DistrictId district;
  std::uint32_t order;
};

constexpr DistrictId district_of(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> kDistrictBits),
          static_cast<std::uint32_t>(word & ((1U << kDistrictBits) - 1))};
}
constexpr OrderId order_of(std::uint64_t word) {
  return {district_of(word >> kOrderBits), static_cast<std::uint32_t>(word)};
}

/// Key of CUSTOMER_NAME: warehouse and district in the first word, C_LAST in the others.
using NameKey = Key3;

inline NameKey name_key(std::uint64_t warehouse, std::uint64_t district, const Text<16>& last) {
  NameKey key = {{district_key(warehouse, district).words[0], 0, 0}};
  static_assert(sizeof(last) == 2 * sizeof(key.words[0]));
  std::memcpy(&key.words[1], last.chars.data(), sizeof(last));
  return key;
}

}  // namespace heddle::tpcc
