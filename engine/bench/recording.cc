// What recording a run costs on real cores: TPC-C's read-write mix under Silo on one of them, with
// and without, in turns on one database, so that both meet the same memory and the same neighbours.
//
//   make bench ARGS="--benchmark_filter=recording"
//
// Compare the medians of items_per_second (transactions committed): the spread is the machine's.

#include <cstddef>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "driver/machine_options.h"
#include "driver/session.h"
#include "machine/pages.h"

namespace {

/// One database for both: it grows, but under both alike.
heddle::Session& session() {
  static const std::unique_ptr<heddle::Session> open =
      heddle::open_session({{"name", "tpcc"}, {"mix", "read_write"}}, 1, 1,
                           heddle::parse_machine({{"kind", "threads"}}));
  return *open;
}

constexpr std::size_t kLogBytes = std::size_t{32} << 20;

/// Leaves that many bytes of pages, in memory that is there, for who asks for some next.
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
  options.history_bytes = state.range(0) == 0 ? 0 : kLogBytes;
  double commits = 0;
  for (auto _ : state) {
    make_pages_ready(3 * kLogBytes);
    const heddle::Result result = session().run(options, [] { return false; });
    commits += static_cast<double>(result.commits);
    state.SetIterationTime(result.duration_s);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(commits));
}
BENCHMARK(recording)->ArgName("on")->Arg(0)->Arg(1)->UseManualTime()->Iterations(1);

}  // namespace
