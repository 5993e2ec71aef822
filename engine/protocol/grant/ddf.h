#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/grant/greatest.h"
#include "protocol/grant/policy.h"

namespace heddle::grant {

/// Deepest dependency first: the transaction at the end of the longest path of waits
/// (predictability thesis 2019, §4.3.1).
class Ddf final : public Policy {
 public:
  static constexpr std::string_view kName = "ddf";
  explicit Ddf(const Options& /*options*/) {}

  void choose(Decision& decision) override {
    grant_greatest(decision, [&](std::size_t at) { return decision.dependencies.depth(at); });
  }
};

}  // namespace heddle::grant
