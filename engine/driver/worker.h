#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "driver/backoff.h"
#include "driver/exclusive_turns.h"
#include "driver/input_array.h"
#include "driver/measurements.h"
#include "driver/run_state.h"
#include "model/hints.h"
#include "model/inputs.h"
#include "model/random.h"
#include "protocol/attempts.h"
#include "protocol/expected_access.h"
#include "protocol/policy_runtime.h"
#include "protocol/protocol.h"
#include "protocol/timeline.h"
#include "storage/storage.h"

namespace heddle {

/// The inputs of a worker's constructor.
template <class M>
struct WorkerSetup {
  typename M::Member& member;
  int workers;
  std::uint64_t seed;
  Inputs& inputs;
  Storage<M>& storage;
  std::unique_ptr<Attempts<M>> attempts;
  WaitTimes<M>* wait_times;  ///< nullptr: the protocol does not record waiting time by state
  RunState<M>& state;
  std::uint32_t exclusive_after;  ///< RunOptions::exclusive_after
  Heartbeat<M>& heartbeat;
  Measurements<M>& measurements;
  Backoff backoff;
};

/// Transactions start as they are drawn: first in, first out.
struct Unscheduled {
  static constexpr bool kSchedules = false;
};

/// One worker: draws transactions from the workload and runs each until it commits.
///
/// Where transactions arrive by a clock of their own, it waits for the next one. A transaction that
/// begins late counts from its arrival; otherwise the queue in front of a slow engine would not be
/// measured ("coordinated omission").
///
/// An aborted transaction is retried with the same input until it commits or the run ends; a worker
/// never drops it for an easier one (Polyjuice §7.1), or training would learn to starve a type.
/// Once it has aborted too often, it runs without others (ExclusiveTurns).
///
/// @tparam Scheduling decides which transaction starts next: Unscheduled, or Admission
///         (driver/admission.h)
template <class M, class Scheduling>
class Worker {
 public:
  /// @param scheduling constructor arguments of `Scheduling`
  template <class... Args>
  explicit Worker(WorkerSetup<M> setup, Args&&... scheduling)
      : member_(setup.member),
        worker_(member_.worker()),
        workers_(setup.workers),
        random_(Random::stream(setup.seed, static_cast<std::uint64_t>(worker_))),
        inputs_(setup.inputs),
        storage_(setup.storage),
        attempts_(std::move(setup.attempts)),
        wait_times_(setup.wait_times),
        state_(setup.state),
        exclusive_after_(setup.exclusive_after == 0 ? std::numeric_limits<std::uint32_t>::max()
                                                    : setup.exclusive_after),
        heartbeat_(setup.heartbeat),
        measurements_(setup.measurements),
        backoff_(std::move(setup.backoff)),
        open_loop_(inputs_.open_loop()),
        group_size_(kMayGroup ? attempts_->group_size() : 1),
        input_(inputs_, group_size_),
        scheduling_(std::forward<Args>(scheduling)...) {}

  /// Runs until the end of the run.
  void run() {
    Phase phase = Phase::warm_up;
    auto now = M::now();
    Begin next = nothing_until(now);
    while (true) {
      // acquire: makes the phase's other settings visible.
      const auto current = static_cast<Phase>(state_.phase.load(std::memory_order_acquire));
      if (current != phase) [[unlikely]] {
        if (current == Phase::over) break;
        if (current == Phase::prepare) {
          now = rest();
          continue;
        }
        if (phase == Phase::warm_up) {
          start_measuring(now);
        } else {
          end_interval(phase);
        }
        phase = current;
      }
      if (is_behind_window(now)) [[unlikely]] {
        now = rest();
        continue;
      }
      if (member_.turn_over(now)) [[unlikely]] {
        now = pass_turn();
        continue;
      }
      next = next_transaction(now);
      if (next.input == nullptr) [[unlikely]] {
        now = next.start;
        continue;
      }
      if constexpr (kMayGroup) {
        if (group_size_ > 1) [[unlikely]] {
          now = gather(next);
          continue;
        }
      }
      now = run_to_the_end(next);
    }
    // relaxed: the phase's acquire has made it visible.
    measurements_.end = may_be_late() ? state_.measured_until.load(std::memory_order_relaxed) : now;
    if (phase != Phase::warm_up) {
      end_interval(phase);
    } else {
      miss_window(next);
    }
    if constexpr (Scheduling::kSchedules) count_waiting();
    if constexpr (kMayGroup) count_gathered();
    for (std::size_t type = 0; type < measurements_.by_type.size(); ++type) {
      measurements_.by_type[type].backoff_us = backoff_.adapted_us(static_cast<int>(type));
    }
    storage_.leave(worker_);
  }

