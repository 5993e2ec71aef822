#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "storage/key.h"
#include "storage/ordered_node.h"

namespace heddle {

// A trail records the inner nodes that a descent of an OrderedIndex passes. It receives each node
// before the node's version is checked, and starts over when a check fails.

struct NoTrail {
  void restart() {}
  template <class Inner>
  void pass(Inner*, std::uint64_t, int) {}
};

/// The range of the leaf reached: keys above `lower`, if bounded below, up to and including
/// `upper`.
template <class M, class K>
struct RangeTrail {
  K lower;
  K upper;
  bool bounded_below;

  void restart() {
    lower = K::min();
    upper = K::max();
    bounded_below = false;
  }
  void pass(const OrderedInner<M, K>* node, std::uint64_t, int index) {
    if (index < node->size()) upper = node->keys[index].load();
    if (index > 0) lower = node->keys[index - 1].load();
    bounded_below |= index > 0;
  }
};

/// The path of a descent, for operations that change more than the leaf.
template <class M, class K>
class PathTrail {
 public:
  using Inner = OrderedInner<M, K>;

  struct Step {
    Inner* node;
    std::uint64_t version;
    int index;  // of the child taken
  };

  void restart() { depth_ = 0; }
  void pass(Inner* node, std::uint64_t version, int index) {
    assert(depth_ < kHeightMax);
    steps_[depth_++] = {node, version, index};
  }

  [[nodiscard]] int depth() const { return depth_; }
  [[nodiscard]] const Step& operator[](int i) const { return steps_[i]; }

  /// The step nearest to the leaf for whose node `holds` is true; or else the root's, 0.
  template <class F>
  [[nodiscard]] int lowest(F holds) const {
    int i = depth_ - 1;
    while (i > 0 && !holds(*steps_[i].node)) --i;
    return i > 0 ? i : 0;
  }

  /// Locks the nodes from step `top` down if none has changed since it was passed. All writers lock
  /// top down, and release what they hold on failure, so no order could deadlock.
  [[nodiscard]] bool try_lock(int top) const {
    for (int i = top; i < depth_; ++i) {
      if (steps_[i].node->version.try_lock(steps_[i].version)) continue;
      unlock_unchanged(top, i);
      return false;
    }
    return true;
  }
  void unlock_unchanged(int top) const { unlock_unchanged(top, depth_); }
  void unlock_changed(int top) const {
    for (int i = top; i < depth_; ++i) steps_[i].node->version.unlock_changed();
  }

 private:
  // A further level takes at least a third of the widest fan-out times the inserts, so 24 levels
  // are out of reach: with six-word keys, the widest, more than 5^24 inserts.
  static constexpr int kHeightMax = 24;

  void unlock_unchanged(int first, int last) const {
    for (int i = first; i < last; ++i) steps_[i].node->version.unlock_unchanged();
  }

  std::array<Step, kHeightMax> steps_;
  int depth_ = 0;
};

}  // namespace heddle
