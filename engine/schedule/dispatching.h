#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "model/random.h"
#include "schedule/makespan.h"
#include "schedule/touches.h"

namespace heddle::schedule {

/// Called at intervals with the progress; returns whether to continue.
using Proceed = std::function<bool(std::size_t)>;

inline bool always(std::size_t /*done*/) { return true; }

/// How transactions are chosen.
struct Dispatching {
  std::size_t samples = 0;       ///< drawn for each position; 0: all that remain, at quadratic cost
  bool begins_anywhere = false;  ///< whether the first is drawn without a comparison
};

/// Repeatedly appends the best of several transactions drawn from those that wait; ties are broken
/// at random.
///
/// @param rule `score(transaction, bound)`, lower is better and at least `bound` if it is not
///        better, and `place(transaction)`
/// @param proceed called with the number placed; on false, the rest is appended in its present
///        order
template <typename Rule>
Order dispatch(const Touches& touches, const Dispatching& how, Rule&& rule, Random& random,
               const Proceed& proceed) {
  const std::size_t size = touches.size();
  constexpr std::size_t kAskEvery = 256;
  using Score = decltype(rule.score(std::uint32_t{}, 0));
  // The chosen ones in front, in order; then the rest.
  Order order(size);
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  for (std::size_t place = 0; place < size; ++place) {
    if ((how.samples == 0 || place % kAskEvery == 0) && !proceed(place)) break;
    const std::size_t left = size - place;
    const std::size_t wanted = how.samples == 0 ? left : std::min(how.samples, left);
    const std::size_t drawn = place == 0 && how.begins_anywhere ? 1 : wanted;
    std::size_t best = place;
    Score least = std::numeric_limits<Score>::max();
    for (std::size_t at = place; at < place + drawn; ++at) {
      // Even if all are drawn: the first of equals is taken, and it must be random.
      std::swap(order[at], order[at + random.below(size - at)]);
      touches.announce(order[at]);
    }
    if (drawn < left) {
      for (std::size_t at = place; at < place + drawn; ++at) touches.announce_touches(order[at]);
    }
    for (std::size_t at = place; at < place + drawn; ++at) {
      const Score score = rule.score(order[at], least);
      if (score >= least) continue;
      least = score;
      best = at;
    }
    std::swap(order[place], order[best]);
    rule.place(order[place]);
  }
  return order;
}

}  // namespace heddle::schedule
