#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "machine/shared.h"
#include "model/inputs.h"
#include "model/signature.h"
#include "protocol/compiled_policy.h"
#include "protocol/concepts.h"
#include "protocol/outcome.h"
#include "protocol/timeline.h"
#include "storage/storage.h"

namespace heddle {

/// What a protocol receives when a run starts.
template <class M>
struct RunSetup {
  Storage<M>& storage;
  const Signature& signature;
  int workers;
  const Shared<M, std::uint64_t>& stop;          ///< nonzero: every wait must end
  std::map<std::string, std::string> options;    ///< of the protocol
  std::shared_ptr<const CompiledPolicy> policy;  ///< for protocols that execute one
  const Inputs* inputs = nullptr;                ///< for protocols that use hints; nullptr: none
  // For protocols that wait for a server before the workers start and after they have ended:
  double watchdog_s = 10;                  ///< RunOptions::watchdog_s
  std::function<bool()> interrupted = {};  ///< whether the calling thread is; empty: it is not
};

/// The result of one attempt at a transaction.
template <class M>
struct Attempt {
  Outcome outcome = Outcome::abort;
  AbortReason reason = AbortReason::none;
  AccessId state = kNoState;          ///< the access at which it aborted
  typename M::Ticks waited = 0;       ///< time spent waiting for other transactions
  typename M::Ticks commit = 0;       ///< time spent in the commit protocol, waits excluded
  std::uint32_t partial_retries = 0;  ///< number of re-runs from a validated point
};

struct Ignored {
  template <class Txn, class A>
  void operator()(const Txn& /*txn*/, const A& /*attempt*/) const {}
};

/// Makes one attempt at a transaction that has begun: runs its procedure, and commits or validates
/// its rollback. Serves every transaction class; `txn.waited()` is its waiting time so far.
///
/// @param procedure returns the Outcome; it runs again if the transaction can return to a validated
///        point
/// @param on_end(const Txn&, const Attempt<M>&) is called when the attempt has ended and `txn`
///        still holds its accesses
template <class M, AttemptedTransaction<M> Txn, class F, class OnEnd = Ignored>
Attempt<M> attempt_to_commit(Txn& txn, F procedure, OnEnd on_end = {}) {
  Attempt<M> attempt;
  Outcome outcome = procedure();
  while (true) {
    if (outcome != Outcome::abort) timeline::tell<M>(timeline::What::commit);
    const auto before = M::now();
    const auto waited_before = txn.waited();
    const bool ended = (outcome == Outcome::commit && txn.commit()) ||
                       (outcome == Outcome::rollback && txn.validate_rollback());
    const auto took = [&] { return M::now() - before - (txn.waited() - waited_before); };
    if constexpr (Txn::kReplays) {
      const Retry retry = ended ? Retry::no : txn.retry_from_point();
      if (retry != Retry::no) {
        attempt.commit += took();
        if (retry == Retry::run) {
          timeline::tell<M>(timeline::What::retry);
          ++attempt.partial_retries;
          outcome = procedure();
        }
        continue;
      }
    }
    if (!ended) {
      attempt.reason = txn.reason();
      attempt.state = txn.reason_state();
    }
    if (!ended || outcome == Outcome::rollback) {
      timeline::tell<M>(timeline::What::undo);
      txn.abort();
    }
    attempt.outcome = ended ? outcome : Outcome::abort;
    attempt.waited = txn.waited();
    attempt.commit += took();
    on_end(txn, attempt);
    return attempt;
  }
}

/// One attempt by a Procedure.
template <class M, Transaction<M> Txn, Procedure<M, Txn> P>
Attempt<M> attempt_by(Txn& txn, const P& procedure) {
  return attempt_to_commit<M>(
      txn, [&] { return procedure.run(txn); },
      [&](Txn& ended, const Attempt<M>& attempt) { procedure.ended(ended, attempt); });
}

/// Throws the error for an invalid option of a protocol.
[[noreturn]] void reject_protocol_option(std::string_view protocol, const std::string& key,
                                         const std::string& value, std::string_view valid);

}  // namespace heddle
