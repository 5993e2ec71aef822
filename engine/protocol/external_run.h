#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "protocol/any_transaction.h"
#include "protocol/attempts.h"
#include "protocol/backoff_range.h"
#include "protocol/external_runtime.h"
#include "protocol/external_transaction.h"
#include "protocol/observer.h"
#include "protocol/protocol.h"
#include "protocol/run.h"

namespace heddle {

/// One worker's attempts in an external store, observed or not.
template <class M>
class ExternalAttempts final : public Attempts<M> {
 public:
  /// @param observer nullptr: none
  /// @param others attempts of the same worker, whose connection is shared; nullptr: it has none
  ExternalAttempts(StoredProcedures<M>& procedures, ExternalRuntime<M>& runtime,
                   Observer<M>* observer, ExternalAttempts* others = nullptr)
      : procedures_(procedures),
        runtime_(runtime),
        observer_(observer),
        own_(others == nullptr ? std::make_unique<ExternalTransaction<M>>(runtime) : nullptr),
        txn_(others == nullptr ? *own_ : others->txn_),
        entrance_(runtime.make_entrance(txn_.reads_faster_together())) {}

  Attempt<M> attempt(const std::byte* input, int type, std::uint32_t /*prior_aborts*/) override {
    if (observer_ != nullptr) observer_->begin(type, false);
    const GroupMember alone{input, type};
    const auto before = M::now();
    const WorkerEntrance::Pass pass = entrance_.enter({&alone, 1});
    const auto waited = M::now() - before;
    txn_.restrict_to(runtime_.relies_on_locks() ? &entrance_.requests() : nullptr);
    txn_.begin(access_of(alone), pass.granted());
    txn_.prefetch(entrance_.named());
    Attempt<M> attempt = execute(input, type);
    attempt.waited += waited;
    // One that aborts runs again, in its place.
    if (attempt.outcome != Outcome::abort) entrance_.give_place();
    return attempt;
  }

  bool take_place() override { return entrance_.take_place(); }
  void give_place() override { entrance_.give_place(); }

  [[nodiscard]] std::size_t group_size() const override { return runtime_.options().merge; }

  /// To gather writers alone is DIBS's way too: what only reads needs no wait for the disk.
  [[nodiscard]] bool merges(const GroupMember& one) override {
    return runtime_.options().reads == MergedReads::together ||
           access_of(one) == store::Access::read_write;
  }

  /// DIBS's merging (Gaffney et al., PVLDB 14, 2021, §4.4): the members are one transaction of the
  /// store, which waits for the disk once.
  typename Attempts<M>::GroupEnd attempt_group(std::span<const GroupMember> members,
                                               std::span<Attempt<M>> ended) override {
    if (observer_ != nullptr) observer_->begin_group();
    const auto begun = M::now();
    const WorkerEntrance::Pass pass = entrance_.enter(members);
    const auto waited = M::now() - begun;
    txn_.restrict_to(runtime_.relies_on_locks() ? &entrance_.requests() : nullptr);
    const auto end = execute_group(members, ended, pass.granted(), waited);
    if (!end.committed) {
      const Attempt<M> failed{.reason = txn_.reason(), .state = txn_.reason_state()};
      txn_.abort_group();
      std::fill_n(ended.begin(), end.ran, failed);
    }
    if (observer_ != nullptr) observer_->end_group(end.committed);
    return end;
  }

 private:
  /// What a transaction by itself is going to do. Its hints count only where readers run alone.
  store::Access access_of(const GroupMember& one) {
    const store::Access access = runtime_.access_of(one.type);
    const bool by_hints = access == store::Access::read_write &&
                          runtime_.options().reads == MergedReads::alone &&
                          !entrance_.may_write(one);
    return by_hints ? store::Access::read_first : access;
  }

