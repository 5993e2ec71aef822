#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/grant/policy.h"

namespace heddle::grant {

/// Variance-aware transaction scheduling (predictability thesis 2019, §3.3.2): the eldest
/// transaction first, then the next while they are shared (§4.6.1).
class Vats final : public Policy {
 public:
  static constexpr std::string_view kName = "vats";
  explicit Vats(const Options& /*options*/) {}

  void choose(Decision& decision) override {
    const Candidate* eldest = nullptr;
    const Candidate* eldest_exclusive = nullptr;
    for (const Candidate& each : decision.waiting) {
      if (eldest == nullptr || each.age < eldest->age) eldest = &each;
      if (!each.exclusive) continue;
      if (eldest_exclusive == nullptr || each.age < eldest_exclusive->age) eldest_exclusive = &each;
    }
    if (eldest == eldest_exclusive) {
      if (!decision.held) decision.grant(at(decision, eldest));
      return;
    }
    for (const Candidate& each : decision.waiting) {
      const bool before = eldest_exclusive == nullptr || each.age < eldest_exclusive->age;
      if (!each.exclusive && before) decision.grant(at(decision, &each));
    }
  }
  /// A transaction keeps its age, and those that begin later are younger: only those that exist
  /// already are ever before it.
  [[nodiscard]] bool has_barrier() const override { return false; }

 private:
  static std::size_t at(const Decision& decision, const Candidate* candidate) {
    return static_cast<std::size_t>(candidate - decision.waiting.data());
  }
};

}  // namespace heddle::grant
