#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/random.h"
#include "workload/bomb/options.h"
#include "workload/bomb/schema.h"

namespace heddle::bomb {

/// The items below the products, whose numbers and structure no transaction changes: what changes
/// are the raw materials of the items that have no other component.
///
/// A tree is a random recursive one, as in the authors' implementation: each further item is a
/// component of one of the tree's items so far, all equally likely.
class Items {
 public:
  explicit Items(const BombOptions& options)
      : materials_(options.materials), trees_(options.trees), tree_items_(options.tree_items) {}

  void draw(Random& random) {
    parents_.clear();
    parents_.reserve(trees_ * tree_items_);
    leaves_.clear();
    first_leaf_.assign(1, 0);
    for (std::uint64_t tree = 0; tree < trees_; ++tree) {
      std::vector<bool> has_component(tree_items_);
      parents_.push_back(kNone);
      for (std::uint64_t item = 1; item < tree_items_; ++item) {
        const std::uint64_t parent = random.below(item);
        has_component[parent] = true;
        parents_.push_back(static_cast<std::uint8_t>(parent));
      }
      for (std::uint64_t item = 0; item < tree_items_; ++item) {
        if (!has_component[item]) leaves_.push_back(static_cast<std::uint8_t>(item));
      }
      first_leaf_.push_back(leaves_.size());
    }
  }

  [[nodiscard]] bool is_material(std::uint64_t item) const { return item < materials_; }
  /// Products have these numbers and all greater ones of 32 bits.
  [[nodiscard]] std::uint64_t first_product() const { return materials_ + trees_ * tree_items_; }
  /// Draws the number of a product, random, so that hardly any is drawn twice.
  [[nodiscard]] std::uint64_t draw_product(Random& random) const {
    constexpr std::uint64_t kNumbers = std::uint64_t{1} << 32;
    return first_product() + random.below(kNumbers - first_product());
  }
  [[nodiscard]] std::uint64_t root(std::uint64_t tree) const {
    return materials_ + tree * tree_items_;
  }

  /// Calls f(parent, item) for each item of a tree but its root.
  template <class F>
  void for_each_component(std::uint64_t tree, F f) const {
    for (std::uint64_t item = 1; item < tree_items_; ++item) {
      f(root(tree) + parents_[tree * tree_items_ + item], root(tree) + item);
    }
  }
  /// The number of items of a tree that consist of raw materials.
  [[nodiscard]] std::uint64_t leaf_count(std::uint64_t tree) const {
    return first_leaf_[tree + 1] - first_leaf_[tree];
  }
  [[nodiscard]] std::uint64_t leaf(std::uint64_t tree, std::uint64_t number) const {
    return root(tree) + leaves_[first_leaf_[tree] + number];
  }

 private:
  static constexpr std::uint8_t kNone = 0xff;

  std::uint64_t materials_;
  std::uint64_t trees_;
  std::uint64_t tree_items_;
  std::vector<std::uint8_t> parents_;      // by item: within its tree
  std::vector<std::uint8_t> leaves_;       // tree by tree: within the tree
  std::vector<std::uint64_t> first_leaf_;  // by tree: in `leaves_`
};

/// Draws `count` different numbers below `bound`, and calls f with each. `count` is at most kMost,
/// and the bound far above it.
template <std::size_t kMost, class F>
void draw_different(Random& random, std::uint64_t count, std::uint64_t bound, F f) {
  std::array<std::uint64_t, kMost> drawn;
  for (std::size_t at = 0; at < count;) {
    const std::uint64_t number = random.below(bound);
    const auto known = std::span(drawn).first(at);
    if (std::find(known.begin(), known.end(), number) != known.end()) continue;
    drawn[at++] = number;
    f(number);
  }
}

}  // namespace heddle::bomb
