#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "machine/seeded_fault.h"
#include "protocol/access_list.h"
#include "protocol/access_set.h"
#include "protocol/compiled_policy.h"
#include "protocol/optimistic.h"
#include "protocol/outcome.h"
#include "protocol/policy_dependencies.h"
#include "protocol/policy_publication.h"
#include "protocol/policy_runtime.h"
#include "protocol/replay_log.h"
#include "protocol/timeline.h"
#include "storage/storage.h"

namespace heddle {

/// An optimistic transaction that is validated piece by piece (Polyjuice §4.3, early validation).
///
/// A *piece* is the part of a transaction between two publication points. At a point the piece is
/// validated and then enters the access lists, in one hold of their latches: a piece that is not
/// valid is never visible. If it is not valid, the transaction retries from the last valid point:
/// the procedure runs again, and the accesses up to that point are served from a log.
///
/// Early validation only changes how often a transaction succeeds. The final validation checks
/// everything again.
template <class M>
class EarlyValidatingCore : public OptimisticCore<M> {
  using Core = OptimisticCore<M>;

 public:
  /// The number of retries from a validated point before the whole transaction runs again: what
  /// precedes the point may itself have become stale, which only the final validation detects.
  static constexpr int kRetriesFromPoint = 8;

 protected:
  using Core::conflict;
  using Core::doomed_;
  using Core::nodes_;
  using Core::set_;

  EarlyValidatingCore(Storage<M>& storage, int worker, PolicyRuntime<M>& runtime)
      : Core(storage, worker), dependencies_(runtime, worker), publication_(runtime, worker) {}

  /// Begins without a policy: the derived class sets it next.
  void begin_pieces(std::uint16_t type) {
    Core::begin_core();
    type_ = type;
    dependencies_.begin();
    publication_.begin(type);
    log_.clear();
    undo_.clear();
    point_ = {};
    progress_ = 0;
    retries_ = 0;
    failed_early_ = false;
    may_read_the_same_ = false;
    blocker_ = {};
  }

  /// Waits before an access or a validation, as the cells of a row say. Returns false if the run
  /// has ended.
  bool wait_action(const std::vector<std::uint16_t>& cells, AccessId state) {
    if (dependencies_.wait_action(*policy_, cells, state)) return true;
    conflict(AbortReason::stopped, state);
    return false;
  }

  /// Whether accesses are logged now, for a later retry to serve them.
  [[nodiscard]] bool records() const { return progress_ < compiled_type_.recorded_until; }

  /// Saves an entry that existed at the last point, before it changes.
  void note_undo(std::uint32_t entry) {
    if (entry < point_.entries) undo_.push_back({entry, set_[entry]});
  }

  /// After an access with a PUBLIC write or early validation: validates the piece and makes it
  /// visible. Returns false if the piece is not valid or the run has ended.
  [[gnu::noinline]] bool publication_point(AccessId state, const CompiledState& row) {
    if (row.waits_before_validation && !wait_action(row.wait_before_validation, state)) {
      return false;
    }
    M::on_control();
    publication_.collect(*policy_, set_, point_.entries, row.publishes);
    publication_.latch();
    M::on_control();  // two phases of about the same length: preparation and validation
    const bool valid = prefix_valid(state) && piece_valid();
    if (valid) {
      const bool hidden = !publication_.visible();
      publication_.link(set_, dependencies_);
      // Others can wait for it from here on: announces what it finished while it was in no list.
      if (hidden && compiled_type_.announces && progress_ != 0) publication_.announce(progress_);
    }
    timeline::tell<M>(timeline::What::validation, state, valid);
    if (valid && row.publishes) {
      timeline::tell<M>(timeline::What::publication, state, publication_.pending_count());
    }
    publication_.unlatch();
    if (!valid) {
      failed_early_ = !doomed_;
      conflict(AbortReason::early_validation, state);
      return false;
    }
    if (row.publishes) publication_.clear_pending(set_);
    undo_.clear();
    point_ = {.entries = set_.size(),
              .accesses = log_.size(),
              .nodes = nodes_.size(),
              .pending = publication_.pending_count(),
              .dependencies = dependencies_.mark(),
              .progress = progress_,
              .behind_gap = !records()};
    return true;
  }

  /// Whether early validation of the last piece is left to the commit.
  [[nodiscard]] bool has_commit_point() const { return compiled_type_.commit_point != kNoState; }

  /// Early validation after the last access, just before the commit locks what it validates again.
  [[gnu::noinline]] bool last_piece_valid() {
    assert(!publication_.visible() && !dependencies_.reads_dirty() && dependencies_.empty() &&
           "see commit_point");
    M::on_control();
    const bool valid = piece_valid();
    timeline::tell<M>(timeline::What::validation, compiled_type_.commit_point, valid);
    if (valid) return true;
    failed_early_ = true;
    conflict(AbortReason::early_validation, compiled_type_.commit_point);
    return false;
  }

  /// After the final validation has failed: in a type that validates early at its end, the changed
  /// records may read the same. retry_piece() checks that.
  void note_refusal() {
    may_read_the_same_ = has_commit_point() && !this->looked_again_ &&
                         this->reason() == AbortReason::read_validation;
  }

