#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/key.h"
#include "workload/pair_key.h"

/// The rows of BoMB. Costs are whole numbers, so that the consistency conditions hold exactly.
///
/// Items have numbers of 32 bits: the raw materials first, then the items that are made on the way
/// to a product, tree by tree, then the products.
namespace heddle::bomb {

inline constexpr std::size_t kMostProducts = 128;  ///< of a factory
inline constexpr std::size_t kMostChildren = 32;   ///< of an item
inline constexpr std::size_t kMostTrees = 16;      ///< of a product
inline constexpr std::size_t kMostTreeItems = 32;  ///< of a tree

/// A component of an item. Key: pair_key(parent, component).
struct Construction {
  std::uint64_t quantity;
};

/// A product of a factory. Key: pair_key(factory, product).
struct Manufacturing {
  std::uint64_t quantity;
};

/// The stock of a raw material at a factory. Key: pair_key(factory, material).
struct MaterialCost {
  std::uint64_t stock_quantity;
  std::uint64_t stock_price_cents;  ///< of the whole stock

  static constexpr std::uint64_t kMillicents = 1000;

  /// What one costs.
  [[nodiscard]] std::uint64_t unit_millicents() const {
    return stock_price_cents * kMillicents / stock_quantity;
  }
};

/// A bill of materials, rolled up: what a product costs, and from which rows that follows.
struct RollUp {
  std::uint64_t millicents = 0;
  std::uint64_t materials = 0;  ///< number of raw materials, each as often as it is needed
  std::uint64_t digest = 0;     ///< of the rows read, whatever their order

  void add_component(std::uint64_t parent, std::uint64_t component, std::uint64_t quantity) {
    digest += hash_of(make_key(parent, component, quantity));
  }
  void add_material(std::uint64_t material, std::uint64_t count, const MaterialCost& cost) {
    millicents += count * cost.unit_millicents();
    materials += count;
    digest += hash_of(make_key(material, cost.stock_quantity, cost.stock_price_cents));
  }
  bool operator==(const RollUp&) const = default;
};

/// What a product costs at a factory. Key: pair_key(factory, product).
struct ProductCost {
  RollUp roll_up;
  std::uint64_t costing;  ///< the transaction that wrote it; 0: loaded
};

/// Key: voucher_key().
struct JournalVoucher {
  std::uint64_t product;  ///< pair_key(factory, product)
  std::uint64_t debit;
  std::uint64_t credit;
  std::uint64_t amount_millicents;
  std::uint64_t costing;  ///< that of the product's cost
  std::uint64_t of;       ///< vouchers that its transaction issued
};
inline constexpr std::uint64_t kManufactured = 100;  ///< the quantity of a voucher
inline constexpr std::uint64_t kProductAccount = 0;
inline constexpr std::uint64_t kWorkInProgressAccount = 1;

/// Vouchers are numbered by the worker that issues them, its transaction, and the product's place:
/// each worker appends to a range of its own.
inline constexpr int kWorkerShift = 48;
inline constexpr int kPlaceBits = 8;
static_assert(kMostProducts <= std::size_t{1} << kPlaceBits);
constexpr Key1 voucher_key(std::uint64_t transaction, std::uint64_t place) {
  return {{transaction << kPlaceBits | place}};
}
constexpr std::uint64_t transaction_of(const Key1& voucher) {
  return voucher.words[0] >> kPlaceBits;
}

}  // namespace heddle::bomb