 private:
  using Ticks = typename M::Ticks;

  /// Groups are of transactions that wait for a disk, and are not scheduled.
  static constexpr bool kMayGroup = !M::kSingleThreaded && !Scheduling::kSchedules;

  /// A transaction that is about to begin.
  struct Begin {
    const std::byte* input;  ///< nullptr: there is none yet,
    int type;
    Ticks start;  ///< and `start` is the present time
    Ticks arrived;
    Ticks from;  ///< the time from which the worker's time is charged to it
  };

  /// Its own transaction boundaries are exact. But a worker that waits for its turn, a transaction
  /// or a processor notices late that the window has opened or closed, and its absence counts.
  [[nodiscard]] bool may_be_late() const {
    return !M::kSingleThreaded || member_.crowded() || open_loop_;
  }

  /// Whether the measured window has ended, even if the monitor has not seen it: real cores only.
  [[nodiscard]] bool is_behind_window([[maybe_unused]] Ticks now) const {
    if constexpr (M::kSingleThreaded) {
      return false;
    } else {
      return now >= window_end_;
    }
  }

  /// Idles until a transaction arrives, for a short time at most.
  Ticks await_arrival(Ticks now) {
    const Ticks left = due_ - now;
    // Does not hold the epoch back; boundary() re-enters. A rest may end with a wait for a turn.
    if (left > M::ticks(kLongUs) || member_.crowded()) storage_.leave(worker_);
    beat();
    member_.rest(std::min(left, M::ticks(kLongestRestUs)), state_.stop.raw());
    const Ticks end = M::now();
    idle_from_ = now;
    measurements_.idle += std::min(end, due_) - now;
    return end;
  }

  /// Idles until the monitor opens the window or, which may be late on a busy machine, ends the
  /// run.
  Ticks rest() {
    storage_.leave(worker_);
    beat();
    member_.rest(M::ticks(kLongestRestUs), state_.stop.raw());
    return M::now();
  }

  void beat() {
    // relaxed: only counted.
    heartbeat_.beats.store(heartbeat_.beats.peek() + 1, std::memory_order_relaxed);
  }

  /// Lets another worker have the core.
  Ticks pass_turn() {
    storage_.leave(worker_);  // boundary() re-enters
    member_.pass_turn();
    return M::now();
  }

  void start_measuring(Ticks now) {
    timeline::tell_window<M>();
    forget_measurements();
    // relaxed: the phase's acquire has made the times visible.
    measurements_.start =
        may_be_late() ? state_.measured_from.load(std::memory_order_relaxed) : now;
    if constexpr (!M::kSingleThreaded) {
      window_end_ = state_.measured_until.load(std::memory_order_relaxed);
    }
    if (open_loop_) {
      const Ticks idle_from = std::max(idle_from_, measurements_.start);
      const Ticks idle_until = std::min(now, due_);
      if (idle_from < idle_until) measurements_.idle = idle_until - idle_from;
    }
    if (wait_times_ != nullptr) wait_times_->reset();
  }

  void forget_measurements() {
    const auto types = static_cast<int>(measurements_.by_type.size());
    const auto states = static_cast<int>(measurements_.aborts_by_state.size()) - 1;
    measurements_ = Measurements<M>(types, states, measurements_.by_interval.intervals());
  }

