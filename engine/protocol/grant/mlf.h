#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/grant/greatest.h"
#include "protocol/grant/policy.h"

namespace heddle::grant {

/// Most locks first: the transaction that holds the most locks (predictability thesis 2019,
/// §4.3.1).
class Mlf final : public Policy {
 public:
  static constexpr std::string_view kName = "mlf";
  explicit Mlf(const Options& /*options*/) {}

  void choose(Decision& decision) override {
    grant_greatest(decision, [&](std::size_t at) { return decision.waiting[at].locks; });
  }
};

}  // namespace heddle::grant
