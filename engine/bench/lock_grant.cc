#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "machine/threads.h"
#include "protocol/grant/registry.h"
#include "protocol/lock_table.h"
#include "protocol/wait_graph.h"

/// Measures the release of a lock that others wait for: the decision who gets it, and the grant.
namespace heddle {
namespace {

using M = ThreadsMachine;

/// Transactions that want one record, and some that wait for other locks of every fourth of these.
class Contended {
 public:
  Contended(const std::string& grant, const grant::Options& options, std::size_t waiting)
      : wanting_(waiting + 1),
        owners_(2 * wanting_),
        records_(1 + wanting_),
        requests_(owners_.size()),
        held_(wanting_),
        table_(static_cast<int>(owners_.size()), stop_,
               std::make_unique<WaitGraph<M>>(static_cast<int>(owners_.size()), 1,
                                              grant::make_policy(grant, options), options.exact)) {
    for (std::size_t at = 0; at < owners_.size(); ++at) {
      owners_[at].worker = static_cast<int>(at);
    }
    for (std::size_t at = 0; at < wanting_; ++at) {
      ask(held_[at], at, 1 + at, true);
      if (at % 4 == 0) ask(requests_[wanting_ + at], wanting_ + at, 1 + at, true);
    }
    for (std::size_t at = 0; at < wanting_; ++at) want(at);
  }

  /// All holders release the lock, and want it as new transactions. Returns the duration of the
  /// last release, which decides who gets it next.
  M::Ticks turn() {
    std::deque<std::size_t> holders;
    for (std::size_t at = 0; at < wanting_; ++at) {
      if (requests_[at].granted) holders.push_back(at);
    }
    M::Ticks took = 0;
    for (const std::size_t at : holders) {
      const M::Ticks start = M::now();
      table_.release_by_graph(requests_[at]);
      took = M::now() - start;
    }
    for (const std::size_t at : holders) want(at);
    return took;
  }

 private:
  /// A third of the requests are shared.
  void want(std::size_t at) { ask(requests_[at], at, 0, at % 3 != 0); }

  void ask(LockRequest<M>& request, std::size_t owner, std::size_t record, bool exclusive) {
    request.record = &records_[record];
    request.owner = &owners_[owner];
    request.age = {.began = ++clock_, .worker = static_cast<int>(owner)};
    request.exclusive = exclusive;
    owners_[owner].held = 1;
    (void)table_.ask(request, false, ConflictRule::detect);
  }

  std::size_t wanting_;
  Shared<M, std::uint64_t> stop_{0};
  std::deque<LockOwner<M>> owners_;
  std::deque<Record<M>> records_;
  std::deque<LockRequest<M>> requests_;
  std::deque<LockRequest<M>> held_;
  LockTable<M> table_;
  std::uint64_t clock_ = 0;
};

void release(benchmark::State& state, const std::string& grant, bool exact) {
  Contended contended(grant, {.exact = exact, .delay = grant::delay_factor("log2")},
                      static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    state.SetIterationTime(M::microseconds(contended.turn()) / 1e6);
  }
}

const bool kRegistered = [] {
  const auto add = [](const std::string& grant, bool exact) {
    benchmark::RegisterBenchmark((grant + (exact ? ", exact" : "")).c_str(), release, grant, exact)
        ->Arg(4)
        ->Arg(16)
        ->Arg(64)
        ->UseManualTime();
  };
  for (const std::string& grant : grant::Policies::names()) add(grant, false);
  for (const std::string grant : {"ldsf", "bldsf", "hldsf"}) add(grant, true);
  return true;
}();

}  // namespace
}  // namespace heddle