  /// The worker missed the window: its counts are of the warm-up.
  /// @param last its last transaction, which has ended by now, and too late
  void miss_window(const Begin& last) {
    const std::uint64_t cut_off_attempts = measurements_.cut_off_attempts;
    forget_measurements();
    measurements_.cut_off_attempts = cut_off_attempts;
    // relaxed: the phase's acquire has made both visible.
    measurements_.start = state_.measured_from.load(std::memory_order_relaxed);
    measurements_.end = state_.measured_until.load(std::memory_order_relaxed);
    if (last.input != nullptr) {
      const Ticks window = measurements_.end - measurements_.start;
      measurements_.count_unfinished(last.type, window, window);
    }
    if (wait_times_ != nullptr) wait_times_->reset();
  }

  void end_interval(Phase phase) {
    measurements_.by_interval.end(interval_of_phase(phase), measurements_.by_type);
  }

  /// Whether the transaction that is drawn next has arrived; if not, sets `due_` to its arrival.
  bool has_arrived(Ticks now) {
    due_ = state_.arrivals.due(inputs_.next_arrival_us(worker_));
    return now >= due_;
  }

  int draw(Ticks now, std::byte* input) {
    M::on_transaction();
    return inputs_.draw(random_, worker_, workers_,
                        static_cast<std::uint64_t>(M::microseconds(now)), input);
  }

  /// The transaction that begins now.
  [[gnu::always_inline]] Begin next_transaction(const Ticks now) {
    if constexpr (Scheduling::kSchedules) {
      if (!scheduling_.passes(now)) return next_scheduled(now);
    }
    if (open_loop_) [[unlikely]] {
      if (!has_arrived(now)) {
        if constexpr (Scheduling::kSchedules) {
          if (scheduling_.holds_some()) return next_scheduled(now);
        }
        if (!group_.empty()) return nothing_until(run_group());
        return nothing_until(await_arrival(now));
      }
      idle_from_ = kNotIdle;
    }
    if constexpr (Scheduling::kSchedules) scheduling_.pass(measurements_.admission);
    std::byte* const input = input_[group_.size()];
    const int type = draw(now, input);
    return {.input = input,
            .type = type,
            .start = now,
            .arrived = open_loop_ ? due_ : now,
            .from = open_loop_ && !Scheduling::kSchedules ? due_ : now};
  }

  static Begin nothing_until(Ticks now) {
    return {.input = nullptr, .type = 0, .start = now, .arrived = now, .from = now};
  }

  /// The transaction that is scheduled next, once it may start.
  [[gnu::noinline]] Begin next_scheduled(const Ticks from) {
    Ticks now = from;
    if (attempts_->take_place()) {
      now = M::now();
      measurements_.held += now - from;
    }
    const auto draw_one = [&](std::byte* input, int& type, Ticks& arrived) {
      if (open_loop_ && !has_arrived(now)) return false;
      arrived = open_loop_ ? due_ : from;
      type = draw(now, input);
      return true;
    };
    const auto* next = scheduling_.next(draw_one, now, measurements_.admission);
    const Ticks chosen = M::now();
    measurements_.choosing += chosen - now;
    if (next == nullptr) return nothing_until(await_transaction(now));
    idle_from_ = kNotIdle;
    const Ticks start = hold_until(next->start, chosen);
    if (!next->operations.empty() && attempts_->wants_expectations()) pass_expectations();
    return {.input = next->input,
            .type = next->type,
            .start = start,
            .arrived = next->arrived,
            .from = from};
  }

  /// What a protocol learns of a transaction before it begins, if it requests that.
  struct Expecting {
    Hints rows;                            ///< the rows that the next transaction accesses
    std::vector<ExpectedAccess> accesses;  ///< and those of them that it writes
    /// The table whose row a state writes, by state; nullptr: it writes none.
    std::vector<const TableBase<M>*> written;
  };

