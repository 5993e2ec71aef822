#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/shared.h"
#include "protocol/access_list.h"
#include "protocol/compiled_policy.h"
#include "protocol/outcome.h"
#include "protocol/transaction_context.h"

namespace heddle {

/// One worker's waiting time by state, and at commit (the last element).
template <class M>
struct alignas(64) WaitTimes {
  explicit WaitTimes(int states) : ticks(static_cast<std::size_t>(states) + 1, 0) {}
  std::vector<typename M::Ticks> ticks;
  typename M::Ticks total = 0;  ///< of the running transaction

  void add(AccessId state, typename M::Ticks time) {
    ticks[state < ticks.size() ? state : ticks.size() - 1] += time;
    total += time;
  }
  void reset() { std::fill(ticks.begin(), ticks.end(), 0); }
};

/// The state that the workers of one run share to execute policy tables.
template <class M>
struct PolicyRuntime {
  PolicyRuntime(int worker_count, int states, const Shared<M, std::uint64_t>& stop_flag)
      : workers(worker_count),
        lists(worker_count),
        contexts(new TransactionContext<M>[static_cast<std::size_t>(worker_count)]),
        stop(stop_flag),
        wait_times(static_cast<std::size_t>(worker_count), WaitTimes<M>(states)) {
    for (int worker = 0; worker < workers; ++worker) contexts[worker].set_worker(worker);
  }

  int workers;
  AccessLists<M> lists;
  std::unique_ptr<TransactionContext<M>[]> contexts;
  const Shared<M, std::uint64_t>& stop;
  std::vector<WaitTimes<M>> wait_times;
  const CompiledPolicy* newest = nullptr;  ///< for SeededFault::switch_within_transaction
};

}  // namespace heddle
