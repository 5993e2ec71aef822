#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/node_version.h"
#include "workload/bomb/inputs.h"
#include "workload/bomb/options.h"
#include "workload/bomb/schema.h"
#include "workload/bomb/states.h"
#include "workload/bomb/tables.h"
#include "workload/pair_key.h"

namespace heddle::bomb {

/// The five short transactions, S1 to S5 of the Oze paper.
template <class Txn, class M>
class Changes {
 public:
  Changes(Txn& txn, Tables<M>& tables, const Input& input, const BombOptions& options)
      : txn_(txn), tables_(tables), in_(input), options_(options) {}

  Outcome run() {
    bool done = false;
    switch (in_.type) {
      case Type::update_material_cost: done = update_material_cost(); break;
      case Type::issue_journal_voucher: done = issue_journal_voucher(); break;
      case Type::change_product: done = change_product(); break;
      case Type::change_raw_material: done = change_raw_material(); break;
      case Type::change_product_quantity: done = change_product_quantity(); break;
      case Type::update_product_cost: break;  // see Costing
    }
    return done ? Outcome::commit : txn_.stop();
  }

 private:
  /// S1: a purchase of raw materials, one of each.
  bool update_material_cost() {
    for (const std::uint32_t material : numbers(options_.updated_materials)) {
      const auto row =
          txn_.read(kMaterialRead, tables_.material_cost, pair_key(in_.factory, material));
      if (!row ||
          !txn_.update(kMaterialUpdate, tables_.material_cost, row, [&](MaterialCost& cost) {
            ++cost.stock_quantity;
            cost.stock_price_cents += in_.price_cents;
          })) {
        return false;
      }
    }
    txn_.passed(kMaterialUpdate);
    return true;
  }

  /// S2: a voucher for each product of a factory.
  bool issue_journal_voucher() {
    struct Cost {
      std::uint64_t product;
      ProductCost cost;
    };
    std::array<Cost, kMostProducts> costs;
    std::size_t count = 0;
    if (!txn_.scan(kVoucherScanCosts, tables_.product_cost, pair_key(in_.factory, 0),
                   last_pair(in_.factory), Order::ascending, 0,
                   [&](const Key1& key, const auto& row) {
                     costs[count++] = {key.words[0], *row};
                     return count < costs.size();
                   })) {
      return false;
    }
    for (std::size_t at = 0; at < count; ++at) {
      const ProductCost& cost = costs[at].cost;
      const JournalVoucher voucher{.product = costs[at].product,
                                   .debit = kProductAccount,
                                   .credit = kWorkInProgressAccount,
                                   .amount_millicents = kManufactured * cost.roll_up.millicents,
                                   .costing = cost.costing,
                                   .of = count};
      if (!txn_.insert(kVoucherInsert, tables_.journal_voucher, voucher_key(in_.transaction, at),
                       voucher)) {
        return false;
      }
    }
    txn_.passed(kVoucherInsert);
    return true;
  }

  /// S3: a factory makes a new product instead of an old one.
  bool change_product() {
    std::uint64_t old = 0;
    const Row<Manufacturing> made = find_product(kChangeScanProduct, in_.old_product, old);
    if (!made || !txn_.remove(kChangeRemoveProduct, tables_.manufacturing, made)) return false;
    const auto cost = txn_.read(kChangeReadCost, tables_.product_cost, pair_key(in_.factory, old));
    if (!cost && txn_.stop() == Outcome::abort) return false;
    if (cost && !txn_.remove(kChangeRemoveCost, tables_.product_cost, cost)) return false;
    for (const std::uint32_t root : numbers(options_.product_trees)) {
      if (!txn_.insert(kChangeInsertComponent, tables_.construction, pair_key(in_.product, root),
                       Construction{1})) {
        return false;
      }
    }
    txn_.passed(kChangeInsertComponent);
    return txn_.insert(kChangeInsertProduct, tables_.manufacturing,
                       pair_key(in_.factory, in_.product), Manufacturing{1});
  }

  /// S4: an item consists of another raw material than before.
  bool change_raw_material() {
    struct Component {
      std::uint64_t material;
      Row<Construction> row;
    };
    std::array<Component, kMostChildren> found;
    std::size_t count = 0;
    if (!txn_.scan(kRawScanMaterials, tables_.construction, pair_key(in_.item, 0),
                   last_pair(in_.item), Order::ascending, 0, [&](const Key1& key, const auto& row) {
                     found[count++] = {second_of(key), row};
                     return count < found.size();
                   })) {
      return false;
    }
    if (count == 0) return false;  // only a transaction that will abort finds none
    const std::span<const Component> components = std::span(found).first(count);
    const Component& old = components[in_.place % count];
    const std::uint64_t quantity = old.row->quantity;
    std::uint64_t material = in_.material;
    const auto is_component = [&](std::uint64_t number) {
      return std::any_of(components.begin(), components.end(),
                         [number](const Component& one) { return one.material == number; });
    };
    while (is_component(material)) material = (material + 1) % options_.materials;
    return txn_.remove(kRawRemoveMaterial, tables_.construction, old.row) &&
           txn_.insert(kRawInsertMaterial, tables_.construction, pair_key(in_.item, material),
                       Construction{quantity});
  }

  /// S5: a factory makes another quantity of a product.
  bool change_product_quantity() {
    std::uint64_t product = 0;
    const Row<Manufacturing> made = find_product(kQuantityScanProduct, in_.product, product);
    return made && txn_.update(kQuantityUpdateProduct, tables_.manufacturing, made,
                               [](Manufacturing& row) { ++row.quantity; });
  }

  /// The first product of the factory from a number on, or else its first one. The row is falsy if
  /// the transaction must stop.
  Row<Manufacturing> find_product(AccessId state, std::uint64_t from, std::uint64_t& product) {
    Row<Manufacturing> found;
    for (const std::uint64_t first : {from, std::uint64_t{0}}) {
      if (!txn_.scan(state, tables_.manufacturing, pair_key(in_.factory, first),
                     last_pair(in_.factory), Order::ascending, 1,
                     [&](const Key1& key, const auto& row) {
                       product = second_of(key);
                       found = row;
                       return true;
                     })) {
        return {};
      }
      if (found) break;
    }
    txn_.passed(state);
    return found;
  }

  [[nodiscard]] std::span<const std::uint32_t> numbers(std::uint64_t count) const {
    return std::span(in_.numbers).first(static_cast<std::size_t>(count));
  }

  Txn& txn_;
  Tables<M>& tables_;
  const Input& in_;
  const BombOptions& options_;
};

}  // namespace heddle::bomb
