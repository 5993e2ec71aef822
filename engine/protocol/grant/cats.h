#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

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
    std::size_t first = decision.waiting.size();
    std::uint64_t heaviest = 0;
    for (std::size_t at = 0; at < decision.waiting.size(); ++at) {
      if (!decision.waiting[at].unblocked) continue;
      const std::uint64_t weight = decision.dependencies.weight(at);
      if (weight <= heaviest) continue;
      first = at;
      heaviest = weight;
    }
    if (first == decision.waiting.size()) return;
    if (decision.waiting[first].exclusive && !decision.held) return decision.grant(first);
    // Behind a shared request only shared ones are compatible, in any order.
    for (std::size_t at = 0; at < decision.waiting.size(); ++at) {
      if (decision.waiting[at].unblocked && !decision.waiting[at].exclusive) decision.grant(at);
    }
  }
  /// It ages instead.
  [[nodiscard]] bool has_barrier() const override { return false; }
  [[nodiscard]] bool follows_blockers() const override { return true; }
};

}  // namespace heddle::grant
