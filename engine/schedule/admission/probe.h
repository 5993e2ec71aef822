#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "machine/shared.h"

namespace heddle::admission {

/// How many transactions have begun of late while they were scheduled, and while they were not:
/// what the workers of a run measure together (Probe).
///
/// All accesses are relaxed: the words are compared with each other and carry nothing with them,
/// and whoever sees them a little late starts some transactions in the worse way.
template <class M>
class ProbeCounts {
 public:
  void add(bool scheduled, std::uint64_t begun) {
    (scheduled ? scheduled_ : drawn_).fetch_add(begun * kWeight, std::memory_order_relaxed);
  }

  [[nodiscard]] bool scheduling_pays() const {
    return scheduled_.load(std::memory_order_relaxed) >= drawn_.load(std::memory_order_relaxed);
  }

  /// A round of spans begins: what was measured before counts for less. The first worker to say so
  /// is heard.
  void begin_round(std::uint64_t round) {
    std::uint64_t last = round_.load(std::memory_order_relaxed);
    if (last >= round || !round_.compare_exchange(last, round, std::memory_order_relaxed)) return;
    age(scheduled_);
    age(drawn_);
  }

 private:
  /// Counts are aged in parts of themselves, so small ones need room below.
  static constexpr std::uint64_t kWeight = 16;

  static void age(Shared<M, std::uint64_t>& count) {
    const std::uint64_t now = count.load(std::memory_order_relaxed);
    count.fetch_add(std::uint64_t{0} - now / 4, std::memory_order_relaxed);  // a subtraction
  }

  alignas(64) Shared<M, std::uint64_t> scheduled_{0};
  Shared<M, std::uint64_t> drawn_{0};
  Shared<M, std::uint64_t> round_{0};
};

/// Finds out while a run goes on whether scheduling pays, and does without it where it does not.
///
/// Whoever schedules delays transactions on a guess, and where conflicts are few or guesses bad
/// that costs more than it saves (SMF, VLDB 2024, §3.4 and §5.3: one may forgo scheduling then). So
/// time is cut into spans, the same for all workers, and spans into rounds. In the first span of a
/// round transactions begin as they are scheduled, in the second as they are drawn, and in the
/// others in the way in which more have begun of late. All workers change at once: who alone does
/// not wait gains from the others' waiting, and would learn the wrong thing.
template <class M>
class Probe {
 public:
  using Ticks = typename M::Ticks;

  /// Spans of a round.
  static constexpr std::uint64_t kRound = 16;

  /// @param counts of all workers
  /// @param span how long one is; 0: it is always scheduled
  Probe(ProbeCounts<M>& counts, Ticks span) : counts_(counts), span_(span) {}

  /// A transaction begins: whether it is to be scheduled.
  [[nodiscard]] bool schedules(Ticks now) {
    if (span_ == 0) return true;
    const std::uint64_t span = now / span_;
    if (span != current_) begin(span);
    ++begun_;
    return scheduled_;
  }

  /// Whether what begins now is counted.
  [[nodiscard]] bool measures() const { return measures(current_); }

  /// When those that are scheduled now need wait no longer: transactions begin as they are drawn
  /// then, in the next span that is there to measure that.
  [[nodiscard]] Ticks waits_until() const {
    if (span_ == 0) return std::numeric_limits<Ticks>::max();
    const std::uint64_t place = current_ % kRound;
    return (current_ - place + (place < kDrawn ? kDrawn : kRound + kDrawn)) * span_;
  }

 private:
  void begin(std::uint64_t span) {
    if (measures(current_)) counts_.add(scheduled_, begun_);
    begun_ = 0;
    current_ = span;
    const std::uint64_t place = span % kRound;
    if (place == kScheduled) counts_.begin_round(span / kRound);
    scheduled_ = measures(span) ? place == kScheduled : counts_.scheduling_pays();
  }

  static constexpr std::uint64_t kScheduled = 0;
  static constexpr std::uint64_t kDrawn = 1;

  static constexpr bool measures(std::uint64_t span) { return span % kRound <= kDrawn; }

  ProbeCounts<M>& counts_;
  Ticks span_;
  /// No span that there is, and not one that measures: the first may have begun long ago.
  std::uint64_t current_ = ~std::uint64_t{0};
  std::uint64_t begun_ = 0;
  bool scheduled_ = true;
};

}  // namespace heddle::admission
