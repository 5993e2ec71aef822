#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/seeded_fault.h"
#include "protocol/access_list.h"
#include "protocol/access_set.h"
#include "protocol/compiled_policy.h"
#include "protocol/outcome.h"
#include "protocol/policy_runtime.h"
#include "protocol/timeline.h"
#include "protocol/transaction_context.h"

namespace heddle {

/// Another worker's transaction that must end before this one commits.
template <class M>
struct Dependency {
  TransactionContext<M>* owner;
  std::uint64_t incarnation;
  std::uint16_t type;
};

/// The dependencies of one transaction: the transactions before it in the access lists, including
/// those it has read dirty from (Polyjuice §3.1). It waits for them before an access, as the wait
/// action says (§4.3), and before it commits (§4.4, step 1).
///
/// A wait that would close a cycle of waiting transactions is skipped. Before an access that does
/// no harm, because waiting is advisory and validation decides; before the commit the transaction
/// aborts.
template <class M>
class Dependencies {
 public:
  static constexpr std::uint32_t kUntilFinished = timeline::kUntilEnd;

  /// The uncommitted version that an entry of the access set was read from.
  struct Source {
    std::uint32_t entry;
    TransactionContext<M>* owner;
    std::uint64_t incarnation;
    std::uint8_t writes;
    bool removed;

    [[nodiscard]] bool is_version(const AccessNode<M>& node) const {
      return node.owner == owner && node.incarnation == incarnation && node.writes == writes;
    }
  };
  /// The number of dependencies and sources: a state that rewind() restores.
  struct Mark {
    std::uint32_t dependencies = 0;
    std::uint32_t sources = 0;
  };

  Dependencies(PolicyRuntime<M>& runtime, int worker)
      : runtime_(runtime),
        context_(runtime.contexts[worker]),
        wait_times_(runtime.wait_times[static_cast<std::size_t>(worker)]) {}

  void begin() {
    dependencies_.clear();
    sources_.clear();
    wait_times_.total = 0;
  }

  [[nodiscard]] bool empty() const { return dependencies_.empty(); }
  [[nodiscard]] Mark mark() const {
    return {static_cast<std::uint32_t>(dependencies_.size()),
            static_cast<std::uint32_t>(sources_.size())};
  }
  void rewind(Mark mark) {
    dependencies_.resize(mark.dependencies);
    sources_.resize(mark.sources);
  }

  void add(TransactionContext<M>* owner, std::uint64_t incarnation, std::uint16_t type) {
    if (owner == &context_) return;
    for (const Dependency<M>& known : dependencies_) {
      if (known.owner == owner && known.incarnation == incarnation) return;
    }
    timeline::tell<M>(timeline::What::dependency, owner->worker());
    dependencies_.push_back({owner, incarnation, type});
  }

  // ---- waiting ---------------------------------------------------------------------------------

  /// Time spent waiting since begin().
  [[nodiscard]] typename M::Ticks waited() const { return wait_times_.total; }

  [[nodiscard]] bool stopped() const {
    // relaxed: carries no data; a later check will see it.
    return runtime_.stop.load(std::memory_order_relaxed) != 0;
  }

  /// Waits for one dependency to finish `accesses` of its accesses. Returns false if that would
  /// close a cycle of waiting transactions.
  /// @param state the access that waits, to which the time is charged; kNoState for the commit
  bool wait_for(const Dependency<M>& dependency, std::uint32_t accesses, AccessId state) {
    if (dependency.owner->reached(dependency.incarnation, accesses)) return true;
    timeline::tell<M>(timeline::What::wait, dependency.owner->worker(), accesses);
    // seq_cst: see closes_cycle().
    context_.waits_for.store(
        TransactionContext<M>::pack_reference(dependency.owner->worker(), dependency.incarnation),
        std::memory_order_seq_cst);
    const bool cycle = !seeded<M>(SeededFault::skip_cycle_check) &&
                       closes_cycle<M>(runtime_.contexts, context_.worker(), runtime_.workers);
    if (!cycle) {
      const auto start = M::now();
      dependency.owner->wait(dependency.incarnation, accesses, [this] { return stopped(); });
      wait_times_.add(state, M::now() - start);
    }
    timeline::tell<M>(cycle ? timeline::What::wait_skipped : timeline::What::wait_end);
    // A reference to a transaction that has ended closes no cycle, so it can stay.
    if (!dependency.owner->finished(dependency.incarnation)) {
      context_.waits_for.store(0, std::memory_order_release);  // release: it waits no longer
    }
    return !cycle;
  }

