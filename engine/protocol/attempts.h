#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "protocol/compiled_policy.h"
#include "protocol/expected_access.h"
#include "protocol/protocol.h"

namespace heddle {

/// A transaction of a group.
struct GroupMember {
  const std::byte* input;
  int type;
};

/// One worker's interface for running transactions: the boundary between the typed part of the
/// engine and the rest.
///
/// Below it the stored procedures, the protocol and the indexes are compiled together, once per
/// workload, protocol and machine, without virtual calls per access. Above it a transaction is an
/// input and a type, and the code is compiled once per machine.
template <class M>
class Attempts {
 public:
  Attempts() = default;
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;
  virtual ~Attempts() = default;

  /// Makes one attempt at a transaction, on the worker's own thread.
  /// @param input as drawn by Inputs::draw()
  /// @param prior_aborts the number of its attempts that have aborted
  virtual Attempt<M> attempt(const std::byte* input, int type, std::uint32_t prior_aborts) = 0;

  /// The most transactions that attempt_group() takes; 1: there are no groups.
  [[nodiscard]] virtual std::size_t group_size() const { return 1; }
  /// Whether a transaction waits for a group; otherwise it runs at once. Only of a group_size()
  /// above 1.
  [[nodiscard]] virtual bool merges(const GroupMember& /*one*/) { return true; }
  struct GroupEnd {
    bool committed;
    std::size_t ran;  ///< number of the members that have run
  };
  /// Makes one attempt at several transactions, which run one after the other and commit together.
  /// @param members at most group_size()
  /// @param[out] ended of each member that has run; if one of them has aborted, all have
  virtual GroupEnd attempt_group(std::span<const GroupMember> /*members*/,
                                 std::span<Attempt<M>> /*ended*/) {
    return {false, 0};
  }

  /// Before the next transaction is chosen: waits for what any transaction needs, and keeps it
  /// until one has committed or rolled back, or until give_place(). So a transaction that has been
  /// chosen need not wait for it. True: it may have waited.
  virtual bool take_place() { return false; }
  /// There is no transaction to run.
  virtual void give_place() {}

  /// Whether the protocol benefits from knowing which rows a transaction is going to write.
  [[nodiscard]] virtual bool wants_expectations() const { return false; }
  /// Sets the accesses that the next transaction is expected to make, in all its attempts.
  virtual void expect(std::span<const ExpectedAccess> /*accesses*/) {}

  /// The policy of the last attempt; nullptr where the protocol executes none.
  [[nodiscard]] const CompiledPolicy* policy() const { return policy_; }

 protected:
  const CompiledPolicy* policy_ = nullptr;
};

/// An executor that benefits from knowing which rows a transaction is going to write.
template <class E>
concept ExpectsAccesses =
    requires(E& executor, std::span<const ExpectedAccess> rows) { executor.expect(rows); };

/// Attempts made by a protocol's executor.
template <class M, class Executor>
class ExecutorAttempts : public Attempts<M> {
 public:
  [[nodiscard]] bool wants_expectations() const final { return ExpectsAccesses<Executor>; }
  void expect([[maybe_unused]] std::span<const ExpectedAccess> accesses) final {
    if constexpr (ExpectsAccesses<Executor>) executor_.expect(accesses);
  }
  [[nodiscard]] Executor& executor() { return executor_; }

 protected:
  template <class Runtime>
  ExecutorAttempts(Runtime& runtime, Storage<M>& storage, int worker)
      : executor_(runtime, storage, worker) {}

  template <class P>
  Attempt<M> execute(const P& procedure, int type, std::uint32_t prior_aborts) {
    const Attempt<M> attempt = executor_.attempt(procedure, type, prior_aborts);
    this->policy_ = executor_.policy();
    return attempt;
  }

 private:
  Executor executor_;
};

}  // namespace heddle
