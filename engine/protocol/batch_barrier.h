#pragma once

#include <cassert>
#include <cstdint>

#include "machine/shared.h"
#include "machine/signal.h"
#include "protocol/timeline.h"
#include "storage/epochs.h"

namespace heddle {

/// The batches of a run, one after the other, and the barriers between their phases.
///
/// A batch has no fixed members. Each worker that begins a transaction joins the open batch, or
/// registers for the next. A batch closes when the first transaction that takes part in the next
/// phase has executed. So it waits for the transactions that are in it and for no other worker,
/// whatever that one does: a worker that is idle, waits for an arrival or has reached the end of
/// the window is absent.
///
/// A phase ends when every member has arrived at its end. The state is one word, which a worker
/// changes by one addition; a compare-and-exchange by many workers would fail over and over. Each
/// evaluates the state that its addition has left, so the one that makes the last member's arrival
/// visible begins the next phase.
///
/// Memory order. Every change of the state is a read-modify-write, so those that follow an arrival
/// continue its release sequence: the one that begins a phase acquires what every member has done
/// in the phase before, and releases it with the phase that it publishes. Members acquire the
/// published phase. All other words are written before the phase is published, and are relaxed.
template <class M>
class BatchBarrier {
 public:
  enum class Phase : std::uint8_t {
    execute,  ///< transactions join, execute on the state before the batch, and reserve
    revisit,  ///< they look for rows that others have put into ranges that they have read
    commit,   ///< they decide, and install
  };

  /// A worker's place in a batch.
  struct Seat {
    std::uint64_t batch = 0;
    std::uint64_t number = 0;  ///< in the order of joining, below 2^kSeatBits
    std::uint64_t published = 0;
    typename M::Ticks waited = 0;  ///< for this batch
  };
  static constexpr int kSeatBits = 12;

  /// @param workers of the run
  /// @param most transactions that a batch admits; those that run again come in addition
  BatchBarrier(int workers, int most, const Shared<M, std::uint64_t>& stop, const Epochs<M>& epochs)
      : limited_(most < workers),
        most_(static_cast<std::uint64_t>(most)),
        stop_(stop),
        epochs_(epochs) {
    assert(static_cast<std::uint64_t>(workers) < kMostSeats);
    // relaxed: no worker is running.
    admitted_.store(most_, std::memory_order_relaxed);
  }

  /// Joins a batch. Returns false if the run was stopped first.
  /// @param again the transaction has been in a batch before
  [[nodiscard]] bool join(bool again, Seat& seat) {
    seat.waited = 0;
    return limited_ && !again ? join_in_turn(seat) : join_or_register(seat);
  }

  /// What a member knows at the end of its execution.
  struct Executed {
    bool stays = true;      ///< it takes part in the next phase
    bool placed = false;    ///< it has put rows into indexes
    bool watching = false;  ///< it has read a range, or missed a key
  };

  /// The worker has arrived at the end of the phase.
  void arrive(const Seat& seat, const Executed& executed = {}) {
    if (executed.placed) note(placed_, seat);
    if (executed.watching) note(watching_, seat);
    const bool stays = executed.stays && phase_of(seat) == Phase::execute;
    change(stays ? kStayed - kPending : std::uint64_t{0} - kPending);
  }

  /// Waits until every member has arrived. Returns false if the run was stopped first.
  [[nodiscard]] bool await(Seat& seat) {
    if (!await_change(seat.published, seat)) return false;
    seat.published = phase_.load();  // it does not change again without this member
    return true;
  }

  /// The phase that a member is in.
  [[nodiscard]] static Phase phase_of(const Seat& seat) { return published_phase(seat.published); }

  /// The epoch that a whole batch commits in. Otherwise a snapshot could show a transaction
  /// without one that the rules have placed before it.
  [[nodiscard]] std::uint64_t epoch() const {
    return epoch_.load(std::memory_order_relaxed);  // relaxed: published with the phase
  }

 private:
  struct State {
    std::uint64_t pending;     ///< members that have not arrived yet
    std::uint64_t stayed;      ///< members of the phases after the execution
    std::uint64_t registered;  ///< members of the next batch
    std::uint64_t seats;       ///< given in this batch
    Phase phase;
    std::uint64_t step;  ///< counts phases; wraps around

