#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/admission_state.h"
#include "driver/input_array.h"
#include "driver/measurements.h"
#include "model/hints.h"
#include "model/inputs.h"
#include "model/random.h"
#include "schedule/admission/durations.h"
#include "schedule/admission/partition.h"
#include "schedule/admission/policy.h"
#include "schedule/admission/predictor.h"
#include "schedule/admission/probe.h"
#include "schedule/admission/registry.h"

namespace heddle {

/// Decides which of one worker's transactions in flight starts next (SMF, VLDB 2024, §4.1).
///
/// In the paper clients put their transactions into one queue, and the scheduler takes from it.
/// Here a worker is its own client, and one queue would be a cache line that every core writes for
/// every transaction. The queue is therefore split among the workers: each holds a window of
/// transactions that it has drawn and not begun, and takes the next one from it. Of the other
/// workers it needs to know only what the paper's scheduler knows of its schedule: for each hot
/// key, until when the latest transactions scheduled there need it (KeyTimes), which all workers
/// share without locking. `k` samples of a queue of n · window transactions differ little from k
/// samples of a window, because all windows are drawn from the same mix.
///
/// - The hot keys that a transaction will access are predicted from its hints (Predictor); a
///   transaction without any is cold, and starts without being scheduled.
/// - So does a transaction of a type that is not to be scheduled (Options::unscheduled).
/// - No transaction is starved: once `barrier` others have overtaken it, it starts as soon as the
///   worker is free. That is the paper's barrier (§5.1), placed after each transaction instead of
///   after every fixed number of transactions.
/// - Where scheduling does not pay, transactions begin in the order in which they are drawn, and
///   delays end with the test of scheduling (Probe). `partition` is not tested: it does not delay
///   transactions but moves them.
/// - Latency counts from the draw, or the arrival, so it includes the time in a window.
/// - The expected duration of a transaction is that of the worker's own of its type (Durations)
///   while they were scheduled; transactions that begin as they are drawn are not measured.
/// - An aborted transaction stays with its worker, is scheduled again after those scheduled
///   meanwhile, and starts at its new time, after its backoff.
template <class M>
class Admission {
 public:
  using Ticks = typename M::Ticks;
  static constexpr bool kSchedules = true;

  /// A transaction in flight.
  struct Entry : admission::Candidate<M> {
    std::byte* input = nullptr;
    int type = 0;
    Ticks arrived = 0;
    Ticks start = 0;        ///< the earliest start
    int overtaken = 0;      ///< the number of later-drawn transactions that overtook it
    std::size_t keys = 0;   ///< the number of keys it names; 0: none, or not yet determined
    bool mistaken = false;  ///< for another, `hinting`, whose hints it passes
    std::byte* hinting = nullptr;
  };

  Admission(AdmissionState<M>& state, const Inputs& inputs, int worker, int workers, int types,
            std::uint64_t seed)
      : state_(state),
        inputs_(inputs),
        worker_(worker),
        workers_(workers),
        routes_(!state.mailboxes.empty()),
        predictor_(state.make_predictor()),
        mistakes_(Random::stream(seed, 2 * kStream + static_cast<std::uint64_t>(worker))),
        // Not the stream of the inputs: the same transactions are drawn under every policy.
        policy_(admission::make_policy<M>(
            state.options, state.keys,
            Random::stream(seed, kStream + static_cast<std::uint64_t>(worker)))),
        probe_(state.probe, M::ticks(state.options.probe_us)),
        durations_(static_cast<std::size_t>(types)),
        entries_(static_cast<std::size_t>(state.options.window) + 2),
        memory_(inputs, 2 * entries_.size() + 1) {
    for (std::size_t at = 0; at < entries_.size(); ++at) {
      entries_[at].input = memory_[2 * at];
      entries_[at].hinting = memory_[2 * at + 1];
      free_.push_back(&entries_[at]);
    }
    candidates_.reserve(entries_.size());
    waiting_.reserve(entries_.size());
  }

  [[nodiscard]] const admission::HintedStates& states() const { return state_.states; }

  /// Whether the next transaction is drawn and begun at once. `next` must not be called then, and
  /// the cost is that of a run without scheduling.
  [[nodiscard]] bool passes(Ticks now) {
    if (routes_ || probe_.schedules(now)) return false;
    return waiting_.empty() || probe_.measures();  // waiting transactions go first, unless that
                                                   // would distort the measurement
  }

  /// Whether drawn transactions wait, so that `next` returns one of them.
  [[nodiscard]] bool holds_some() const { return !waiting_.empty(); }