  void pass_expectations() {
    auto& [rows, accesses, written] = expecting_;
    if (written.empty()) [[unlikely]]
      written = tables_written();
    rows.clear();
    scheduling_.expect(rows);
    accesses.clear();
    for (const Hint& row : rows) {
      const TableBase<M>* table = written[row.state];
      if (table != nullptr) accesses.push_back({row.key, table->number(), true});
    }
    attempts_->expect(accesses);
  }

  [[nodiscard]] std::vector<const TableBase<M>*> tables_written() const {
    const auto& states = scheduling_.states();
    std::vector<const TableBase<M>*> written(states.size(), nullptr);
    for (std::size_t state = 0; state < written.size(); ++state) {
      for (const TableBase<M>* table : storage_.tables()) {
        if (table->name() == states.write_of(state)) written[state] = table;
      }
    }
    return written;
  }

  /// Idles while there is no transaction: those that wait conflict with others, none has arrived,
  /// or the mailbox of its owner is full.
  Ticks await_transaction(Ticks now) {
    beat();
    if (const Ticks again = scheduling_.chooses_again_at(); again != 0) {
      return await_commits(again, now);
    }
    attempts_->give_place();
    if (open_loop_ && now < due_) return await_arrival(now);
    storage_.leave(worker_);  // however long it takes; boundary() re-enters
    pause_for(M::ticks(kShortRestUs), now);
    return M::now();
  }

  /// Waits for others to commit. Unlike M::idle() it does not spin at the end, because a choice
  /// that is made a little late does no harm, and those that wait are many.
  Ticks await_commits(Ticks until, Ticks now) {
    storage_.leave(worker_);  // boundary() re-enters
    if (member_.turn_over(now)) pass_turn();
    if (now < until) {
      const double us = M::microseconds(until - now);
      M::park(state_.stop.raw(), 0, std::max<std::uint64_t>(1, static_cast<std::uint64_t>(us)));
    }
    const Ticks end = M::now();
    measurements_.held += end - now;
    return end;
  }

  /// Waits until a scheduled transaction may start.
  Ticks hold_until(Ticks start, Ticks now) {
    if (start <= now) return now;
    pause_for(start - now, now);
    const Ticks end = M::now();
    measurements_.held += end - now;
    return end;
  }

  /// Idles, holding nothing.
  void pause_for(Ticks duration, Ticks now) {
    if (duration > M::ticks(kLongUs)) storage_.leave(worker_);  // boundary() re-enters
    if (member_.turn_over(now)) pass_turn();
    M::idle(duration, state_.stop.raw());
  }

  /// Those that have gathered, and have not begun, count as well.
  void count_gathered() {
    for (std::size_t at = 0; at < group_.size(); ++at) {
      const Ticks since = std::min(arrived_[at], measurements_.end);
      measurements_.count_unfinished(group_[at].type, measurements_.end - since, 0);
    }
  }

  /// Transactions in flight that were not begun count; otherwise a policy that keeps a type waiting
  /// would seem faster.
  void count_waiting() {
    scheduling_.for_each_waiting([this](int type, Ticks arrived) {
      measurements_.count_unfinished(type, measurements_.end - std::min(arrived, measurements_.end),
                                     0);
    });
  }

