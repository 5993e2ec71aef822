#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "protocol/grant/in_order.h"
#include "protocol/grant/policy.h"

namespace heddle::grant {

/// First in, first out: shared requests together, up to the first exclusive one.
class Fifo final : public Policy {
 public:
  static constexpr std::string_view kName = "fifo";
  explicit Fifo(const Options& /*options*/) {}

  void choose(Decision& decision) override {
    while (order_.size() < decision.waiting.size()) {
      order_.push_back(static_cast<std::uint32_t>(order_.size()));
    }
    grant_in_order(decision, {order_.data(), decision.waiting.size()});
  }
  /// Its order is that of arrival.
  [[nodiscard]] bool has_barrier() const override { return false; }

 private:
  std::vector<std::uint32_t> order_;  // 0, 1, 2 …
};

}  // namespace heddle::grant
