#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "driver/arrivals.h"
#include "driver/backoff.h"
#include "driver/measurements.h"
#include "machine/shared.h"
#include "model/hints.h"
#include "model/random.h"
#include "protocol/protocol.h"
#include "protocol/snapshot.h"
#include "protocol/timeline.h"
#include "protocol/write_queues.h"

namespace heddle {

/// The stages of a run, in order. The measured window begins with `measure`, its first interval;
/// any others (IntervalCounts) follow, each by the next number.
enum class Phase : std::uint64_t { warm_up, measure, over = ~std::uint64_t{0} };

/// The phase of an interval of the measured window, counted from 0, and the other way round.
[[nodiscard]] constexpr Phase phase_of_interval(std::size_t interval) {
  return static_cast<Phase>(static_cast<std::uint64_t>(Phase::measure) + interval);
}
[[nodiscard]] constexpr std::size_t interval_of_phase(Phase phase) {
  return static_cast<std::uint64_t>(phase) - static_cast<std::uint64_t>(Phase::measure);
}

/// What a run's workers share with the thread that started them.
template <class M>
struct RunState {
  alignas(64) Shared<M, std::uint64_t> phase{static_cast<std::uint64_t>(Phase::warm_up)};
  /// When the measured window began and ended, as the thread outside saw it.
  Shared<M, typename M::Ticks> measured_from;
  Shared<M, typename M::Ticks> measured_until;
  alignas(64) Shared<M, std::uint64_t> stop{0};
  /// Where transactions arrive by a clock: that. Set before the workers start.
  ArrivalClock<M> arrivals;
};

/// Counts a worker's attempts, so that the watchdog sees that it lives.
template <class M>
struct alignas(64) Heartbeat {
  Shared<M, std::uint64_t> beats;
};

template <class M, class W>
struct AdmissionState;

/// What a worker is given.
template <class M, class W, class Protocol>
struct WorkerSetup {
  typename M::Member& member;
  int workers;
  std::uint64_t seed;
  W& workload;
  Storage<M>& storage;
  typename Protocol::template Runtime<M>& runtime;
  RunState<M>& state;
  Heartbeat<M>& heartbeat;
  Measurements<M>& measurements;
  Backoff backoff;
  AdmissionState<M, W>* admission = nullptr;  ///< nullptr: transactions start as they are drawn
};

/// Transactions start as they are drawn: first in, first out.
struct Unscheduled {
  static constexpr bool kSchedules = false;
  template <class Setup>
  explicit Unscheduled(const Setup&) {}
};

/// One worker: draws transactions from the workload and runs each until it commits.
///
/// Where transactions arrive by a clock of their own, it waits for the next one, and what it begins
/// late counts from its arrival, or the queue in front of a slow engine would not be measured
/// ("coordinated omission").
///
/// An aborted transaction is retried with the same input until it commits or the run ends; a worker
/// never drops it for an easier one (Polyjuice §7.1), or training would learn to starve a type.
///
/// @tparam Observer watches every attempt (protocol/observer.h)
/// @tparam Scheduling says which transaction starts next: Unscheduled, or Scheduled
///         (driver/scheduled_worker.h)
template <class M, class W, class Protocol, class Observer, class Scheduling = Unscheduled>
class Worker {
 public:
  using Executor = typename Protocol::template Executor<M>;
  using Runtime = typename Protocol::template Runtime<M>;

  Worker(const WorkerSetup<M, W, Protocol>& setup, Observer observer)
      : member_(setup.member),
        worker_(member_.worker()),
        workers_(setup.workers),
        random_(Random::stream(setup.seed, static_cast<std::uint64_t>(worker_))),
        workload_(setup.workload),
        storage_(setup.storage),
        runtime_(setup.runtime),
        state_(setup.state),
        heartbeat_(setup.heartbeat),
        measurements_(setup.measurements),
        backoff_(setup.backoff),
        open_loop_(is_open_loop(workload_)),
        observer_(std::move(observer)),
        executor_(runtime_, storage_, worker_),
        snapshot_(storage_, worker_),
        scheduling_(setup) {}