  /// Runs one transaction until it ends. Returns the time it ended.
  [[gnu::always_inline]] Ticks run_to_the_end(const Begin& begin) {
    const int type = begin.type;
    const Ticks arrived = begin.arrived;
    const Ticks from = begin.from;
    const auto took = [&](Ticks end) { return end - from; };
    Ticks start = begin.start;
    timeline::tell_begin<M>(type, arrived, start);
    for (std::uint32_t prior_aborts = 0;; ++prior_aborts) {
      if (is_behind_window(start)) [[unlikely]] {
        measurements_.count_unfinished(type, start - arrived, took(start));
        end_turn();
        return start;
      }
      if (state_.turns.any()) [[unlikely]]
        start = await_turn(start);
      storage_.boundary(worker_, start);
      beat();
      timeline::tell<M>(timeline::What::attempt, static_cast<std::uint32_t>(type), prior_aborts);
      const Attempt<M> attempt = attempts_->attempt(begin.input, type, prior_aborts);
      tell_end(attempt);
      const Ticks end = M::now();
      if (attempt.outcome != Outcome::abort) [[likely]] {
        timeline::tell_ended<M>(arrived, end);
        measurements_.count_end(type, attempt, end - start, end - arrived, took(end));
        backoff_.on_commit(type, prior_aborts, attempts_->policy());
        if constexpr (Scheduling::kSchedules) scheduling_.ended(type, end - start - attempt.waited);
        if (ticket_ != ExclusiveTurns<M>::kNone) [[unlikely]]
          end_turn();
        return end;
      }
      if (over()) {
        measurements_.count_unfinished(type, end - arrived, took(end));
        ++measurements_.cut_off_attempts;
        end_turn();
        return end;
      }
      measurements_.count_abort(type, attempt, end - start);
      if (prior_aborts + 1 >= exclusive_after_) [[unlikely]] {
        if (ticket_ == ExclusiveTurns<M>::kNone) ticket_ = state_.turns.request();
        start = end;  // its turn comes in any case, so a backoff would only prolong it
        continue;
      }
      start = back_off(type, prior_aborts, end);
      if constexpr (Scheduling::kSchedules) {
        const Ticks again = scheduling_.start_again(start);
        if (again > start) {
          timeline::tell<M>(timeline::What::hold);
          start = hold_until(again, M::now());
          timeline::tell<M>(timeline::What::hold_end);
        }
      }
    }
  }

  /// Lets a transaction wait for others with which it commits, and runs them once they are enough.
  /// One that does not merge runs at once. Returns the present time.
  [[gnu::noinline]] Ticks gather(const Begin& next) {
    if (!attempts_->merges({next.input, next.type})) return run_to_the_end(next);
    group_.push_back({next.input, next.type});
    arrived_.push_back(next.arrived);
    return group_.size() < group_size_ ? next.start : run_group();
  }

  /// Runs the transactions that have gathered, which commit together. If they fail, each runs by
  /// itself. Returns the time the last one ended.
  Ticks run_group() {
    if (state_.turns.any()) [[unlikely]]
      (void)await_turn(M::now());
    const Ticks begun = M::now();
    storage_.boundary(worker_, begun);
    beat();
    ended_.resize(group_.size());
    const auto [committed, ran] = attempts_->attempt_group(group_, ended_);
    const bool cut_off = !committed && over();
    if (cut_off) measurements_.cut_off_attempts += ran;
    Ticks end = M::now();
    // Each has taken its part of the worker's time.
    const Ticks took = (end - begun) / static_cast<Ticks>(group_.size());
    for (std::size_t at = 0; at < group_.size(); ++at) {
      const int type = group_[at].type;
      const Ticks latency = end - arrived_[at];
      if (committed) {
        measurements_.count_end(type, ended_[at], took, latency, took);
        backoff_.on_commit(type, 0, attempts_->policy());
      } else if (cut_off) {
        measurements_.count_unfinished(type, latency, took);
      } else if (at < ran) {
        measurements_.count_abort(type, ended_[at], took);
      }
    }
    for (std::size_t at = 0; at < group_.size() && !committed && !cut_off; ++at) {
      end = run_to_the_end({.input = group_[at].input,
                            .type = group_[at].type,
                            .start = end,
                            .arrived = arrived_[at],
                            .from = end});
    }
    group_.clear();
    arrived_.clear();
    return end;
  }

