#include "schedule/composite.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "schedule/demand.h"
#include "schedule/placement.h"

namespace heddle::schedule {

namespace {

/// The weight of a new start in the moving average.
constexpr float kFade = 0.1F;

void check(const char* name, double weight) {
  if (std::isfinite(weight) && weight >= 0) return;
  throw std::invalid_argument(std::string(name) + " is " + std::to_string(weight) +
                              ": a weight of the composite rule must be 0 or more");
}

template <Rules R>
class CompositeRule {
 public:
  CompositeRule(const Touches& touches, const CompositeWeights& weights)
      : touches_(touches),
        placement_(touches),
        demand_(touches),
        delay_(static_cast<float>(weights.delay) / static_cast<float>(touches.size())),
        work_(static_cast<float>(weights.work) / static_cast<float>(touches.size())),
        length_(static_cast<float>(weights.length)),
        bound_(static_cast<float>(weights.bound)) {
    for (const KeyDemand& demand : demand_.keys()) reaches(reach_of<R>({}, demand));
  }

  /// The score of a candidate, lower is better; at least `bound` if it is not better.
  float score(std::uint32_t transaction, float bound) const {
    Slot start = 1;
    float work = 0;
    for (const Touch& touch : touches_[transaction]) {
      start = std::max(start, R::earliest(placement_.key(touch.key), touch));
      work += demand_[touch.key].work;
    }
    const auto length = static_cast<float>(touches_.length(transaction));
    const float found = static_cast<float>(start) - work_ * work - length_ * length;
    if (found >= bound) return found;  // the delay that it imposes can only add to it
    const Slot end = start + touches_.length(transaction) - 1;
    float delay = 0;
    float reach = least_makespan_;
    for (const Touch& touch : touches_[transaction]) {
      const Imposed imposed =
          imposed_by<R>(placement_.key(touch.key), touch, demand_[touch.key], start, end, present_);
      delay += imposed.delay;
      // Others may read together with a reader: those that it delays are counted as the delay.
      if (touch.writes()) reach = std::max(reach, imposed.reach);
    }
    return found + delay_ * delay + bound_ * (reach - least_makespan_);
  }

  void place(std::uint32_t transaction) {
    const Slot start = placement_.place(transaction);
    demand_.leave(transaction);
    for (const Touch& touch : touches_[transaction]) {
      reaches(reach_of<R>(placement_.key(touch.key), demand_[touch.key]));
    }
    present_ += kFade * (static_cast<float>(start) - present_);
  }

 private:
  /// The writers that wait for a key reach this far, and what is placed takes at least the slots
  /// that were queued: the latest of all can only grow.
  void reaches(float slot) { least_makespan_ = std::max(least_makespan_, slot); }

  const Touches& touches_;
  Placement<R> placement_;
  Demand demand_;
  float delay_;
  float work_;
  float length_;
  float bound_;
  float present_ = 0;
  float least_makespan_ = 0;  ///< allowed by the writers that wait for any one key
};

}  // namespace

Order composite_dispatching(const Problem& problem, std::size_t samples,
                            const CompositeWeights& weights, std::uint64_t seed,
                            const Proceed& proceed) {
  check("delay", weights.delay);
  check("work", weights.work);
  check("length", weights.length);
  check("bound", weights.bound);
  return with_rules(problem.protocol, [&]<Rules R>() {
    Random random(seed);
    return dispatch(problem.touches, {.samples = samples},
                    CompositeRule<R>(problem.touches, weights), random, proceed);
  });
}

}  // namespace heddle::schedule
