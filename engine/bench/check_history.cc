#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>

#include "check/checker.h"
#include "check/synthetic_history.h"

/// Measures how long histories take to check. HEDDLE_CHECK_TRANSACTIONS=10000000 for long ones. The
/// memory peak is that of the process, so run one benchmark alone to measure it
/// (--benchmark_filter).
namespace heddle::check {
namespace {

std::uint64_t transactions() {
  const char* wanted = std::getenv("HEDDLE_CHECK_TRANSACTIONS");
  return wanted == nullptr ? 300'000 : std::stoull(wanted);
}

double peak_gigabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

void check(benchmark::State& state, HistoryShape shape) {
  shape.transactions = transactions();
  const History history = SyntheticHistory(shape).make();
  Report report;
  for (auto unused : state) {
    report = check_history(history);
    if (!report.anomalies.empty()) throw std::logic_error(report.anomalies[0].text);
  }
  state.counters["transactions"] = static_cast<double>(report.transactions);
  state.counters["operations"] = static_cast<double>(report.operations);
  state.counters["edges"] = static_cast<double>(report.edges);
  state.counters["choices"] = static_cast<double>(report.choices);
  state.counters["peak_GiB"] = peak_gigabytes();
}

BENCHMARK_CAPTURE(check, uniform, HistoryShape{})->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(check, skewed, HistoryShape{.skew = 3})->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(check, hot_rows, HistoryShape{.hot = 50})->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(check, rows_that_come_and_go, HistoryShape{.skew = 1, .churn = 15, .ranges = 5})
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace heddle::check