  /// Runs until the run is over. Inlined into the one place that calls it, where the compiler knows
  /// what the members refer to.
  [[gnu::always_inline]] void run() {
    Phase phase = Phase::warm_up;
    auto now = M::now();
    while (true) {
      // acquire: the phase's other settings come with it.
      const auto current = static_cast<Phase>(state_.phase.load(std::memory_order_acquire));
      if (current != phase) [[unlikely]] {
        if (current == Phase::over) break;
        if (phase == Phase::warm_up) {
          start_measuring(now);
        } else {
          end_interval(phase);
        }
        phase = current;
      }
      if (member_.turn_over(now)) [[unlikely]] {
        now = pass_turn();
        continue;
      }
      const Begin next = next_transaction(now);
      if (next.input == nullptr) {
        now = next.start;
        continue;
      }
      now = run_to_the_end(next);
    }
    if constexpr (Scheduling::kSchedules) {
      if (scheduling_.active()) count_waiting();
    }
    // relaxed: the phase's acquire has brought it.
    measurements_.end = may_be_late() ? state_.measured_until.load(std::memory_order_relaxed) : now;
    if (phase == Phase::warm_up) {
      measurements_.start = measurements_.end;
    } else {
      end_interval(phase);
    }
    storage_.leave(worker_);
  }

 private:
  using Ticks = typename M::Ticks;

  /// A transaction that is about to begin.
  struct Begin {
    const typename W::Input* input;  ///< nullptr: there is none yet,
    Ticks start;                     ///< and it is this time now
    Ticks arrived;
    Ticks from;  ///< since when the worker's time is its
  };

  static bool is_open_loop([[maybe_unused]] const W& workload) {
    if constexpr (HasArrivals<W>) return workload.open_loop();
    return false;
  }

  /// Its own boundaries are exact; but a worker that waits, for its turn or for a transaction,
  /// notices late that the window is open or closed, and its waiting counts.
  [[nodiscard]] bool may_be_late() const {
    if constexpr (HasArrivals<W>) return member_.crowded() || open_loop_;
    return member_.crowded();
  }

  /// Idles until a transaction arrives, but not for long.
  Ticks await_arrival(Ticks now) {
    const Ticks left = due_ - now;
    // Don't hold the epoch back; boundary() re-enters. A rest may end with a wait for a turn.
    if (left > M::ticks(kLongUs) || member_.crowded()) storage_.leave(worker_);
    beat();
    member_.rest(std::min(left, M::ticks(kLongestRestUs)), state_.stop.raw());
    const Ticks end = M::now();
    idle_from_ = now;
    measurements_.idle += std::min(end, due_) - now;
    return end;
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
    const auto types = static_cast<int>(measurements_.by_type.size());
    const auto states = static_cast<int>(measurements_.aborts_by_state.size()) - 1;
    measurements_ = Measurements<M>(types, states, measurements_.by_interval.intervals());
    // relaxed: the phase's acquire has brought the time.
    measurements_.start =
        may_be_late() ? state_.measured_from.load(std::memory_order_relaxed) : now;
    if constexpr (HasArrivals<W>) {
      const Ticks idle_from = std::max(idle_from_, measurements_.start);
      const Ticks idle_until = std::min(now, due_);
      if (idle_from < idle_until) measurements_.idle = idle_until - idle_from;
    }
    if constexpr (requires { runtime_.wait_times; }) {
      runtime_.wait_times[static_cast<std::size_t>(worker_)].reset();
    }
  }

  void end_interval(Phase phase) {
    measurements_.by_interval.end(interval_of_phase(phase), measurements_.by_type);
  }

  /// When a transaction arrived that is begun now.
  [[nodiscard]] Ticks arrival(Ticks now) const {
    if constexpr (HasArrivals<W>) return open_loop_ ? due_ : now;
    return now;
  }

