#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "machine/shared.h"

namespace heddle::admission {

/// A round of spans: the first measures the rate with scheduling, the second the rate without it,
/// and the others use the better way.
struct Round {
  /// The initial number of spans of a round; rounds begin at multiples of it.
  static constexpr std::uint64_t kLeast = 16;
  /// After this many rounds with the same result a round becomes twice as long, up to 2^kMost
  /// times.
  static constexpr std::uint64_t kPatience = 4;
  static constexpr std::uint64_t kMost = 3;

  std::uint64_t start = 0;  ///< its first span
  std::uint64_t alike = 0;  ///< previous rounds with this result, up to the limit that counts
  bool schedules = true;    ///< their result

  [[nodiscard]] std::uint64_t spans() const { return kLeast << alike / kPatience; }
  [[nodiscard]] std::uint64_t end() const { return start + spans(); }

  /// The next round, which contains `span`.
  [[nodiscard]] Round next(std::uint64_t span, bool now_schedules) const {
    const std::uint64_t more = std::min(alike + 1, kMost * kPatience);
    return {.start = span - span % kLeast,
            .alike = now_schedules == schedules ? more : 0,
            .schedules = now_schedules};
  }

  /// Packs the round into a word. Nine bits hold all but its start, which leaves space for a
  /// thousand years of microseconds.
  [[nodiscard]] std::uint64_t pack() const {
    return start << 9 | alike << 1 | static_cast<std::uint64_t>(schedules);
  }
  [[nodiscard]] static Round unpack(std::uint64_t word) {
    return {.start = word >> 9, .alike = word >> 1 & 0xff, .schedules = (word & 1) != 0};
  }
};

/// The number of transactions begun recently with scheduling and without: measured by the workers
/// of a run together (Probe).
///
/// All accesses are relaxed: the words are compared with each other and publish nothing, and a
/// worker that sees them a little late starts some transactions in the worse way.
template <class M>
class ProbeCounts {
 public:
  void add(bool scheduled, std::uint64_t begun) {
    (scheduled ? scheduled_ : drawn_).fetch_add(begun * kWeight, std::memory_order_relaxed);
  }

  [[nodiscard]] bool scheduling_pays() const {
    return scheduled_.load(std::memory_order_relaxed) >= drawn_.load(std::memory_order_relaxed);
  }

  /// The round that contains `span`. The first worker whose span is after the end of the last round
  /// begins one, and earlier measurements then count for less.
  [[nodiscard]] Round round_of(std::uint64_t span) {
    std::uint64_t word = round_.load(std::memory_order_relaxed);
    const Round last = Round::unpack(word);
    if (word != kNone && span < last.end()) return last;
    const Round next = word != kNone ? last.next(span, scheduling_pays())
                                     : Round{.start = span - span % Round::kLeast};
    if (!round_.compare_exchange(word, next.pack(), std::memory_order_relaxed)) {
      return Round::unpack(word);
    }
    age(scheduled_);
    age(drawn_);
    return next;
  }

 private:
  /// Ageing subtracts fractions of the counts, so small counts are scaled up.
  static constexpr std::uint64_t kWeight = 16;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  static void age(Shared<M, std::uint64_t>& count) {
    const std::uint64_t now = count.load(std::memory_order_relaxed);
    count.fetch_add(std::uint64_t{0} - now / 4, std::memory_order_relaxed);  // a subtraction
  }

  alignas(64) Shared<M, std::uint64_t> scheduled_{0};
  Shared<M, std::uint64_t> drawn_{0};
  Shared<M, std::uint64_t> round_{kNone};
};

/// Measures during a run whether scheduling pays, and turns it off where it does not.
///
/// Scheduling delays transactions on a guess. Where conflicts are few or guesses bad, that costs
/// more than it saves (SMF, VLDB 2024, §3.4 and §5.3: one may forgo scheduling then). Time is
/// therefore cut into spans, the same for all workers, and spans into rounds. In the first span of
/// a round transactions begin as they are scheduled, in the second as they are drawn, and in the
/// others in the way in which more have begun recently. All workers change at once: a worker that
/// alone does not wait would gain from the others' waits, and would measure the wrong thing. Rounds
/// with the same result become longer: the worse way costs one span per round.
template <class M>
class Probe {
 public:
  using Ticks = typename M::Ticks;

  /// @param counts of all workers
  /// @param span length of a span; 0: transactions are always scheduled
  Probe(ProbeCounts<M>& counts, Ticks span)
      : counts_(counts), span_(span), until_(span == 0 ? std::numeric_limits<Ticks>::max() : 0) {}

  /// Whether a transaction that begins now is to be scheduled.
  [[nodiscard]] bool schedules(Ticks now) {
    if (now >= until_) [[unlikely]]
      begin(now / span_);
    return scheduled_;
  }

  /// Counts a transaction that begins.
  void began() { ++begun_; }

  /// Whether transactions that begin now are counted.
  [[nodiscard]] bool measures() const { return measures_; }

  /// The time after which transactions that are scheduled now need not wait: the next span that
  /// measures drawing.
  [[nodiscard]] Ticks waits_until() const {
    return span_ == 0 ? std::numeric_limits<Ticks>::max() : draws_from_ * span_;
  }

 private:
  /// Positions in a round.
  static constexpr std::uint64_t kScheduled = 0;
  static constexpr std::uint64_t kDrawn = 1;

  void begin(std::uint64_t span) {
    if (measures_) counts_.add(scheduled_, begun_);
    begun_ = 0;
    until_ = (span + 1) * span_;
    const Round round = counts_.round_of(span);
    // A worker that read the time before others began the round is late for the one before it.
    const std::uint64_t place = span < round.start ? kDrawn + 1 : span - round.start;
    measures_ = place <= kDrawn;
    scheduled_ = measures_ ? place == kScheduled : counts_.scheduling_pays();
    draws_from_ = (place < kDrawn ? round.start : round.end()) + kDrawn;
  }

  ProbeCounts<M>& counts_;
  Ticks span_;
  Ticks until_;                   ///< end of its present span
  std::uint64_t draws_from_ = 0;  ///< the next span that measures drawing
  std::uint64_t begun_ = 0;
  bool measures_ = false;
  bool scheduled_ = true;
};

}  // namespace heddle::admission
