#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/grant/greatest.h"
#include "protocol/grant/policy.h"

namespace heddle::grant {

/// Most blocking locks first: the transaction that holds the most locks for which others wait
/// (predictability thesis 2019, §4.3.1).
class Mblf final : public Policy {
 public:
  static constexpr std::string_view kName = "mblf";
  explicit Mblf(const Options& /*options*/) {}

  void choose(Decision& decision) override {
    grant_greatest(decision,
                   [&](std::size_t at) { return decision.dependencies.blocking_locks(at); });
  }
};

}  // namespace heddle::grant
