#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/seeded_fault.h"
#include "machine/shared.h"
#include "protocol/compiled_policy.h"
#include "protocol/policy_runtime.h"
#include "protocol/policy_transaction.h"
#include "protocol/protocol.h"
#include "protocol/silo.h"

namespace heddle {

/// The policy executor as a protocol the driver runs, with the policy of the run's set-up until
/// switch_policy() replaces it.
struct PolicyTable {
  static constexpr std::string_view kName = "policy_table";
  /// After this many aborts in a row a transaction runs as Silo does, without publishing or
  /// waiting: whatever its table says, cycles and cascades of the table's making cannot starve it.
  static constexpr std::uint32_t kAbortsBeforeEscape = 64;

  template <class M>
  struct Runtime : PolicyRuntime<M> {
    explicit Runtime(const RunSetup<M>& setup)
        : PolicyRuntime<M>(setup.workers, setup.policy->state_count(), setup.stop) {
      for (const auto& [key, value] : setup.options) {
        reject_protocol_option(kName, key, value, "none");
      }
      switch_policy(setup.policy);
    }

    /// Workers take the new policy at their next transaction. While some still run the old one both
    /// are live. That is safe because validation does not depend on the table, and a transaction
    /// that waits for one that announces no progress is still notified when that one ends.
    void switch_policy(std::shared_ptr<const CompiledPolicy> policy) {
      // release: the workers' acquire sees the whole table. Old tables live as long as the run.
      current_.store(policy.get(), std::memory_order_release);
      if (seeded<M>(SeededFault::switch_within_transaction)) this->newest = policy.get();
      kept_.push_back(std::move(policy));
    }
    [[nodiscard]] const CompiledPolicy& current() const {
      return *current_.load(std::memory_order_acquire);  // acquire: see switch_policy()
    }

    /// The worker that `worker` waits for, or -1.
    [[nodiscard]] int waits_for(int worker) const {
      // relaxed: for diagnosis.
      const auto reference = this->contexts[worker].waits_for.load(std::memory_order_relaxed);
      const int other = TransactionContext<M>::worker_of(reference);
      // A reference to a transaction that has ended stays.
      return reference != 0 && this->contexts[other].is(reference) ? other : -1;
    }

   private:
    Shared<M, const CompiledPolicy*> current_;
    std::vector<std::shared_ptr<const CompiledPolicy>> kept_;
  };

  template <class M>
  class Executor {
   public:
    Executor(Runtime<M>& runtime, Storage<M>& storage, int worker)
        : runtime_(runtime), native_(storage, worker), table_(storage, worker, runtime) {}

    template <class P>
    Attempt<M> attempt(const P& procedure, int type, std::uint32_t prior_aborts) {
      policy_ = &runtime_.current();
      if (policy_->type(type).native || prior_aborts >= kAbortsBeforeEscape) {
        native_.begin();
        return attempt_by<M>(native_, procedure);
      }
      table_.begin(type, *policy_);
      return attempt_by<M>(table_, procedure);
    }

    /// The policy of the last attempt.
    [[nodiscard]] const CompiledPolicy* policy() const { return policy_; }

   private:
    Runtime<M>& runtime_;
    const CompiledPolicy* policy_ = nullptr;
    SiloTransaction<M> native_;
    PolicyTransaction<M> table_;
  };
};

}  // namespace heddle