  /// What begins now.
  [[gnu::always_inline]] Begin next_transaction(const Ticks now) {
    if constexpr (Scheduling::kSchedules) {
      if (scheduling_.active() && !scheduling_.passes(now)) return next_scheduled(now);
    }
    if constexpr (HasArrivals<W>) {
      if (open_loop_) {
        due_ = state_.arrivals.due(workload_.next_arrival_us(worker_));
        if (now < due_) {
          if constexpr (Scheduling::kSchedules) {
            if (scheduling_.active() && scheduling_.holds_some()) return next_scheduled(now);
          }
          return nothing_until(await_arrival(now));
        }
        idle_from_ = kNotIdle;
      }
    }
    if constexpr (Scheduling::kSchedules) {
      if (scheduling_.active()) scheduling_.pass(measurements_.admission);
    }
    M::on_transaction();
    workload_.generate(random_, worker_, workers_, static_cast<std::uint64_t>(M::microseconds(now)),
                       input_);
    return {.input = &input_, .start = now, .arrived = arrival(now), .from = now};
  }

  static Begin nothing_until(Ticks now) {
    return {.input = nullptr, .start = now, .arrived = now, .from = now};
  }

  /// The transaction that is scheduled next, once it may start.
  [[gnu::noinline]] Begin next_scheduled(const Ticks now) {
    const auto draw = [&](typename W::Input& input, Ticks& arrived) {
      arrived = now;
      if constexpr (HasArrivals<W>) {
        if (open_loop_) {
          due_ = state_.arrivals.due(workload_.next_arrival_us(worker_));
          if (now < due_) return false;
          arrived = due_;
        }
      }
      M::on_transaction();
      workload_.generate(random_, worker_, workers_,
                         static_cast<std::uint64_t>(M::microseconds(now)), input);
      return true;
    };
    const auto* next = scheduling_.next(draw, now, measurements_.admission);
    const Ticks chosen = M::now();
    measurements_.choosing += chosen - now;
    if (next == nullptr) return nothing_until(await_transaction(now));
    idle_from_ = kNotIdle;
    const Ticks start = hold_until(next->start, chosen);
    if constexpr (kTellsWhatToExpect) {
      if (!next->operations.empty()) tell_what_to_expect();
    }
    return {.input = &next->input, .start = start, .arrived = next->arrived, .from = now};
  }

  /// Some protocols run the better for knowing which rows a transaction is going to write.
  static constexpr bool kTellsWhatToExpect =
      Scheduling::kSchedules &&
      requires(Executor& executor, std::span<const ExpectedAccess> rows) { executor.expect(rows); };

  struct Expecting {
    Hints rows;                            ///< that the transaction that goes next touches,
    std::vector<ExpectedAccess> accesses;  ///< and which of them it writes
    /// By state the table whose row it writes; nullptr: it writes none.
    std::vector<const TableBase<M>*> written;
  };
  struct NotExpecting {};

