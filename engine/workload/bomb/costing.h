#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "storage/node_version.h"
#include "workload/bomb/inputs.h"
#include "workload/bomb/schema.h"
#include "workload/bomb/states.h"
#include "workload/bomb/tables.h"
#include "workload/pair_key.h"

namespace heddle::bomb {

/// The long transaction, L1 of the Oze paper: computes the cost of every product of a factory from
/// its bill of materials and the costs of its raw materials there, and stores them.
///
/// It reads product by product and writes all costs at the end, as in the authors' implementation.
/// A transaction that will abort may see more rows than there ever are: it leaves out those that
/// its arrays cannot hold.
template <class Txn, class M>
class Costing {
 public:
  Costing(Txn& txn, Tables<M>& tables, const Input& input)
      : txn_(txn), tables_(tables), in_(input) {}

  Outcome run() {
    return scan_products() && roll_up() && store_costs() ? Outcome::commit : txn_.stop();
  }

 private:
  /// An item, and how often the product needs it.
  struct Component {
    std::uint64_t item;
    std::uint64_t count;
  };

  bool scan_products() {
    return txn_.scan(kCostScanProducts, tables_.manufacturing, pair_key(in_.factory, 0),
                     last_pair(in_.factory), Order::ascending, 0,
                     [this](const Key1& key, const auto&) {
                       products_[count_++] = second_of(key);
                       return count_ < products_.size();
                     });
  }

  bool roll_up() {
    for (std::size_t at = 0; at < count_; ++at) {
      if (!roll_up(products_[at], costs_[at])) return false;
    }
    txn_.passed(kCostReadMaterial);
    return true;
  }

  /// Depth first.
  bool roll_up(std::uint64_t product, RollUp& cost) {
    cost = {};
    open_[0] = {product, 1};
    std::size_t open = 1;
    while (open > 0) {
      const Component parent = open_[--open];
      std::array<Component, kMostChildren> found;
      std::size_t found_count = 0;
      if (!txn_.scan(kCostScanComponents, tables_.construction, pair_key(parent.item, 0),
                     last_pair(parent.item), Order::ascending, 0,
                     [&](const Key1& key, const auto& row) {
                       found[found_count++] = {second_of(key), row->quantity};
                       return found_count < found.size();
                     })) {
        return false;
      }
      for (std::size_t at = 0; at < found_count; ++at) {
        const auto [item, quantity] = found[at];
        cost.add_component(parent.item, item, quantity);
        const std::uint64_t needed = parent.count * quantity;
        if (!tables_.items.is_material(item)) {
          if (open < open_.size()) open_[open++] = {item, needed};
          continue;
        }
        const auto material =
            txn_.read(kCostReadMaterial, tables_.material_cost, pair_key(in_.factory, item));
        if (!material) return false;
        cost.add_material(item, needed, *material);
      }
    }
    return true;
  }

  bool store_costs() {
    for (std::size_t at = 0; at < count_; ++at) {
      const Key1 key = pair_key(in_.factory, products_[at]);
      const ProductCost cost{.roll_up = costs_[at], .costing = in_.transaction};
      const auto row = txn_.read(kCostReadCost, tables_.product_cost, key);
      if (!row && txn_.stop() == Outcome::abort) return false;
      const bool stored = row ? txn_.update(kCostUpdateCost, tables_.product_cost, row,
                                            [&](ProductCost& stored_row) { stored_row = cost; })
                              : txn_.insert(kCostInsertCost, tables_.product_cost, key, cost);
      if (!stored) return false;
    }
    txn_.passed(kCostInsertCost);
    return true;
  }

  Txn& txn_;
  Tables<M>& tables_;
  const Input& in_;
  std::array<std::uint64_t, kMostProducts> products_;
  std::array<RollUp, kMostProducts> costs_;  // by product; the first `count_` are set
  std::size_t count_ = 0;
  std::array<Component, kMostTrees * kMostTreeItems> open_;  // whose components are not yet known
};

}  // namespace heddle::bomb
