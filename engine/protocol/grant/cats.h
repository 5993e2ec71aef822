#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "protocol/grant/greatest.h"
#include "protocol/grant/policy.h"

namespace heddle::grant {

/// The contention-aware scheduling of MySQL since 8.0.20.
///
/// A waiting transaction has an edge to one that it waits for. A weight is the sum of the weights
/// of those with an edge to it, and its own: 1, or more once it has waited for long (WaitGraph). Of
/// those whose edge leads to the one that releases the lock, the ones of a weight above 1 come
/// first, by decreasing weight, then the others in the order of their arrival. Each is granted if
/// it is compatible with all that is granted.
class Cats final : public Policy {
 public:
  static constexpr std::string_view kName = "cats";
  explicit Cats(const Options& /*options*/) {}

  void choose(Decision& decision) override {
    order_.clear();
    for (std::size_t at = 0; at < decision.waiting.size(); ++at) {
      if (decision.waiting[at].unblocked) {
        order_.emplace_back(decision.dependencies.weight(at), at);
      }
    }
    // The last are those of weight 1, the least there is, and so in the order of their arrival.
    std::sort(order_.begin(), order_.end(), larger_first);
    bool shared = decision.held;
    for (const auto& [weight, at] : order_) {
      const bool exclusive = decision.waiting[at].exclusive;
      if (exclusive && shared) continue;
      decision.grant(at);
      if (exclusive) return;
      shared = true;
    }
  }
  /// It ages instead.
  [[nodiscard]] bool has_barrier() const override { return false; }
  [[nodiscard]] bool follows_blockers() const override { return true; }

 private:
  std::vector<Sized> order_;
};

}  // namespace heddle::grant
