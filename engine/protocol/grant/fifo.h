#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/grant/policy.h"

namespace heddle::grant {

/// First in, first out: shared requests together, up to the first exclusive one.
class Fifo final : public Policy {
 public:
  static constexpr std::string_view kName = "fifo";
  explicit Fifo(const Options& /*options*/) {}

  void choose(Decision& decision) override {
    bool shared = decision.held;
    for (std::size_t at = 0; at < decision.waiting.size(); ++at) {
      const bool exclusive = decision.waiting[at].exclusive;
      if (exclusive && shared) return;
      decision.grant(at);
      if (exclusive) return;
      shared = true;
    }
  }
  /// Its order is that of arrival.
  [[nodiscard]] bool has_barrier() const override { return false; }
};

}  // namespace heddle::grant
