#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/key.h"
#include "workload/bomb/items.h"
#include "workload/bomb/options.h"
#include "workload/bomb/schema.h"
#include "workload/bomb/tables.h"
#include "workload/pair_key.h"
#include "workload/violations.h"

namespace heddle::bomb {

/// The conditions that hold after every serial execution. Quiescent only.
///
/// - `components`: an item of raw materials always has the same number of them, and they are
///   needed as often as at first in all: change_raw_material keeps the quantity.
/// - `products`: every factory makes as many products as at first.
/// - `costs`: a product that has a cost at a factory is made there, and all costs of a factory are
///   of one costing.
/// - `materials`: a cost counts as many raw materials as its product needs. No transaction changes
///   that number, so it holds for costs of any age.
/// - `roll_up`: a cost is that of the present bill of materials, if its transaction read the rows
///   that there are now. The digest tells.
/// - `vouchers`: those of one transaction are all there, of one factory and one costing; and every
///   voucher of a costing has the amount of that costing.
template <class M>
class ConsistencyCheck {
 public:
  ConsistencyCheck(const Tables<M>& tables, const BombOptions& options)
      : tables_(tables), options_(options) {}

  [[nodiscard]] std::vector<std::string> run() {
    find_components();
    check_components();
    check_products();
    check_costs();
    check_vouchers();
    return violations_.take();
  }

 private:
  void find_components() {
    tables_.construction.for_each([this](const Key1& key, const Construction& row) {
      components_[first_of(key)].emplace_back(second_of(key), row.quantity);
    });
  }

  void check_components() {
    for (std::uint64_t tree = 0; tree < options_.trees; ++tree) {
      for (std::uint64_t at = 0; at < tables_.items.leaf_count(tree); ++at) {
        const std::uint64_t item = tables_.items.leaf(tree, at);
        std::uint64_t quantity = 0;
        for (const auto& component : components_[item]) quantity += component.second;
        const std::uint64_t loaded = tables_.loaded_quantity(tree, at);
        if (components_[item].size() == options_.item_materials && quantity == loaded) continue;
        violations_.add("components", "item ", item, " has ", components_[item].size(),
                        " materials, ", quantity, " in all, of ", options_.item_materials, " and ",
                        loaded);
      }
    }
  }

  void check_products() {
    std::map<std::uint64_t, std::uint64_t> made;
    tables_.manufacturing.for_each(
        [&](const Key1& key, const Manufacturing&) { ++made[first_of(key)]; });
    for (std::uint64_t factory = 0; factory < options_.factories; ++factory) {
      if (made[factory] == options_.products) continue;
      violations_.add("products", "factory ", factory, " makes ", made[factory], " products of ",
                      options_.products);
    }
  }

  void check_costs() {
    std::map<std::uint64_t, std::set<std::uint64_t>> costings;
    tables_.product_cost.for_each([&](const Key1& key, const ProductCost& row) {
      const std::uint64_t factory = first_of(key);
      const std::uint64_t product = second_of(key);
      costings[factory].insert(row.costing);
      if (tables_.manufacturing.find_quiescent(key) == nullptr) {
        violations_.add("costs", "factory ", factory, " has a cost of product ", product,
                        ", which it does not make");
      }
      if (row.costing == 0) return;
      note_amount(row.costing, key.words[0], kManufactured * row.roll_up.millicents);
      RollUp now;
      add(factory, product, 1, now);
      if (row.roll_up.materials != now.materials) {
        violations_.add("materials", "the cost of product ", product, " at factory ", factory,
                        " counts ", row.roll_up.materials, " materials of ", now.materials);
      }
      if (row.roll_up.digest == now.digest && row.roll_up.millicents != now.millicents) {
        violations_.add("roll_up", "product ", product, " costs ", now.millicents, " at factory ",
                        factory, ", stored is ", row.roll_up.millicents);
      }
    });
    for (const auto& [factory, found] : costings) {
      if (found.size() <= 1) continue;
      violations_.add("costs", "the costs of factory ", factory, " are of ", found.size(),
                      " costings");
    }
  }

  void add(std::uint64_t factory, std::uint64_t parent, std::uint64_t count, RollUp& cost) {
    const auto known = components_.find(parent);
    if (known == components_.end()) return;
    for (const auto& [item, quantity] : known->second) {
      cost.add_component(parent, item, quantity);
      if (!tables_.items.is_material(item)) {
        add(factory, item, count * quantity, cost);
        continue;
      }
      const MaterialCost* material = tables_.material_cost.find_quiescent(pair_key(factory, item));
      if (material != nullptr) cost.add_material(item, count * quantity, *material);
    }
  }

  void check_vouchers() {
    struct Issued {
      std::uint64_t count = 0;
      std::uint64_t of = 0;
      std::set<std::pair<std::uint64_t, std::uint64_t>> costings;  ///< with their factories
    };
    std::map<std::uint64_t, Issued> issued;
    tables_.journal_voucher.for_each([&](const Key1& key, const JournalVoucher& row) {
      Issued& one = issued[transaction_of(key)];
      ++one.count;
      one.of = row.of;
      one.costings.emplace(first_of({{row.product}}), row.costing);
      note_amount(row.costing, row.product, row.amount_millicents);
    });
    for (const auto& [transaction, one] : issued) {
      if (one.count == one.of && one.costings.size() == 1) continue;
      violations_.add("vouchers", "transaction ", transaction, " has ", one.count, " vouchers of ",
                      one.of, ", of ", one.costings.size(), " costings");
    }
    for (const auto& [cost, amounts] : amounts_) {
      if (amounts.size() == 1) continue;
      violations_.add("vouchers", "product ", second_of({{cost.second}}), " at factory ",
                      first_of({{cost.second}}), " has ", amounts.size(),
                      " amounts of one costing");
    }
  }

  /// What a costing has found a product of a factory to cost.
  void note_amount(std::uint64_t costing, std::uint64_t product, std::uint64_t millicents) {
    amounts_[{costing, product}].insert(millicents);
  }

  const Tables<M>& tables_;
  const BombOptions& options_;
  /// By item: its components, and how many of each it needs.
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> components_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::set<std::uint64_t>> amounts_;
  Violations violations_;
};

}  // namespace heddle::bomb
