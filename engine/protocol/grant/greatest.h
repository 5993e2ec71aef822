#pragma once

#include <cstddef>

#include "protocol/grant/policy.h"

namespace heddle::grant {

/// Grants the request of the greatest priority, the first of equals; if it is shared, all shared
/// ones (predictability thesis 2019, §4.6.1).
/// @param priority of the position in `decision.waiting`
template <class F>
void grant_greatest(Decision& decision, F priority) {
  if (decision.held) return;
  std::size_t best = 0;
  auto greatest = priority(best);
  for (std::size_t at = 1; at < decision.waiting.size(); ++at) {
    const auto found = priority(at);
    if (found <= greatest) continue;
    best = at;
    greatest = found;
  }
  if (decision.waiting[best].exclusive) {
    decision.grant(best);
  } else {
    decision.grant_all_shared();
  }
}

/// The exclusive request of the greatest priority, the first of equals.
struct Best {
  std::size_t at = 0;
  double priority = 0;  ///< 0: there is none
};

template <class F>
Best best_exclusive(const Decision& decision, F priority) {
  Best best;
  for (std::size_t at = 0; at < decision.waiting.size(); ++at) {
    if (!decision.waiting[at].exclusive) continue;
    const auto found = static_cast<double>(priority(at));
    if (found > best.priority) best = {at, found};
  }
  return best;
}

}  // namespace heddle::grant