    /// Whether a worker may join. One that has seen so joins even if this changes meanwhile, as
    /// long as the members execute: the next phase does not begin without it.
    [[nodiscard]] bool open() const {
      return phase == Phase::execute && stayed == 0 && registered == 0 && seats < kMostSeats;
    }
  };
  /// Workers are half as many, each of which may join once more after the last seat was given.
  static constexpr std::uint64_t kMostSeats = std::uint64_t{1} << (kSeatBits - 1);
  static constexpr int kCountBits = kSeatBits - 1;
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;
  static constexpr int kSeatsShift = 3 * kCountBits;
  static constexpr int kPhaseShift = kSeatsShift + kSeatBits;
  static constexpr int kStepShift = kPhaseShift + 2;
  static constexpr std::uint64_t kStepMask = (std::uint64_t{1} << (64 - kStepShift)) - 1;
  // What is added to the state.
  static constexpr std::uint64_t kPending = 1;
  static constexpr std::uint64_t kStayed = std::uint64_t{1} << kCountBits;
  static constexpr std::uint64_t kRegistered = std::uint64_t{1} << (2 * kCountBits);
  static constexpr std::uint64_t kSeat = std::uint64_t{1} << kSeatsShift;

  static std::uint64_t pack(const State& state) {
    return state.pending | state.stayed << kCountBits | state.registered << (2 * kCountBits) |
           state.seats << kSeatsShift | static_cast<std::uint64_t>(state.phase) << kPhaseShift |
           state.step << kStepShift;
  }
  static State unpack(std::uint64_t word) {
    return {.pending = word & kCountMask,
            .stayed = word >> kCountBits & kCountMask,
            .registered = word >> (2 * kCountBits) & kCountMask,
            .seats = word >> kSeatsShift & ((std::uint64_t{1} << kSeatBits) - 1),
            .phase = static_cast<Phase>(word >> kPhaseShift & 3),
            .step = word >> kStepShift};
  }

  /// The signal's value in a phase; bit 0 belongs to the signal.
  static std::uint64_t published_as(const State& state) {
    return static_cast<std::uint64_t>(state.phase) << 1 | state.step << 3;
  }
  static Phase published_phase(std::uint64_t published) {
    return static_cast<Phase>(published >> 1 & 3);
  }
  static std::uint64_t published_step(std::uint64_t published) { return published >> 3; }

  void note(Shared<M, std::uint64_t>& of_batch, const Seat& seat) {
    // relaxed: read by the one that begins the next phase, after this member's arrival.
    if (of_batch.load(std::memory_order_relaxed) == seat.batch) return;
    of_batch.store(seat.batch, std::memory_order_relaxed);
  }

  /// Adds to the state, and returns the one before.
  State change(std::uint64_t added) {
    // acq_rel: see the class comment.
    const std::uint64_t before = state_.fetch_add(added, std::memory_order_acq_rel);
    const std::uint64_t word = before + added;
    if (unpack(word).pending == 0) begin_phase(word);
    return unpack(before);
  }

  /// Joins the open batch, or is a member of the next one from its beginning.
  bool join_or_register(Seat& seat) {
    // acquire is not needed: the addition decides.
    if (unpack(state_.load(std::memory_order_relaxed)).open()) {
      const State before = change(kPending + kSeat);
      if (before.phase == Phase::execute) return take(seat, before);
      // Closed meanwhile; this worker has held up the phase.
      return await_batch(seat, change(kRegistered - kPending));
    }
    return await_batch(seat, change(kRegistered));
  }

  /// The same for a worker that a batch may have no place for: in the order of arrival.
  bool join_in_turn(Seat& seat) {
    // relaxed: only the number matters.
    const std::uint64_t turn = turns_.fetch_add(1, std::memory_order_relaxed);
    while (true) {
      const std::uint64_t published = phase_.load();
      // relaxed: the first is published with the phase, and the addition decides.
      if (turn < admitted_.load(std::memory_order_relaxed) &&
          unpack(state_.load(std::memory_order_relaxed)).open()) {
        const State before = change(kPending + kSeat);
        if (before.phase == Phase::execute) {
          // relaxed: read after this member's arrival.
          joined_.fetch_add(1, std::memory_order_relaxed);
          return take(seat, before);
        }
        (void)change(std::uint64_t{0} - kPending);
      } else if (!await_change(published, seat)) {
        return false;
      }
    }
  }

  /// Takes a place in a batch that was open. What it needs may not have been published yet.
  bool take(Seat& seat, const State& before) {
    const std::uint64_t published = published_as(before);
    for (std::uint64_t seen = phase_.load(); seen != published; seen = phase_.load()) {
      if (!await_change(seen, seat)) return false;
    }
    enter(seat, before.seats, published);
    return true;
  }

