#include "schedule/classifier/classifier.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "model/hints.h"
#include "model/random.h"
#include "schedule/admission/hinted_states.h"
#include "schedule/admission/operation.h"
#include "schedule/admission/predictor.h"

/// Measures the cost per transaction of predicting its hot keys (`ns`).
namespace heddle {
namespace {

constexpr std::uint64_t kDistricts = 10;

/// A type that names two rows, such as NewOrder, and one that names sixteen in a loop.
Signature signature() {
  return {.workload = "made up",
          .types = {{"order",
                     {{"read_warehouse", "WAREHOUSE", AccessKind::read, false},
                      {"update_district", "DISTRICT", AccessKind::update, false}}},
                    {"batch", {{"update_row", "ROW", AccessKind::update, true}}}}};
}

/// A row and a cluster for each district of the given number of warehouses.
classifier::Classifier of_districts(std::uint64_t warehouses, int neighbours) {
  classifier::Classifier made{.neighbours = neighbours, .hot_keys = {}, .types = {}};
  classifier::Classifier::Type type{.type = 0, .rows = {}, .labels = {}, .clusters = {}};
  for (std::uint64_t warehouse = 0; warehouse < warehouses; ++warehouse) {
    made.hot_keys["WAREHOUSE"].push_back(warehouse);
    for (std::uint64_t district = 0; district < kDistricts; ++district) {
      const std::uint64_t key = warehouse * kDistricts + district;
      made.hot_keys["DISTRICT"].push_back(key);
      type.rows.push_back({static_cast<int>(warehouses - warehouse),
                           static_cast<int>(warehouses * kDistricts - key)});
      type.labels.push_back(static_cast<int>(key));
      type.clusters.push_back({{0, warehouse, 0}, {1, key, 0.5}});
    }
  }
  made.types.push_back(std::move(type));
  return made;
}

/// Rows for 227 sets of eight hot keys, out of 64.
classifier::Classifier of_batches(int neighbours) {
  constexpr std::size_t kSets = 227;
  constexpr std::size_t kNumbers = 8;
  classifier::Classifier made{.neighbours = neighbours, .hot_keys = {}, .types = {}};
  for (std::uint64_t key = 0; key < 64; ++key) made.hot_keys["ROW"].push_back(key);
  classifier::Classifier::Type type{.type = 1, .rows = {}, .labels = {}, .clusters = {}};
  Random random(3);
  for (std::size_t set = 0; set < kSets; ++set) {
    auto& row = type.rows.emplace_back();
    auto& cluster = type.clusters.emplace_back();
    for (std::size_t at = 0; at < kNumbers; ++at) {
      row.push_back(1 + static_cast<int>(random.below(64)));
      cluster.push_back({2, 64 - static_cast<std::uint64_t>(row.back()), 0.5});
    }
    std::sort(row.rbegin(), row.rend());
    type.labels.push_back(static_cast<int>(set));
  }
  made.types.push_back(std::move(type));
  return made;
}

void predict(benchmark::State& state, const classifier::Classifier& made, std::size_t type,
             const std::vector<Hints>& all) {
  const Signature of = signature();
  const admission::HintedStates states(of);
  const auto predictor = admission::by_classifier(admission::make_ready(made, of, states));
  std::size_t at = 0;
  for (auto _ : state) {
    admission::Operations operations;
    predictor->predict(type, all[at++ % all.size()], operations);
    benchmark::DoNotOptimize(operations);
  }
}

/// @param cold percentage of the warehouses named that are not known
std::vector<Hints> orders(std::uint64_t warehouses, std::uint64_t cold) {
  Random random(1);
  std::vector<Hints> all(4096);
  for (Hints& hints : all) {
    const std::uint64_t warehouse = random.below(warehouses);
    const std::uint64_t far = random.below(100) < cold ? 1'000'000 : 0;
    hints.add(0, warehouse + far);
    hints.add(1, warehouse * kDistricts + random.below(kDistricts));
  }
  return all;
}

std::vector<Hints> batches() {
  Random random(2);
  std::vector<Hints> all(4096);
  for (Hints& hints : all) {
    for (int row = 0; row < 16; ++row) hints.add(2, random.below(128));
  }
  return all;
}

void known_orders(benchmark::State& state) {
  const auto warehouses = static_cast<std::uint64_t>(state.range(0));
  predict(state, of_districts(warehouses, 1), 0, orders(warehouses, 0));
}

void unknown_orders(benchmark::State& state) {
  const auto warehouses = static_cast<std::uint64_t>(state.range(0));
  predict(state, of_districts(warehouses, static_cast<int>(state.range(1))), 0,
          orders(warehouses, 100));
}

void unknown_batches(benchmark::State& state) {
  predict(state, of_batches(static_cast<int>(state.range(0))), 1, batches());
}

BENCHMARK(known_orders)->Arg(1)->Arg(48)->Arg(68);
BENCHMARK(unknown_orders)->Args({48, 1})->Args({48, 3})->Args({68, 1})->Args({68, 3});
BENCHMARK(unknown_batches)->Arg(1)->Arg(3);

}  // namespace
}  // namespace heddle
