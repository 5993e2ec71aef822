#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "protocol/grant/greatest.h"
#include "protocol/grant/policy.h"

namespace heddle::grant {

/// Hybrid largest dependency set first (predictability thesis 2019, algorithm 7): as Ldsf, with
/// each dependency set divided by the time that the transaction is expected to hold the lock.
/// Shared requests take as long as the longest of them.
class Hldsf final : public Policy {
 public:
  static constexpr std::string_view kName = "hldsf";
  explicit Hldsf(const Options& /*options*/) {}

  void choose(Decision& decision) override {
    if (decision.held) return;
    Dependencies& dependencies = decision.dependencies;
    const Best best = best_exclusive(decision, [&](std::size_t at) {
      return static_cast<double>(dependencies.size(at)) / dependencies.remaining(at);
    });
    double sum = 0;
    double longest = 0;
    for (std::size_t at = 0; at < decision.waiting.size(); ++at) {
      if (decision.waiting[at].exclusive) continue;
      sum += static_cast<double>(dependencies.size(at));
      longest = std::max(longest, dependencies.remaining(at));
    }
    if (longest > 0 && best.priority <= sum / longest) {
      decision.grant_all_shared();
    } else {
      decision.grant(best.at);
    }
  }
  [[nodiscard]] bool learns_times() const override { return true; }
};

}  // namespace heddle::grant