  /// If it has not committed, the store's transaction has to be undone, for txn_.reason().
  /// @param waited before, at the entrance
  typename Attempts<M>::GroupEnd execute_group(std::span<const GroupMember> members,
                                               std::span<Attempt<M>> ended, bool may_run,
                                               typename M::Ticks waited) {
    const bool writes = std::any_of(members.begin(), members.end(), [&](const GroupMember& one) {
      return runtime_.access_of(one.type) == store::Access::read_write;
    });
    if (!txn_.begin_group(writes ? store::Access::read_write : store::Access::read_only, may_run)) {
      return {false, 0};
    }
    const auto parts = static_cast<typename M::Ticks>(members.size());
    waited += txn_.waited();
    for (std::size_t at = 0; at < members.size(); ++at) {
      if (observer_ != nullptr) observer_->begin(members[at].type, false);
      txn_.begin_member();
      if (at == 0) txn_.prefetch(entrance_.named());
      ended[at] = execute(members[at].input, members[at].type);
      if (ended[at].outcome == Outcome::abort) return {false, at + 1};
    }
    const auto before = M::now();
    if (!txn_.commit_group()) return {false, members.size()};
    const auto took = M::now() - before;
    for (Attempt<M>& each : ended) {
      each.waited += waited / parts;
      each.commit += took / parts;
    }
    return {true, members.size()};
  }

  Attempt<M> execute(const std::byte* input, int type) {
    // A type that reads a snapshot reads one of the store, where it is a transaction like others.
    const bool queries = procedures_.is_snapshot(type);
    return attempt_to_commit<M>(
        txn_,
        [&] {
          ObservedTransaction<M> txn(observer_ == nullptr ? erased_
                                                          : observer_->watch(erased_, input));
          return queries ? procedures_.query(txn, input) : procedures_.execute(txn, input);
        },
        [&](const ExternalTransaction<M>& /*txn*/, const Attempt<M>& attempt) {
          if (observer_ != nullptr) observer_->ended(erased_, attempt);
        });
  }

  StoredProcedures<M>& procedures_;
  ExternalRuntime<M>& runtime_;
  Observer<M>* observer_;
  std::unique_ptr<ExternalTransaction<M>> own_;
  ExternalTransaction<M>& txn_;
  WorkerEntrance entrance_;
  ErasedTransaction<M, ExternalTransaction<M>> erased_{txn_};
};

/// ProtocolRun of `external`.
template <class M>
class ExternalRun final : public ProtocolRun<M> {
 public:
  explicit ExternalRun(const RunSetup<M>& setup) : runtime_(setup) {}

  /// The store does not say.
  [[nodiscard]] int waits_for(int /*worker*/) const override { return -1; }
  void switch_policy(std::shared_ptr<const CompiledPolicy> /*policy*/) override {
    throw std::invalid_argument("protocol external does not execute a policy; use policy_table");
  }
  [[nodiscard]] WaitTimes<M>* wait_times(int /*worker*/) override { return nullptr; }
  [[nodiscard]] std::unique_ptr<Attempts<M>> observed_attempts(StoredProcedures<M>& procedures,
                                                               Storage<M>& /*storage*/,
                                                               int /*worker*/,
                                                               Observer<M>& observer,
                                                               Attempts<M>* others) override {
    return std::make_unique<ExternalAttempts<M>>(procedures, runtime_, &observer,
                                                 static_cast<ExternalAttempts<M>*>(others));
  }

  [[nodiscard]] bool is_external() const override { return true; }
  [[nodiscard]] std::unique_ptr<Attempts<M>> erased_attempts(
      StoredProcedures<M>& procedures) override {
    return std::make_unique<ExternalAttempts<M>>(procedures, runtime_, nullptr);
  }
  [[nodiscard]] BackoffRange backoff_range() const override { return runtime_.options().backoff; }
  [[nodiscard]] bool failed() const override { return runtime_.failed(); }
  [[nodiscard]] std::string failure() const override { return runtime_.failure(); }
  void fail(const std::string& why) override { runtime_.fail(why); }
  [[nodiscard]] std::string calls_in_progress() const override {
    return runtime_.calls_in_progress();
  }
  [[nodiscard]] std::optional<std::uint64_t> syncs() const override { return runtime_.syncs(); }
  [[nodiscard]] std::optional<std::uint64_t> round_trips() const override {
    return runtime_.round_trips();
  }
  void interrupt() override { runtime_.interrupt(); }
  void finish() override { runtime_.finish(); }

 private:
  ExternalRuntime<M> runtime_;
};

}  // namespace heddle
