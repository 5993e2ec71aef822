#pragma once

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "protocol/grant/in_order.h"
#include "protocol/grant/policy.h"

namespace heddle::grant {

/// Variance-aware transaction scheduling (predictability thesis 2019, §3.3.2): the eldest
/// transaction first, then the next while they are shared (§4.6.1).
class Vats final : public Policy {
 public:
  static constexpr std::string_view kName = "vats";
  explicit Vats(const Options& /*options*/) {}

  void choose(Decision& decision) override {
    order_.resize(decision.waiting.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t left, std::uint32_t right) {
      return decision.waiting[left].age < decision.waiting[right].age;
    });
    grant_in_order(decision, order_);
  }
  /// A transaction keeps its age, and those that begin later are younger: only those that exist
  /// already are ever before it.
  [[nodiscard]] bool has_barrier() const override { return false; }

 private:
  std::vector<std::uint32_t> order_;
};

}  // namespace heddle::grant