  /// Counts a transaction that begins unscheduled.
  void pass(AdmissionCounts& counts) {
    release();
    probe_.began();
    ++counts.cold;
  }

  /// The transaction that starts next; nullptr: there is none yet. Valid until the next call.
  ///
  /// @param draw draws a transaction if one has arrived: bool(std::byte* input, int& type, Ticks&
  ///        arrived)
  template <class Draw>
  Entry* next(Draw draw, Ticks now, AdmissionCounts& counts) {
    release();
    chooses_again_at_ = 0;
    if (routes_) {
      current_ = next_routed(draw, counts);
    } else {
      // The span may have ended while the worker waited for a place, before it has drawn any.
      const bool schedules = probe_.schedules(now) || waiting_.empty();
      current_ = schedules ? next_of_window(draw, now, counts) : next_put_off(counts);
      if (current_ != nullptr) probe_.began();
    }
    return current_;
  }

  /// The time at which the transaction that `next` returned may start again after an abort.
  [[nodiscard]] Ticks start_again(Ticks now) {
    if (current_ == nullptr || current_->operations.empty()) return now;
    return std::min(policy_->again(*current_, now), std::max(now, probe_.waits_until()));
  }

  /// The rows that the transaction that `next` returned is expected to access.
  /// @param rows empty
  void expect(Hints& rows) {
    hints_.clear();
    hint(*current_);
    predictor_->expect(static_cast<std::size_t>(current_->type), hints_, rows);
  }

  /// The time at which to call `next` again after it has returned nullptr, if others only have to
  /// commit; 0: it depends on what arrives.
  [[nodiscard]] Ticks chooses_again_at() const { return chooses_again_at_; }

  /// @param took duration of the attempt that committed, without waits for others
  void ended(int type, Ticks took) {
    if (current_ == nullptr) return;  // it was not scheduled
    if (current_->keys == 0) {
      hints_.clear();
      hint(*current_);
      current_->keys = hints_.size();
    }
    durations_.ended(static_cast<std::size_t>(type), current_->keys, took);
    if (current_->operations.empty()) return;
    policy_->ended(*current_);
    current_->operations.clear();
  }

  /// Calls each(type, arrived) for every transaction that is in flight and not begun.
  template <class F>
  void for_each_waiting(F each) {
    for (const Entry* entry : waiting_) each(entry->type, entry->arrived);
    if (outgoing_ != nullptr) each(outgoing_->type, outgoing_->arrived);
    if (!routes_) return;
    Parcel parcel;
    std::byte* const input = memory_[2 * entries_.size()];
    while (mailbox(worker_).take(parcel, input)) each(inputs_.type_of(input), parcel.arrived);
  }

 private:
  using Parcel = typename AdmissionState<M>::Parcel;

  static constexpr std::uint64_t kStream = std::uint64_t{1} << 32;

  /// While nothing is scheduled: returns the transactions waiting in the window, the oldest first.
  Entry* next_put_off(AdmissionCounts& counts) {
    assert(!waiting_.empty());  // otherwise the transaction would have begun unscheduled
    Entry* entry = waiting_.front();
    waiting_.erase(waiting_.begin());
    candidates_.erase(candidates_.begin());
    entry->operations.clear();
    ++counts.cold;
    return entry;
  }

