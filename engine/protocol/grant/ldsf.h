#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/grant/greatest.h"
#include "protocol/grant/policy.h"

namespace heddle::grant {

/// Largest dependency set first (predictability thesis 2019, algorithm 5): the exclusive request of
/// the largest dependency set, unless all shared ones together have one as large.
///
/// The text (§4.3.2) is followed where the two differ: algorithm 5 has the branches of its line 8
/// exchanged.
class Ldsf final : public Policy {
 public:
  static constexpr std::string_view kName = "ldsf";
  explicit Ldsf(const Options& /*options*/) {}

  void choose(Decision& decision) override {
    if (decision.held) return;
    Dependencies& dependencies = decision.dependencies;
    const Best best =
        best_exclusive(decision, [&](std::size_t at) { return dependencies.size(at); });
    std::uint64_t shared = 0;
    dependencies.start_union();
    for (std::size_t at = 0; at < decision.waiting.size(); ++at) {
      if (!decision.waiting[at].exclusive) shared = dependencies.add_to_union(at);
    }
    if (best.priority > static_cast<double>(shared)) {
      decision.grant(best.at);
    } else {
      decision.grant_all_shared();
    }
  }
};

}  // namespace heddle::grant
