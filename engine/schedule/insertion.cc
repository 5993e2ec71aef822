#include "schedule/insertion.h"

#include <limits>

#include "schedule/placement.h"

namespace heddle::schedule {

namespace {

/// The makespan when a transaction is placed next, followed by a tail of the order; at least
/// `bound` if it reaches that.
template <Rules R>
Slot makespan_before(Placement<R> placement, std::uint32_t transaction,
                     std::span<const std::uint32_t> tail, Slot bound) {
  placement.place(transaction);
  for (const std::uint32_t next : tail) {
    if (placement.makespan() >= bound) break;
    placement.place(next);
  }
  return placement.makespan();
}

template <Rules R>
std::size_t best_place(const Touches& touches, const Order& order, std::uint32_t transaction) {
  Placement<R> head(touches);
  Slot least = std::numeric_limits<Slot>::max();
  std::size_t best = 0;
  for (std::size_t place = 0; place <= order.size(); ++place) {
    const Slot makespan =
        makespan_before(head, transaction, std::span(order).subspan(place), least);
    if (makespan < least) {
      least = makespan;
      best = place;
    }
    if (place < order.size()) head.place(order[place]);
  }
  return best;
}

}  // namespace

Order insert_each(const Problem& problem, std::span<const std::uint32_t> sequence,
                  const Proceed& proceed) {
  return with_rules(problem.protocol, [&]<Rules R>() {
    Order order;
    order.reserve(sequence.size());
    bool going = true;
    for (const std::uint32_t transaction : sequence) {
      going = going && proceed(order.size());
      const std::size_t place =
          going ? best_place<R>(problem.touches, order, transaction) : order.size();
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), transaction);
    }
    return order;
  });
}

}  // namespace heddle::schedule
