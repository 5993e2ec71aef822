#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "model/options.h"
#include "workload/bomb/schema.h"
#include "workload/bomb/states.h"

namespace heddle {

/// The options of BoMB.
struct BombOptions {
  std::uint64_t factories = 8;
  std::uint64_t products = 4;
  std::uint64_t materials = 3000;
  std::uint64_t trees = 7920;
  std::uint64_t product_trees = 5;
  std::uint64_t tree_items = 10;
  std::uint64_t item_materials = 3;
  std::uint64_t updated_materials = 1;
  int long_workers = 1;
  /// By type: the requests a minute of the authors' implementation.
  std::array<std::uint64_t, bomb::kTypes> weights{1, 500, 100, 1, 200, 10};

  void read(OptionReader& reader) {
    constexpr std::int64_t kMostItems = 10'000'000;
    constexpr auto kMostMaterials = static_cast<std::int64_t>(bomb::kMostChildren);
    reader.integer("factories", factories, 1, 1000, "factories, each with costs of its own");
    reader.integer("products", products, 1, static_cast<std::int64_t>(bomb::kMostProducts),
                   "products of a factory, which the long transaction costs; the authors' "
                   "implementation has 100");
    reader.integer("materials", materials, 64, kMostItems,
                   "raw materials; the authors' implementation has 75000");
    reader.integer("trees", trees, 16, kMostItems,
                   "trees of which products are made; the authors' implementation has 198000");
    reader.integer("product_trees", product_trees, 1, static_cast<std::int64_t>(bomb::kMostTrees),
                   "trees of a product");
    reader.integer("tree_items", tree_items, 1, static_cast<std::int64_t>(bomb::kMostTreeItems),
                   "items of a tree");
    reader.integer("item_materials", item_materials, 1, kMostMaterials,
                   "raw materials of each item that has no other component");
    reader.integer("updated_materials", updated_materials, 1, kMostMaterials,
                   "raw materials whose cost an update_material_cost changes");
    reader.integer("long_workers", long_workers, 0, 1024,
                   "workers that run update_product_cost only, as in the authors' implementation; "
                   "the others then never do. One worker at least runs the short types");
    for (std::size_t type = 0; type < bomb::kTypes; ++type) {
      reader.integer(std::string(bomb::kTypeNames[type]), weights[type], 0, 1'000'000,
                     type == 0
                         ? "weight of this type: among those drawn where no worker runs it only, "
                           "and in the mix by which policies are compared"
                         : "weight of this type among those drawn");
    }
  }

  static BombOptions parse(const OptionMap& map) {
    OptionReader reader("bomb", map);
    const auto options = read_options<BombOptions>(reader);
    std::uint64_t sum = 0;
    for (std::size_t type = 1; type < bomb::kTypes; ++type) sum += options.weights[type];
    if (sum == 0) {
      reader.reject("weights of the short types", "0", "a weight above 0 for one of them at least");
    }
    return options;
  }
};

}  // namespace heddle
