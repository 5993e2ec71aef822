#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/random.h"
#include "workload/bomb/items.h"
#include "workload/bomb/options.h"
#include "workload/bomb/schema.h"
#include "workload/bomb/states.h"

namespace heddle::bomb {

struct Input {
  Type type;
  std::uint32_t factory;
  std::uint32_t product;      ///< a new one's number, or where the search for an old one begins
  std::uint32_t old_product;  ///< of change_product: where the search for an old one begins
  std::uint32_t item;         ///< whose material changes
  std::uint32_t material;     ///< the new one
  std::uint32_t place;        ///< of the old material: any number
  std::uint32_t price_cents;  ///< of a purchase
  std::uint64_t transaction;  ///< a number of its own
  /// The raw materials of an update, or the trees of a new product; the first ones are set.
  std::array<std::uint32_t, kMostChildren> numbers;
};
static_assert(kMostTrees <= kMostChildren);

/// Draws inputs.
class InputGenerator {
 public:
  InputGenerator(const BombOptions& options, int workers)
      : options_(options), begun_(static_cast<std::size_t>(workers)) {}

  /// Inputs::weight(): that of the options, if some workers run the long type only.
  [[nodiscard]] std::optional<double> weight(int type) const {
    if (long_workers(static_cast<int>(begun_.size())) == 0) return {};
    return static_cast<double>(options_.weights[static_cast<std::size_t>(type)]);
  }

  void generate(Random& random, int worker, int workers, const Items& items, Input& input) const {
    input.type = draw_type(random, worker, workers);
    input.factory = number(random.below(options_.factories));
    input.transaction = next_transaction(worker);
    switch (input.type) {
      case Type::update_product_cost:
      case Type::issue_journal_voucher: return;
      case Type::update_material_cost: return draw_materials(random, input);
      case Type::change_product: return draw_change(random, items, input);
      case Type::change_raw_material: return draw_raw_material(random, items, input);
      case Type::change_product_quantity:
        input.product = number(items.draw_product(random));
        return;
    }
  }

 private:
  struct alignas(64) Begun {
    std::uint64_t count = 0;
  };

  static std::uint32_t number(std::uint64_t drawn) { return static_cast<std::uint32_t>(drawn); }

  [[nodiscard]] int long_workers(int workers) const {
    return std::min(options_.long_workers, workers - 1);
  }

  Type draw_type(Random& random, int worker, int workers) const {
    const int only_long = long_workers(workers);
    if (worker < only_long) return Type::update_product_cost;
    const std::size_t first = only_long > 0 ? 1 : 0;
    std::uint64_t sum = 0;
    for (std::size_t type = first; type < kTypes; ++type) sum += options_.weights[type];
    std::uint64_t card = random.below(sum);
    std::size_t type = first;
    while (card >= options_.weights[type]) card -= options_.weights[type++];
    return static_cast<Type>(type);
  }

  std::uint64_t next_transaction(int worker) const {
    assert(static_cast<std::size_t>(worker) < begun_.size());
    Begun& own = begun_[static_cast<std::size_t>(worker)];
    return static_cast<std::uint64_t>(worker) << (kWorkerShift - kPlaceBits) | ++own.count;
  }

  void draw_materials(Random& random, Input& input) const {
    constexpr std::int64_t kLeastPrice_cents = 50;
    constexpr std::int64_t kMostPrice_cents = 150;
    std::size_t at = 0;
    draw_different<kMostChildren>(
        random, options_.updated_materials, options_.materials,
        [&](std::uint64_t material) { input.numbers[at++] = number(material); });
    input.price_cents =
        static_cast<std::uint32_t>(random.between(kLeastPrice_cents, kMostPrice_cents));
  }

  void draw_change(Random& random, const Items& items, Input& input) const {
    input.old_product = number(items.draw_product(random));
    input.product = number(items.draw_product(random));
    std::size_t at = 0;
    draw_different<kMostTrees>(
        random, options_.product_trees, options_.trees,
        [&](std::uint64_t tree) { input.numbers[at++] = number(items.root(tree)); });
  }

  void draw_raw_material(Random& random, const Items& items, Input& input) const {
    const std::uint64_t tree = random.below(options_.trees);
    input.item = number(items.leaf(tree, random.below(items.leaf_count(tree))));
    input.material = number(random.below(options_.materials));
    input.place = number(random.next());
  }

  BombOptions options_;
  /// A worker writes only its own element: generating is const towards everything shared.
  mutable std::vector<Begun> begun_;
};

}  // namespace heddle::bomb
