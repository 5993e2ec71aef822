#include "schedule/smf.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schedule/placement.h"
#include "workload/random.h"

namespace heddle::schedule {

Order shortest_makespan_first(const Problem& problem, std::size_t samples, std::uint64_t seed) {
  return with_rules(problem.protocol, [&]<Rules R>() {
    Random random(seed);
    Placement<R> placement(problem.touches);
    // The chosen ones in front, in order; the rest behind.
    Order order(problem.touches.size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    for (std::size_t place = 0; place < order.size(); ++place) {
      const std::size_t left = order.size() - place;
      const std::size_t drawn = place == 0 ? 1 : samples == 0 ? left : std::min(samples, left);
      std::size_t best = place;
      Slot best_makespan = 0;
      std::size_t equals = 0;
      for (std::size_t at = place; at < place + drawn; ++at) {
        if (drawn < left) std::swap(order[at], order[at + random.below(order.size() - at)]);
        const Slot makespan = std::max(placement.makespan(), placement.end_of(order[at]));
        if (equals > 0 && makespan > best_makespan) continue;
        equals = equals > 0 && makespan == best_makespan ? equals + 1 : 1;
        if (equals > 1 && random.below(equals) != 0) continue;
        best = at;
        best_makespan = makespan;
      }
      std::swap(order[place], order[best]);
      placement.place(order[place]);
    }
    return order;
  });
}

}  // namespace heddle::schedule
