#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "machine/concepts.h"
#include "protocol/attempts.h"
#include "protocol/backoff_range.h"
#include "protocol/compiled_policy.h"
#include "protocol/concepts.h"
#include "protocol/expected_access.h"
#include "protocol/observer.h"
#include "protocol/policy_runtime.h"
#include "protocol/protocol.h"
#include "protocol/snapshot.h"
#include "storage/storage.h"

namespace heddle {

/// A workload's stored procedures for code that does not know its types; observed runs execute
/// these.
template <class M>
class StoredProcedures {
 public:
  StoredProcedures() = default;
  StoredProcedures(const StoredProcedures&) = delete;
  StoredProcedures& operator=(const StoredProcedures&) = delete;
  virtual ~StoredProcedures() = default;

  /// Whether transactions of a type read a snapshot.
  [[nodiscard]] virtual bool is_snapshot(int type) const = 0;
  virtual Outcome execute(ObservedTransaction<M>& txn, const std::byte* input) = 0;
  /// The same for a type that reads a snapshot.
  virtual Outcome query(ObservedTransaction<M>& txn, const std::byte* input) = 0;
};

/// A protocol during a run: the state its workers share.
template <class M>
class ProtocolRun {
 public:
  ProtocolRun() = default;
  ProtocolRun(const ProtocolRun&) = delete;
  ProtocolRun& operator=(const ProtocolRun&) = delete;
  virtual ~ProtocolRun() = default;

  /// The worker that `worker` waits for, or -1.
  [[nodiscard]] virtual int waits_for(int worker) const = 0;

  /// Gives the workers another policy, which each takes at its next transaction. One caller at a
  /// time.
  /// @throws std::invalid_argument if the protocol executes no policy
  virtual void switch_policy(std::shared_ptr<const CompiledPolicy> policy) = 0;

  /// A worker's waiting time by state; nullptr: the protocol does not record it.
  [[nodiscard]] virtual WaitTimes<M>* wait_times(int worker) = 0;

  /// A worker's observed attempts: every access goes through the observer.
  /// @param others unobserved attempts of the worker under this protocol, as a workload's database
  ///        makes them: the executor is theirs, and they must live as long. nullptr: it has none.
  [[nodiscard]] virtual std::unique_ptr<Attempts<M>> observed_attempts(
      StoredProcedures<M>& procedures, Storage<M>& storage, int worker, Observer<M>& observer,
      Attempts<M>* others) = 0;

  [[nodiscard]] virtual BackoffRange backoff_range() const { return {}; }

  // ---- where transactions run in an external store (protocol/external.h) -----------------------

  /// Whether they do. Its workers wait in the operating system, so they take no turns.
  [[nodiscard]] virtual bool is_external() const { return false; }
  /// A worker's attempts in an unobserved run, called in its thread; nullptr: the workload is
  /// compiled for the protocol (driver/database.h).
  [[nodiscard]] virtual std::unique_ptr<Attempts<M>> erased_attempts(
      StoredProcedures<M>& /*procedures*/) {
    return nullptr;
  }
  /// Whether the store can't go on, so that the run must end; failure() says why.
  [[nodiscard]] virtual bool failed() const { return false; }
  /// Ends the run because the store can't go on. The first reason counts.
  virtual void fail(const std::string& /*why*/) {}
  /// The calls of the store that have not returned, for messages: a line for each.
  [[nodiscard]] virtual std::string calls_in_progress() const { return {}; }
  /// Empty: it has not failed.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  /// How often the store has waited until data was on disk; empty: there is no store.
  [[nodiscard]] virtual std::optional<std::uint64_t> syncs() const { return {}; }
  /// How often it has waited for an answer of the store's server; empty: there is no server.
  [[nodiscard]] virtual std::optional<std::uint64_t> round_trips() const { return {}; }
  /// Ends the waits that the machine does not know of. The stop word is set.
  virtual void interrupt() {}
  /// Called when the workers have ended: makes the tables in memory have what they committed.
  virtual void finish() {}
};

/// An attempt's procedure in an observed run.
template <class M>
struct ObservedProcedure {
  StoredProcedures<M>& procedures;
  const std::byte* input;
  Observer<M>& observer;

