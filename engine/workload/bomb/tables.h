#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "model/random.h"
#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/bomb/items.h"
#include "workload/bomb/options.h"
#include "workload/bomb/schema.h"
#include "workload/pair_key.h"

namespace heddle::bomb {

/// The five tables of BoMB.
template <class M>
struct Tables {
  Tables(Storage<M>& storage, const BombOptions& options)
      : construction(storage, "ITEM_CONSTRUCTION",
                     options.trees * (options.tree_items + options.item_materials)),
        manufacturing(storage, "ITEM_MANUFACTURING", options.factories * options.products),
        material_cost(storage, "MATERIAL_COST", options.factories * options.materials),
        product_cost(storage, "PRODUCT_COST", options.factories * options.products),
        journal_voucher(storage, "JOURNAL_VOUCHER", options.factories * options.products),
        items(options) {
    construction.skip_snapshots();
    manufacturing.skip_snapshots();
    material_cost.skip_snapshots();
    product_cost.skip_snapshots();
    journal_voucher.skip_snapshots();
    journal_voucher.set_partition_shift(kWorkerShift);
  }

  /// All factories make the same products, as in the authors' implementation. A product that no
  /// factory makes has no row, because no type would read it.
  void load(const BombOptions& options, std::uint64_t seed) {
    Random random = Random::stream(seed, 0);
    items.draw(random);
    quantities_.clear();
    first_quantity_.clear();
    load_trees(options, random);
    load_products(options, random);
    for (std::uint64_t factory = 0; factory < options.factories; ++factory) {
      for (std::uint64_t material = 0; material < options.materials; ++material) {
        material_cost.load(pair_key(factory, material),
                           {.stock_quantity = 1, .stock_price_cents = kFirstPrice_cents});
      }
    }
  }

  /// How many raw materials an item of them needed at first: see Items::leaf().
  [[nodiscard]] std::uint64_t loaded_quantity(std::uint64_t tree, std::uint64_t leaf) const {
    return quantities_[first_quantity_[tree] + leaf];
  }

  static constexpr std::uint64_t kFirstPrice_cents = 100;

  Table<M, Key1, Construction, OrderedIndex> construction;
  Table<M, Key1, Manufacturing, OrderedIndex> manufacturing;
  Table<M, Key1, MaterialCost, HashIndex> material_cost;
  Table<M, Key1, ProductCost, OrderedIndex> product_cost;
  Table<M, Key1, JournalVoucher, OrderedIndex> journal_voucher;
  Items items;

 private:
  void load_trees(const BombOptions& options, Random& random) {
    constexpr std::uint64_t kMostOfAMaterial = 3;
    for (std::uint64_t tree = 0; tree < options.trees; ++tree) {
      items.for_each_component(tree, [this](std::uint64_t parent, std::uint64_t item) {
        construction.load(pair_key(parent, item), {1});
      });
      first_quantity_.push_back(quantities_.size());
      for (std::uint64_t leaf = 0; leaf < items.leaf_count(tree); ++leaf) {
        std::uint64_t sum = 0;
        draw_different<kMostChildren>(
            random, options.item_materials, options.materials, [&](std::uint64_t material) {
              const std::uint64_t quantity = 1 + random.below(kMostOfAMaterial);
              construction.load(pair_key(items.leaf(tree, leaf), material), {quantity});
              sum += quantity;
            });
        quantities_.push_back(static_cast<std::uint32_t>(sum));
      }
    }
  }

  void load_products(const BombOptions& options, Random& random) {
    std::set<std::uint64_t> products;
    while (products.size() < options.products) products.insert(items.draw_product(random));
    for (const std::uint64_t product : products) {
      draw_different<kMostTrees>(
          random, options.product_trees, options.trees,
          [&](std::uint64_t tree) { construction.load(pair_key(product, items.root(tree)), {1}); });
      for (std::uint64_t factory = 0; factory < options.factories; ++factory) {
        manufacturing.load(pair_key(factory, product), {1});
        product_cost.load(pair_key(factory, product), {});
      }
    }
  }

  std::vector<std::uint32_t> quantities_;    // by item of raw materials, tree by tree
  std::vector<std::size_t> first_quantity_;  // by tree
};

}  // namespace heddle::bomb