  /// The wait action (§4.3): waits until every dependency has made the progress that the cell of
  /// its type demands. Returns false if the run has ended.
  bool wait_action(const CompiledPolicy& policy, const std::vector<std::uint16_t>& cells,
                   AccessId state) {
    for (const Dependency<M>& dependency : dependencies_) {
      const std::uint16_t cell = cells[dependency.type];
      if (cell == 0) continue;
      const auto type = static_cast<std::size_t>(dependency.type);
      const bool until_commit = cell > policy.policy().signature.types[type].accesses.size();
      (void)wait_for(dependency, until_commit ? kUntilFinished : cell, state);
      if (stopped()) return false;
    }
    return true;
  }

  /// Whether wait_action() would return at once.
  [[nodiscard]] bool nothing_to_wait_for(const std::vector<std::uint16_t>& cells) const {
    return std::all_of(dependencies_.begin(), dependencies_.end(), [&](const Dependency<M>& one) {
      const std::uint16_t cell = cells[one.type];
      return cell == 0 || one.owner->reached(one.incarnation, cell);
    });
  }

  /// Commit, step 1 (§4.4): waits until every dependency has committed or aborted.
  /// @return the reason why it cannot wait for that, or AbortReason::none
  AbortReason await_all() {
    if (seeded<M>(SeededFault::skip_dependency_wait)) return AbortReason::none;
    for (const Dependency<M>& dependency : dependencies_) {
      if (!wait_for(dependency, kUntilFinished, kNoState)) return AbortReason::wait_cycle;
      if (!dependency.owner->finished(dependency.incarnation)) return AbortReason::stopped;
    }
    return AbortReason::none;
  }

  // ---- the sources of dirty reads --------------------------------------------------------------

  [[nodiscard]] bool reads_dirty() const { return !sources_.empty(); }

  void add_source(const Source& source) { sources_.push_back(source); }

  /// The source of an entry; nullptr if it was not read dirty.
  [[nodiscard]] const Source* source_of(std::uint32_t entry) const {
    for (const Source& source : sources_) {
      if (source.entry == entry) return &source;
    }
    return nullptr;
  }

  /// Whether the dirty reads made up to `mark` may still be valid: their writers run, or have
  /// committed the versions that were read.
  [[nodiscard]] bool plausible_until(Mark mark, const AccessSet<M>& set) const {
    return plausible(0, mark.sources, set);
  }
  /// The same for the dirty reads made since.
  [[nodiscard]] bool plausible_since(Mark mark, const AccessSet<M>& set) const {
    return plausible(mark.sources, static_cast<std::uint32_t>(sources_.size()), set);
  }

  /// After await_all(): gives every entry that was read dirty the committed version that its source
  /// has become, for the final validation (§4.4).
  /// @return an entry whose source has not committed, or AccessSet::kNone
  [[nodiscard]] std::uint32_t resolve(AccessSet<M>& set) const {
    for (const Source& source : sources_) {
      const std::uint64_t version = source.owner->outcome(source.incarnation);
      Access<M>& access = set[source.entry];
      if (believes(source, version)) {
        access.seen = access.record->word.load(std::memory_order_acquire) & ~tid::kLock;
        continue;
      }
      if (version == TransactionContext<M>::kAborted) return source.entry;
      access.seen = tid::committed(version, source.writes, source.removed);
    }
    return AccessSet<M>::kNone;
  }

 private:
  [[nodiscard]] bool plausible(std::uint32_t first, std::uint32_t end,
                               const AccessSet<M>& set) const {
    for (std::uint32_t at = first; at < end; ++at) {
      if (!plausible(sources_[at], set)) return false;
    }
    return true;
  }

  [[nodiscard]] static bool plausible(const Source& source, const AccessSet<M>& set) {
    if (!source.owner->finished(source.incarnation)) return true;
    const std::uint64_t version = source.owner->outcome(source.incarnation);
    // acquire: a hint, as all of early validation; the final validation decides.
    return version != TransactionContext<M>::kAborted &&
           set[source.entry].record->word.load(std::memory_order_acquire) ==
               tid::committed(version, source.writes, source.removed);
  }

  /// Seeded faults: dirty reads accepted without verification.
  [[nodiscard]] static bool believes([[maybe_unused]] const Source& source,
                                     [[maybe_unused]] std::uint64_t version) {
    if (seeded<M>(SeededFault::skip_dependency_wait)) {
      return !source.owner->finished(source.incarnation);
    }
    if (seeded<M>(SeededFault::skip_source_check)) {
      return version == TransactionContext<M>::kAborted;
    }
    return seeded<M>(SeededFault::any_write_of_source) &&
           version != TransactionContext<M>::kAborted;
  }

  PolicyRuntime<M>& runtime_;
  TransactionContext<M>& context_;
  WaitTimes<M>& wait_times_;
  std::vector<Dependency<M>> dependencies_;
  std::vector<Source> sources_;
};

}  // namespace heddle