  template <class Draw>
  Entry* next_of_window(Draw draw, Ticks now, AdmissionCounts& counts) {
    while (waiting_.size() < static_cast<std::size_t>(state_.options.window) && !is_forced()) {
      Entry* entry = drawn(draw);
      if (entry == nullptr) break;
      if (entry->operations.empty()) {
        ++counts.cold;
        overtake(waiting_.size());
        return entry;
      }
      waiting_.push_back(entry);
      candidates_.push_back(entry);
    }
    if (waiting_.empty()) return nullptr;
    for (Entry* entry : waiting_) entry->duration = duration_of(*entry);
    const bool forced = is_forced();
    const admission::Choice<M> choice = policy_->choose(candidates_, forced, now);
    if (choice.index == admission::Choice<M>::kNone) {
      chooses_again_at_ = choice.start;
      return nullptr;
    }
    Entry* chosen = waiting_[choice.index];
    overtake(choice.index);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(choice.index));
    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(choice.index));
    chosen->start = std::min(choice.start, probe_.waits_until());
    ++counts.hot;
    counts.forced += forced ? 1 : 0;
    counts.overtaking += choice.index != 0 ? 1 : 0;
    counts.deferred += choice.deferred;
    return chosen;
  }

  /// Transactions that others have left for this worker go first. Those that it draws for others
  /// are left with them; if a mailbox is full, it draws no more until there is space.
  template <class Draw>
  Entry* next_routed(Draw draw, AdmissionCounts& counts) {
    Entry* entry = take_free();
    Parcel parcel;
    if (mailbox(worker_).take(parcel, entry->input)) {
      entry->type = inputs_.type_of(entry->input);
      entry->operations = parcel.operations;
      entry->arrived = parcel.arrived;
      entry->start = 0;
      entry->mistaken = false;
      entry->keys = 0;
      ++counts.hot;
      return entry;
    }
    free_.push_back(entry);
    while (true) {
      entry = outgoing_ != nullptr ? outgoing_ : drawn(draw);
      outgoing_ = nullptr;
      if (entry == nullptr) return nullptr;
      if (entry->operations.empty()) {
        ++counts.cold;
        return entry;
      }
      const int owner = admission::Partition::owner(entry->operations, workers_);
      if (owner == worker_) {
        ++counts.hot;
        return entry;
      }
      if (!mailbox(owner).put({entry->operations, entry->arrived}, entry->input)) {
        outgoing_ = entry;
        return nullptr;
      }
      ++counts.moved;
      free_.push_back(entry);
    }
  }

  /// Draws a transaction and predicts which of its keys are hot.
  template <class Draw>
  Entry* drawn(Draw draw) {
    Entry* entry = fresh(draw);
    if (entry != nullptr) predict(*entry);
    return entry;
  }

  /// Draws a transaction.
  template <class Draw>
  Entry* fresh(Draw draw) {
    Entry* entry = take_free();
    if (!draw(entry->input, entry->type, entry->arrived)) {
      free_.push_back(entry);
      return nullptr;
    }
    entry->start = 0;
    entry->overtaken = 0;
    entry->mistaken = false;
    entry->keys = 0;
    return entry;
  }

  /// Whether the oldest must start now. A transaction that overtakes any other overtakes the oldest
  /// too, so no other has been overtaken more often.
  [[nodiscard]] bool is_forced() const {
    return !waiting_.empty() && waiting_.front()->overtaken >= state_.options.barrier;
  }

  /// Counts that a transaction goes before the oldest `count`.
  void overtake(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) ++waiting_[i]->overtaken;
  }

  void predict(Entry& entry) {
    M::on_control();
    entry.operations.clear();
    if (state_.options.wrong_hints > 0) mistake(entry);
    if (!state_.schedules(entry.type)) return predictor_->pass();
    hints_.clear();
    hint(entry);
    entry.keys = hints_.size();
    predictor_->predict(static_cast<std::size_t>(entry.type), hints_, entry.operations);
  }

  /// Mistakes some transactions for another one of their type, of any worker.
  void mistake(Entry& entry) {
    const bool found = state_.recent.exchange(static_cast<std::size_t>(entry.type), entry.input,
                                              mistakes_, entry.hinting);
    entry.mistaken = found && mistakes_.unit() < state_.options.wrong_hints;
  }

  /// The hints of a transaction, or those of the one it is mistaken for.
  void hint(const Entry& entry) {
    inputs_.hints(entry.mistaken ? entry.hinting : entry.input, hints_);
  }

  [[nodiscard]] Ticks duration_of(const Entry& entry) const {
    return durations_.expected(static_cast<std::size_t>(entry.type), entry.keys);
  }

  Mailbox<M, Parcel>& mailbox(int worker) {
    return state_.mailboxes[static_cast<std::size_t>(worker)];
  }

  void release() {
    if (current_ != nullptr) free_.push_back(current_);
    current_ = nullptr;
  }

  Entry* take_free() {
    assert(!free_.empty());
    Entry* entry = free_.back();
    free_.pop_back();
    return entry;
  }

  AdmissionState<M>& state_;
  const Inputs& inputs_;
  int worker_;
  int workers_;
  bool routes_;
  std::unique_ptr<admission::Predictor> predictor_;
  Random mistakes_;
  std::unique_ptr<admission::Policy<M>> policy_;
  admission::Probe<M> probe_;
  admission::Durations<Ticks> durations_;
  std::vector<Entry> entries_;
  InputArray memory_;  ///< two inputs per entry, and one more
  std::vector<Entry*> free_;
  std::vector<Entry*> waiting_;                             ///< the oldest first
  std::vector<const admission::Candidate<M>*> candidates_;  ///< the same
  Entry* current_ = nullptr;
  Ticks chooses_again_at_ = 0;
  Entry* outgoing_ = nullptr;  ///< its owner's mailbox is full
  Hints hints_;
};

}  // namespace heddle