  /// Waits between two attempts for the turns of others, and for its own one if it has requested
  /// it.
  [[gnu::noinline]] Ticks await_turn(const Ticks from) {
    ExclusiveTurns<M>& turns = state_.turns;
    const bool requested = ticket_ != ExclusiveTurns<M>::kNone;
    const auto may_begin = [&] { return requested ? turns.is_turn_of(ticket_) : turns.none(); };
    if (may_begin()) return from;
    attempts_->give_place();
    storage_.leave(worker_);  // boundary() re-enters
    beat();
    timeline::tell<M>(timeline::What::hold);
    // A worker without a core of its own leaves it to the one whose turn it is.
    while (member_.crowded() && !may_begin() && !over()) {
      member_.rest(M::ticks(kLongUs), state_.stop.raw());
    }
    const auto stopped = [this] {
      beat();  // however many turns it waits for, only the worker whose turn it is may be stuck
      return over();
    };
    if (requested) {
      turns.await(ticket_, stopped);
    } else {
      turns.await_none(stopped);
    }
    timeline::tell<M>(timeline::What::hold_end);
    const Ticks now = M::now();
    measurements_.waiting += now - from;
    return now;
  }

  /// Ends its turn, if it has one. One that is still waiting for it ends with the run.
  void end_turn() {
    if (ticket_ != ExclusiveTurns<M>::kNone && state_.turns.is_turn_of(ticket_)) {
      state_.turns.end(ticket_);
    }
    ticket_ = ExclusiveTurns<M>::kNone;
  }

  Ticks back_off(int type, std::uint32_t prior_aborts, Ticks now) {
    const double us = backoff_.on_abort(type, prior_aborts, attempts_->policy());
    if (us < kWorthWaitingUs) return now;
    if (us > kLongUs) storage_.leave(worker_);  // lets the epoch advance; boundary() re-enters
    if (member_.turn_over(now)) pass_turn();
    timeline::tell<M>(timeline::What::backoff);
    M::idle(M::ticks(us), state_.stop.raw());
    timeline::tell<M>(timeline::What::backoff_end);
    const Ticks end = M::now();
    measurements_.backoff += end - now;
    return end;
  }

  /// A transaction that the end of the run cuts off has not ended, and is not counted as ended.
  void tell_end(const Attempt<M>& attempt) const {
    if (!M::recording()) return;
    if (attempt.outcome == Outcome::abort && state_.stop.peek() != 0) return;
    timeline::tell_end<M>(attempt.outcome, attempt.reason, attempt.state);
  }

  [[nodiscard]] bool over() const {
    // relaxed: carries no data.
    return state_.stop.load(std::memory_order_relaxed) != 0;
  }

  static constexpr double kWorthWaitingUs = 0.25;
  static constexpr double kLongUs = 100;
  static constexpr double kShortRestUs = 1;
  /// Bounds a rest so that the worker shows its progress well before the watchdog time-out.
  static constexpr double kLongestRestUs = 2'000;
  static constexpr Ticks kNotIdle = std::numeric_limits<Ticks>::max();

  typename M::Member& member_;
  int worker_;
  int workers_;
  Random random_;
  Inputs& inputs_;
  Storage<M>& storage_;
  std::unique_ptr<Attempts<M>> attempts_;
  WaitTimes<M>* wait_times_;
  RunState<M>& state_;
  std::uint32_t exclusive_after_;
  typename ExclusiveTurns<M>::Ticket ticket_ = ExclusiveTurns<M>::kNone;  ///< of its transaction
  Heartbeat<M>& heartbeat_;
  Measurements<M>& measurements_;
  Backoff backoff_;
  bool open_loop_;
  /// On real cores: the end of the window, once it has begun.
  Ticks window_end_ = std::numeric_limits<Ticks>::max();
  Ticks due_ = 0;               ///< in an open loop: the arrival time of the next transaction
  Ticks idle_from_ = kNotIdle;  ///< in an open loop: when it last began to wait for one
  std::size_t group_size_;      ///< 1: there are no groups
  InputArray input_;            ///< of the running transaction, or group, if it is not scheduled
  std::vector<GroupMember> group_;  ///< those that have gathered
  std::vector<Ticks> arrived_;      ///< of each of the group
  std::vector<Attempt<M>> ended_;   ///< how each has ended
  [[no_unique_address]] Scheduling scheduling_;
  Expecting expecting_;
};

}  // namespace heddle