  /// Waits for the batch after the one that the worker has registered in.
  bool await_batch(Seat& seat, const State& before) {
    while (true) {
      const std::uint64_t published = phase_.load();
      // The phase that it registered in may be published later than that.
      const std::uint64_t step = published_step(published);
      const bool later = step != before.step && step != ((before.step - 1) & kStepMask);
      if (later && published_phase(published) == Phase::execute) {
        enter(seat, before.registered, published);
        return true;
      }
      if (!await_change(published, seat)) return false;
    }
  }

  void enter(Seat& seat, std::uint64_t number, std::uint64_t published) {
    // relaxed: published with the phase; the batch does not end without this worker.
    seat.batch = number_.load(std::memory_order_relaxed);
    seat.number = number;
    seat.published = published;
  }

  /// Begins the next phase if there is reason to: no member is pending. If the state has changed
  /// meanwhile, this is the task of the worker that has changed it.
  void begin_phase(std::uint64_t word) {
    State state = unpack(word);
    const bool executes = state.phase == Phase::execute;
    if (executes && state.stayed == 0 && state.registered == 0 && state.seats < kMostSeats &&
        !limited_) {
      return;  // all have left it, and others may join
    }
    await_publication(state);
    // relaxed: published with the phase, or written by members before they arrived.
    const std::uint64_t number = number_.load(std::memory_order_relaxed);
    const bool revisits = executes && placed_.load(std::memory_order_relaxed) == number &&
                          watching_.load(std::memory_order_relaxed) == number;
    if (state.phase == Phase::commit || state.stayed == 0) {
      state = {.pending = state.registered,
               .stayed = 0,
               .registered = 0,
               .seats = state.registered,
               .phase = Phase::execute,
               .step = state.step};
    } else {
      state.phase = revisits ? Phase::revisit : Phase::commit;
      state.pending = state.stayed;
    }
    state.step = (state.step + 1) & kStepMask;
    // acq_rel: see the class comment.
    if (!state_.compare_exchange(word, pack(state), std::memory_order_acq_rel)) return;
    // relaxed: published with the phase, and no worker begins another one before that.
    if (state.phase == Phase::execute) {
      number_.store(number + 1, std::memory_order_relaxed);
      if (limited_) {
        admitted_.store(joined_.load(std::memory_order_relaxed) + most_, std::memory_order_relaxed);
      }
    } else if (state.phase == Phase::commit) {
      epoch_.store(epochs_.current(), std::memory_order_relaxed);
    }
    phase_.publish(published_as(state));
  }

  /// A worker that is no member may act on a phase that has not been published. The publisher does
  /// not wait for anything. When this worker looks, later phases may have been published too.
  void await_publication(const State& state) {
    const std::uint64_t before = (state.step - 1) & kStepMask;
    if (published_step(phase_.load()) != before) return;
    (void)phase_.wait([before](std::uint64_t value) { return published_step(value) != before; },
                      [] { return false; });
  }

  [[nodiscard]] bool await_change(std::uint64_t published, Seat& seat) {
    if (phase_.load() != published) return true;
    timeline::tell<M>(timeline::What::wait, timeline::kNobody, timeline::kUntilBatch);
    const auto start = M::now();
    const bool changed =
        phase_.wait([published](std::uint64_t value) { return value != published; },
                    // relaxed: the flag carries no data.
                    [this] { return stop_.load(std::memory_order_relaxed) != 0; });
    seat.waited += M::now() - start;
    timeline::tell<M>(timeline::What::wait_end);
    return changed;
  }

  bool limited_;
  std::uint64_t most_;
  const Shared<M, std::uint64_t>& stop_;
  const Epochs<M>& epochs_;
  alignas(64) Shared<M, std::uint64_t> state_;
  alignas(64) Signal<M> phase_;
  Shared<M, std::uint64_t> number_{1};
  Shared<M, std::uint64_t> epoch_;
  /// The last batch that has put rows into indexes, and that has read a range or missed a key.
  Shared<M, std::uint64_t> placed_;
  Shared<M, std::uint64_t> watching_;
  /// Where batches are limited: turns are taken in the order of arrival, and a batch admits those
  /// below `admitted_` that have not joined one.
  Shared<M, std::uint64_t> admitted_;
  alignas(64) Shared<M, std::uint64_t> turns_;
  Shared<M, std::uint64_t> joined_;
};

}  // namespace heddle