  void tell_what_to_expect() {
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
    executor_.expect(accesses);
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

  /// There is none: it has not arrived yet, or whoever is to run it has no room for it.
  Ticks await_transaction(Ticks now) {
    if constexpr (HasArrivals<W>) {
      if (open_loop_ && now < due_) return await_arrival(now);
    }
    beat();
    storage_.leave(worker_);  // however long it takes; boundary() re-enters
    pause_for(M::ticks(kShortRestUs), now);
    return M::now();
  }

  /// Lets time pass until a scheduled transaction may start.
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

  /// What is in flight and was not begun counts: or who leaves a type waiting would seem the
  /// faster.
  void count_waiting() {
    scheduling_.for_each_waiting([this](const typename W::Input& input) {
      measurements_.count_unfinished(W::type_of(input), 0);
    });
  }

  /// Runs one transaction until it ends. Returns the time it ended. Inlined into the one place that
  /// calls it, however the transaction was chosen: so one that begins as it is drawn costs next to
  /// nothing more where others are scheduled.
  [[gnu::always_inline]] Ticks run_to_the_end(const Begin& begin) {
    const typename W::Input& input = *begin.input;
    const Ticks arrived = begin.arrived;
    const Ticks from = begin.from;
    const int type = W::type_of(input);
    const auto took = [&](Ticks end) { return end - (Scheduling::kSchedules ? from : arrived); };
    Ticks start = begin.start;
    for (std::uint32_t prior_aborts = 0;; ++prior_aborts) {
      storage_.boundary(worker_, start);
      beat();
      timeline::tell<M>(timeline::What::attempt, static_cast<std::uint32_t>(type), prior_aborts);
      const Attempt<M> attempt = run_once(input, type, prior_aborts);
      tell_end(attempt);
      const Ticks end = M::now();
      if (attempt.outcome != Outcome::abort) [[likely]] {
        measurements_.count_end(type, attempt, end - start, end - arrived, took(end));
        backoff_.on_commit(type, prior_aborts, executor_.policy());
        if constexpr (Scheduling::kSchedules) scheduling_.ended(type, end - start - attempt.waited);
        return end;
      }
      if (over()) {
        measurements_.count_unfinished(type, took(end));
        return end;
      }
      measurements_.count_abort(type, attempt, end - start);
      start = back_off(type, prior_aborts, end);
      if constexpr (Scheduling::kSchedules) {
        const Ticks again = scheduling_.start_again(start);
        if (again > start) start = hold_until(again, M::now());
      }
    }
  }

  Attempt<M> run_once(const typename W::Input& input, int type, std::uint32_t prior_aborts) {
    const bool of_the_past = workload_.is_snapshot(type);
    observer_.begin(type, of_the_past);
    if (of_the_past) {
      snapshot_.begin();
      Attempt<M> attempt;
      attempt.outcome = observer_.query(workload_, snapshot_, input);
      return attempt;
    }
    return executor_.attempt(workload_, input, type, prior_aborts, observer_);
  }

  Ticks back_off(int type, std::uint32_t prior_aborts, Ticks now) {
    const double us = backoff_.on_abort(type, prior_aborts, executor_.policy());
    if (us < kWorthWaitingUs) return now;
    if (us > kLongUs) storage_.leave(worker_);  // don't hold the epoch back; boundary() re-enters
    if (member_.turn_over(now)) pass_turn();
    timeline::tell<M>(timeline::What::backoff);
    M::idle(M::ticks(us), state_.stop.raw());
    timeline::tell<M>(timeline::What::backoff_end);
    const Ticks end = M::now();
    measurements_.backoff += end - now;
    return end;
  }

  /// What the end of the run cuts off has not ended, and is not counted as if it had.
  void tell_end([[maybe_unused]] const Attempt<M>& attempt) const {
    if constexpr (M::kRecords) {
      if (attempt.outcome == Outcome::abort && state_.stop.peek() != 0) return;
      timeline::tell_end<M>(attempt.outcome, attempt.reason, attempt.state);
    }
  }

  [[nodiscard]] bool over() const {
    // relaxed: carries no data.
    return state_.stop.load(std::memory_order_relaxed) != 0;
  }

  static constexpr double kWorthWaitingUs = 0.25;
  static constexpr double kLongUs = 100;
  static constexpr double kShortRestUs = 1;
  /// It lives, and says so before any watchdog barks.
  static constexpr double kLongestRestUs = 2'000;
  static constexpr Ticks kNotIdle = std::numeric_limits<Ticks>::max();

  typename M::Member& member_;
  int worker_;
  int workers_;
  Random random_;
  W& workload_;
  Storage<M>& storage_;
  Runtime& runtime_;
  RunState<M>& state_;
  Heartbeat<M>& heartbeat_;
  Measurements<M>& measurements_;
  Backoff backoff_;
  bool open_loop_;
  Ticks due_ = 0;               ///< in an open loop: when the transaction arrives that is next
  Ticks idle_from_ = kNotIdle;  ///< likewise: when it last began to wait for one
  Observer observer_;
  Executor executor_;
  SnapshotTransaction<M, Observer::kRecords> snapshot_;
  typename W::Input input_{};
  [[no_unique_address]] Scheduling scheduling_;
  [[no_unique_address]] std::conditional_t<kTellsWhatToExpect, Expecting, NotExpecting> expecting_;
};

}  // namespace heddle
