// Measures the cost of recording a run on real cores: TPC-C's read-write mix under Silo on one
// core, without recording, with its history and with a trace, in turns on one database.
//
//   make bench ARGS="--benchmark_filter=recording --benchmark_repetitions=60
//                    --benchmark_enable_random_interleaving=true"
//
// Compare the medians of items_per_second (transactions committed): the spread is the machine's.
//
// The database grows by some 300 MiB a second, and a page that the system has to clear, or the
// hypervisor to find, costs more than a transaction. A log takes pages as well and returns them to
// the next run. So enough pages are prepared before each run, with a log and without; otherwise one
// run would pay for the other's.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "driver/machine_options.h"
#include "driver/session.h"
#include "machine/pages.h"

namespace {

enum What : std::uint8_t { kNothing, kHistory, kTrace };

/// One database for all: it grows, but in the same way under each.
heddle::Session& session() {
  static const std::unique_ptr<heddle::Session> open =
      heddle::open_session({{"name", "tpcc"}, {"mix", "read_write"}}, 1, 1,
                           heddle::parse_machine({{"kind", "threads"}}));
  return *open;
}

constexpr std::size_t kLogBytes = std::size_t{32} << 20;

/// Leaves `bytes` of prepared pages for the next allocations.
void make_pages_ready(std::size_t bytes) {
  std::vector<heddle::Pages> pages;
  for (std::size_t made = 0; made < bytes; made += heddle::Pages::kHugePage) {
    heddle::Pages& page = pages.emplace_back(heddle::Pages::kHugePage);
    *reinterpret_cast<volatile std::byte*>(page.start()) = std::byte{1};
  }
}

void recording(benchmark::State& state) {
  heddle::RunOptions options;
  options.protocol = "silo";
  options.backoff = "none";
  options.warmup = 0.01;
  options.seconds = 0.05;
  options.history_bytes = state.range(0) == kHistory ? kLogBytes : 0;
  options.trace_bytes = state.range(0) == kTrace ? kLogBytes : 0;
  double commits = 0;
  for (auto _ : state) {
    make_pages_ready(3 * kLogBytes);
    const heddle::Result result = session().run(options, [] { return false; });
    commits += static_cast<double>(result.commits);
    state.SetIterationTime(result.duration_s);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(commits));
}
BENCHMARK(recording)
    ->ArgName("what")
    ->Arg(kNothing)
    ->Arg(kHistory)
    ->Arg(kTrace)
    ->UseManualTime()
    ->Iterations(1);

}  // namespace
