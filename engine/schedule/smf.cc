#include "schedule/smf.h"

#include <algorithm>

#include "schedule/placement.h"

namespace heddle::schedule {

namespace {

template <Rules R>
class LeastMakespan {
 public:
  explicit LeastMakespan(const Touches& touches) : placement_(touches) {}

  Slot score(std::uint32_t transaction, Slot /*bound*/) const {
    return std::max(placement_.makespan(), placement_.end_of(transaction));
  }

  void place(std::uint32_t transaction) { placement_.place(transaction); }

 private:
  Placement<R> placement_;
};

}  // namespace

Order shortest_makespan_first(const Problem& problem, std::size_t samples, std::uint64_t seed,
                              const Proceed& proceed) {
  return with_rules(problem.protocol, [&]<Rules R>() {
    Random random(seed);
    return dispatch(problem.touches, {.samples = samples, .begins_anywhere = true},
                    LeastMakespan<R>(problem.touches), random, proceed);
  });
}

}  // namespace heddle::schedule
