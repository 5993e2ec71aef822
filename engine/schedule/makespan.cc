#include "schedule/makespan.h"

#include "schedule/placement.h"

namespace heddle::schedule {

namespace {

bool reads_order_reads(Protocol protocol) {
  return with_rules(protocol, []<Rules R>() { return R::kReadsOrderReads; });
}

}  // namespace

Problem::Problem(const Batch& batch, Protocol rules)
    : protocol(rules), touches(batch, reads_order_reads(rules)) {}

std::vector<Slot> starts(const Problem& problem, std::span<const std::uint32_t> order) {
  return with_rules(problem.protocol, [&]<Rules R>() {
    Placement<R> placement(problem.touches);
    std::vector<Slot> found;
    found.reserve(order.size());
    for (const std::uint32_t transaction : order) found.push_back(placement.place(transaction));
    return found;
  });
}

Slot makespan(const Problem& problem, std::span<const std::uint32_t> order) {
  return with_rules(problem.protocol, [&]<Rules R>() {
    Placement<R> placement(problem.touches);
    for (const std::uint32_t transaction : order) placement.place(transaction);
    return placement.makespan();
  });
}

}  // namespace heddle::schedule
