#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "model/random.h"
#include "schedule/batch.h"
#include "schedule/composite.h"
#include "schedule/insertion.h"
#include "schedule/makespan.h"
#include "schedule/smf.h"
#include "workload/zipf.h"

/// Measures the cost of scheduling per transaction (`ns`): it must not grow with their number.
namespace heddle::schedule {
namespace {

Operation operation(bool writes, std::uint64_t key) {
  return {writes ? Access::kWrite : Access::kRead, static_cast<std::uint32_t>(key)};
}

/// NewOrder and Payment on four warehouses, as the SMF paper's simulator draws them.
Batch tpcc(std::size_t size) {
  Random random(1);
  Batch batch;
  for (std::size_t at = 0; at < size; ++at) {
    const bool payment = at >= size / 2;
    const std::uint64_t warehouse = random.below(4);
    const std::uint64_t district = 4 + warehouse * 10 + random.below(10);
    const std::uint64_t customer = 44 + random.below(3000);
    std::vector<Operation> slots = {operation(false, warehouse)};
    if (payment) slots.push_back(operation(true, warehouse));
    for (const std::uint64_t key : {district, customer}) {
      slots.push_back(operation(false, key));
      slots.push_back(operation(true, key));
    }
    slots.resize(payment ? 7 : 23);
    batch.add(slots);
  }
  return batch;
}

/// Sixteen operations per transaction, 5 % of them writes, on the given number of keys.
Batch ycsb(std::size_t size, std::uint64_t keys) {
  Random random(1);
  const Zipf zipf(keys, 0.9);
  Batch batch;
  for (std::size_t at = 0; at < size; ++at) {
    std::vector<Operation> slots;
    for (int slot = 0; slot < 16; ++slot) {
      slots.push_back(operation(random.unit() < 0.05, zipf(random)));
    }
    batch.add(slots);
  }
  return batch;
}

template <typename Policy>
void order(benchmark::State& state, const Batch& batch, Policy&& policy) {
  const Problem problem(batch, Protocol::kMvtso);
  for (auto unused : state) benchmark::DoNotOptimize(policy(problem));
  state.counters["ns"] = benchmark::Counter(
      1e-9 * static_cast<double>(batch.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["makespan"] = makespan(problem, policy(problem));
}

void smf_tpcc(benchmark::State& state) {
  order(state, tpcc(static_cast<std::size_t>(state.range(0))),
        [](const Problem& problem) { return shortest_makespan_first(problem, 5, 1); });
}

void smf_ycsb(benchmark::State& state) {
  order(state, ycsb(static_cast<std::size_t>(state.range(0)), 1'000'000),
        [](const Problem& problem) { return shortest_makespan_first(problem, 5, 1); });
}

void composite_tpcc(benchmark::State& state) {
  order(state, tpcc(static_cast<std::size_t>(state.range(0))),
        [](const Problem& problem) { return composite_dispatching(problem, 48, {}, 1); });
}

void composite_ycsb(benchmark::State& state) {
  order(state, ycsb(static_cast<std::size_t>(state.range(0)), 1'000'000),
        [](const Problem& problem) { return composite_dispatching(problem, 48, {}, 1); });
}

/// Very hot keys: nearly every operation conflicts with another.
void composite_hot_ycsb(benchmark::State& state) {
  order(state, ycsb(static_cast<std::size_t>(state.range(0)), 1'000),
        [](const Problem& problem) { return composite_dispatching(problem, 48, {}, 1); });
}

void insertion_tpcc(benchmark::State& state) {
  const Batch batch = tpcc(static_cast<std::size_t>(state.range(0)));
  Order as_they_come;
  for (std::uint32_t at = 0; at < batch.size(); ++at) as_they_come.push_back(at);
  order(state, batch, [&](const Problem& problem) { return insert_each(problem, as_they_come); });
}

constexpr std::int64_t kSmall = 500;
constexpr std::int64_t kLarge = 100'000;

BENCHMARK(smf_tpcc)->Arg(kSmall)->Arg(10'000)->Arg(kLarge);
BENCHMARK(smf_ycsb)->Arg(kSmall)->Arg(10'000)->Arg(kLarge);
BENCHMARK(composite_tpcc)->Arg(kSmall)->Arg(10'000)->Arg(kLarge);
BENCHMARK(composite_ycsb)->Arg(kSmall)->Arg(10'000)->Arg(kLarge);
BENCHMARK(composite_hot_ycsb)->Arg(kSmall)->Arg(10'000)->Arg(kLarge);
BENCHMARK(insertion_tpcc)->Arg(kSmall)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heddle::schedule