  template <class Txn>
  Outcome run(Txn& txn) const {
    ErasedTransaction<M, Txn> erased(txn);
    ObservedTransaction<M> observed(observer.watch(erased, input));
    return procedures.execute(observed, input);
  }
  template <class Txn>
  void ended(Txn& txn, const Attempt<M>& attempt) const {
    observer.ended(ErasedTransaction<M, Txn>(txn), attempt);
  }
};

template <class M, class Executor>
class ObservedAttempts final : public Attempts<M> {
 public:
  /// @param own the executor, unless it belongs to other attempts
  ObservedAttempts(StoredProcedures<M>& procedures, Executor& executor,
                   std::unique_ptr<Executor> own, Storage<M>& storage, int worker,
                   Observer<M>& observer)
      : procedures_(procedures),
        own_(std::move(own)),
        executor_(executor),
        observer_(observer),
        snapshot_(storage, worker) {}

  [[nodiscard]] bool wants_expectations() const override { return ExpectsAccesses<Executor>; }
  void expect([[maybe_unused]] std::span<const ExpectedAccess> accesses) override {
    if constexpr (ExpectsAccesses<Executor>) executor_.expect(accesses);
  }

  Attempt<M> attempt(const std::byte* input, int type, std::uint32_t prior_aborts) override {
    const bool on_snapshot = procedures_.is_snapshot(type);
    observer_.begin(type, on_snapshot);
    if (on_snapshot) return query(input);
    const Attempt<M> attempt =
        executor_.attempt(ObservedProcedure<M>{procedures_, input, observer_}, type, prior_aborts);
    this->policy_ = executor_.policy();
    return attempt;
  }

 private:
  Attempt<M> query(const std::byte* input) {
    snapshot_.begin();
    ErasedTransaction<M, SnapshotTransaction<M, true>> erased(snapshot_);
    ObservedTransaction<M> observed(observer_.watch(erased, input));
    Attempt<M> attempt;
    attempt.outcome = procedures_.query(observed, input);
    observer_.ended(erased, attempt);
    return attempt;
  }

  StoredProcedures<M>& procedures_;
  std::unique_ptr<Executor> own_;
  Executor& executor_;
  Observer<M>& observer_;
  SnapshotTransaction<M, true> snapshot_;
};

/// ProtocolRun of a protocol `P`.
template <Machine M, Protocol<M> P>
class RunningProtocol final : public ProtocolRun<M> {
 public:
  using Runtime = typename P::template Runtime<M>;
  using Executor = typename P::template Executor<M>;

  explicit RunningProtocol(const RunSetup<M>& setup) : runtime_(setup) {}

  /// For code that is compiled for the protocol.
  [[nodiscard]] Runtime& runtime() { return runtime_; }

  [[nodiscard]] int waits_for(int worker) const override { return runtime_.waits_for(worker); }

  void switch_policy(std::shared_ptr<const CompiledPolicy> policy) override {
    if constexpr (requires { runtime_.switch_policy(policy); }) {
      runtime_.switch_policy(std::move(policy));
    } else {
      throw std::invalid_argument("protocol " + std::string(P::kName) +
                                  " does not execute a policy; use policy_table");
    }
  }

  [[nodiscard]] WaitTimes<M>* wait_times([[maybe_unused]] int worker) override {
    if constexpr (requires { runtime_.wait_times; }) {
      return &runtime_.wait_times[static_cast<std::size_t>(worker)];
    }
    return nullptr;
  }

  [[nodiscard]] std::unique_ptr<Attempts<M>> observed_attempts(StoredProcedures<M>& procedures,
                                                               Storage<M>& storage, int worker,
                                                               Observer<M>& observer,
                                                               Attempts<M>* others) override {
    std::unique_ptr<Executor> own;
    if (others == nullptr) own = std::make_unique<Executor>(runtime_, storage, worker);
    Executor& executor =
        others == nullptr ? *own : static_cast<ExecutorAttempts<M, Executor>*>(others)->executor();
    return std::make_unique<ObservedAttempts<M, Executor>>(procedures, executor, std::move(own),
                                                           storage, worker, observer);
  }

 private:
  Runtime runtime_;
};

/// Starts a protocol by its name. Defined once per machine (protocol/start.h).
/// @throws std::invalid_argument for options that the protocol does not have
template <class M>
[[nodiscard]] std::unique_ptr<ProtocolRun<M>> start_protocol(std::string_view name,
                                                             const RunSetup<M>& setup);

}  // namespace heddle
