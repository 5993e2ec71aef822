#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/multiversion_runtime.h"
#include "protocol/multiversion_transaction.h"
#include "protocol/mvto.h"
#include "protocol/protocol.h"
#include "protocol/write_queues.h"

namespace heddle {

/// MVSchedO (Cheng et al., PVLDB 17(11), 2024, §4.2): multi-version timestamp ordering in which an
/// operation on a hot row waits for those that precede it in the schedule.
///
/// The schedule is the order in which transactions begin: the scheduler begins them in that order
/// and announces beforehand, by expect(), which rows they are going to write. Correctness does not
/// depend on the announcement. An expected write that does not happen is waited for until its
/// transaction ends, and an unexpected one is ordered by timestamps as under `mvto`. A transaction
/// without expectations runs as under `mvto`.
struct MvSchedO {
  static constexpr std::string_view kName = "mvschedo";

  template <class M>
  struct Runtime : MultiversionRuntime<M> {
    explicit Runtime(const RunSetup<M>& setup)
        : MultiversionRuntime<M>(setup), queues(setup.workers) {
      for (const auto& [key, value] : setup.options) {
        reject_protocol_option(kName, key, value, "none");
      }
    }
    WriteQueues<M> queues;
  };

  template <class M>
  class Executor {
   public:
    Executor(Runtime<M>& runtime, Storage<M>& storage, int worker)
        : runtime_(runtime),
          worker_(worker),
          txn_(storage, worker, runtime, {runtime.queues, runtime.owners[worker]}) {}

    /// Sets the accesses that the next transaction is expected to make, in all its attempts.
    void expect(std::span<const ExpectedAccess> accesses) { txn_.expected().expect(accesses); }

    template <class P>
    Attempt<M> attempt(const P& procedure, int /*type*/, std::uint32_t prior_aborts) {
      const Attempt<M> attempt =
          attempt_by_timestamp(runtime_, worker_, txn_, procedure, prior_aborts);
      if (attempt.outcome != Outcome::abort) txn_.expected().expect({});
      return attempt;
    }
    static const CompiledPolicy* policy() { return nullptr; }

   private:
    Runtime<M>& runtime_;
    int worker_;
    MultiversionTransaction<M, ExpectedWrites<M>> txn_;
  };
};

}  // namespace heddle