  /// The continuation after a failed attempt, if it was a validation that failed. `run` the
  /// procedure again: the transaction is back at the last validated point, and the log serves the
  /// accesses up to it. `conclude`: the procedure would do the same again, so its result stands.
  Retry retry_piece() {
    if (may_read_the_same_) {
      may_read_the_same_ = false;
      Core::unlock_write_set();
      if (++retries_ <= kRetriesFromPoint && all_read_the_same()) {
        doomed_ = false;
        return Retry::conclude;
      }
    }
    if (!failed_early_ || point_.behind_gap || ++retries_ > kRetriesFromPoint) return Retry::no;
    if (blocker_.owner != nullptr) {
      // Until that writer has ended, a retry would meet its version again. A wait that would close
      // a cycle is skipped.
      (void)dependencies_.wait_for(blocker_, Dependencies<M>::kUntilFinished, this->reason_state());
      if (dependencies_.stopped()) return Retry::no;
    }
    blocker_ = {};
    failed_early_ = false;
    doomed_ = false;
    go_back_to_point();
    return Retry::run;
  }

  Dependencies<M> dependencies_;
  Publication<M> publication_;
  ReplayLog log_;
  const CompiledPolicy* policy_ = nullptr;
  CompiledType compiled_type_;
  std::uint16_t type_ = 0;
  std::uint16_t progress_ = 0;  ///< the ordinal of the last finished access

 private:
  struct Undo {
    std::uint32_t entry;
    Access<M> before;
  };
  /// The last validated point: the sizes of all sets and logs at that point.
  struct Point {
    std::uint32_t entries = 0;
    std::uint32_t accesses = 0;
    std::uint32_t nodes = 0;
    std::uint32_t pending = 0;
    typename Dependencies<M>::Mark dependencies{};
    std::uint16_t progress = 0;
    bool behind_gap = false;  ///< the log has a gap before it: no retry starts here
  };

  /// Whether what earlier points have validated may still be valid. A dirty read whose writer has
  /// aborted since dooms the transaction, and every transaction that would read from it.
  [[nodiscard]] bool prefix_valid(AccessId state) {
    if (dependencies_.plausible_until(point_.dependencies, set_)) return true;
    conflict(AbortReason::dirty_source, state);
    return false;
  }

  /// Early validation: whether what was read since the last point has not changed, or reads the
  /// same, and no visible write conflicts with those to be published.
  [[nodiscard]] bool piece_valid() {
    for (std::uint32_t entry = point_.entries; entry < set_.size(); ++entry) {
      Access<M>& access = set_[entry];
      if (access.dirty) continue;
      // acquire: early validation is a hint; the final validation decides.
      const std::uint64_t word = access.record->word.load(std::memory_order_acquire);
      if (word == access.seen) continue;
      // Never waits for a record while holding latches: its writer may have been preempted.
      if (tid::locked(word) && publication_.latched()) return false;
      if (!Core::reads_the_same(access)) return false;
    }
    if (!dependencies_.plausible_since(point_.dependencies, set_)) return false;
    if (const AccessNode<M>* obstacle = publication_.obstacle(set_, dependencies_)) {
      blocker_ = {obstacle->owner, obstacle->incarnation, obstacle->type};
      return false;
    }
    return nodes_.plausible_since(point_.nodes, static_cast<Core*>(this));
  }

  /// After the final validation has failed on a record: whether the whole transaction would read
  /// the same if it ran again. The final validation that follows detects later changes.
  [[nodiscard]] bool all_read_the_same() {
    for (Access<M>& access : set_) {
      // acquire: a hint, as in piece_valid().
      if (access.record->word.load(std::memory_order_acquire) != access.seen &&
          !Core::reads_the_same(access)) {
        return false;
      }
    }
    return true;
  }

  /// Restores the state at the last validated point.
  void go_back_to_point() {
    if (!seeded<M>(SeededFault::keep_reads_after_retry)) {
      for (auto at = undo_.rbegin(); at != undo_.rend(); ++at) set_[at->entry] = at->before;
    }
    undo_.clear();
    if (seeded<M>(SeededFault::drop_read_after_retry) && point_.entries != 0) --point_.entries;
    set_.truncate(point_.entries);
    nodes_.rewind(point_.accesses);
    point_.nodes = nodes_.size();  // nodes split off by own inserts since have stayed
    dependencies_.rewind(point_.dependencies);
    publication_.rewind_pending(point_.pending);
    log_.rewind(point_.accesses);
    progress_ = point_.progress;
    // Records placed after the point stay in the index until the end; see drop_placeholders().
    this->stray_placeholders_ = true;
  }

  Point point_;
  std::vector<Undo> undo_;
  int retries_ = 0;
  bool failed_early_ = false;
  bool may_read_the_same_ = false;  ///< the final validation failed on a record; see commit_point
  Dependency<M> blocker_{};  ///< the writer on whose visible write early validation failed, if any
};

}  // namespace heddle
