#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "machine/shared.h"

namespace heddle::admission {

/// A round of spans: in the first of them it is measured what scheduling is worth, in the second
/// what drawing is, and the others go by that.
struct Round {
  /// Spans of a round at first, and of what its beginning is a multiple.
  static constexpr std::uint64_t kLeast = 16;
  /// After so many rounds that found the same a round takes twice as long, until it takes 2^kMost.
  static constexpr std::uint64_t kPatience = 4;
  static constexpr std::uint64_t kMost = 3;

  std::uint64_t start = 0;  ///< its first span
  std::uint64_t alike = 0;  ///< how many before it have found the same, up to all that count
  bool schedules = true;    ///< what they found

  [[nodiscard]] std::uint64_t spans() const { return kLeast << alike / kPatience; }
  [[nodiscard]] std::uint64_t end() const { return start + spans(); }

  /// The one after it, in whose course `span` is.
  [[nodiscard]] Round next(std::uint64_t span, bool now_schedules) const {
    const std::uint64_t more = std::min(alike + 1, kMost * kPatience);
    return {.start = span - span % kLeast,
            .alike = now_schedules == schedules ? more : 0,
            .schedules = now_schedules};
  }

  /// In a word. There are nine bits of it for what is not its start, which leaves room for a
  /// thousand years of microseconds.
  [[nodiscard]] std::uint64_t pack() const {
    return start << 9 | alike << 1 | static_cast<std::uint64_t>(schedules);
  }
  [[nodiscard]] static Round unpack(std::uint64_t word) {
    return {.start = word >> 9, .alike = word >> 1 & 0xff, .schedules = (word & 1) != 0};
  }
};

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

  /// The round that `span` is in. The first worker whose span is behind the end of the last round
  /// begins one, and what was measured before counts for less.
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
  /// Counts are aged in parts of themselves, so small ones need room below.
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

/// Finds out while a run goes on whether scheduling pays, and does without it where it does not.
///
/// Whoever schedules delays transactions on a guess, and where conflicts are few or guesses bad
/// that costs more than it saves (SMF, VLDB 2024, §3.4 and §5.3: one may forgo scheduling then). So
/// time is cut into spans, the same for all workers, and spans into rounds. In the first span of a
/// round transactions begin as they are scheduled, in the second as they are drawn, and in the
/// others in the way in which more have begun of late. All workers change at once: who alone does
/// not wait gains from the others' waiting, and would learn the wrong thing. Rounds that keep
/// finding the same become rarer: the worse way costs a span a round.
template <class M>
class Probe {
 public:
  using Ticks = typename M::Ticks;

  /// @param counts of all workers
  /// @param span how long one is; 0: it is always scheduled
  Probe(ProbeCounts<M>& counts, Ticks span)
      : counts_(counts), span_(span), until_(span == 0 ? std::numeric_limits<Ticks>::max() : 0) {}

  /// Whether a transaction that begins now is to be scheduled.
  [[nodiscard]] bool schedules(Ticks now) {
    if (now >= until_) [[unlikely]]
      begin(now / span_);
    return scheduled_;
  }

  /// One begins.
  void began() { ++begun_; }

  /// Whether what begins now is counted.
  [[nodiscard]] bool measures() const { return measures_; }

  /// When those that are scheduled now need wait no longer: transactions begin as they are drawn
  /// then, in the next span that is there to measure that.
  [[nodiscard]] Ticks waits_until() const {
    return span_ == 0 ? std::numeric_limits<Ticks>::max() : draws_from_ * span_;
  }

 private:
  /// Places in a round.
  static constexpr std::uint64_t kScheduled = 0;
  static constexpr std::uint64_t kDrawn = 1;

  void begin(std::uint64_t span) {
    if (measures_) counts_.add(scheduled_, begun_);
    begun_ = 0;
    until_ = (span + 1) * span_;
    const Round round = counts_.round_of(span);
    // Who took the time before others began the round is late for the one before it.
    const std::uint64_t place = span < round.start ? kDrawn + 1 : span - round.start;
    measures_ = place <= kDrawn;
    scheduled_ = measures_ ? place == kScheduled : counts_.scheduling_pays();
    draws_from_ = (place < kDrawn ? round.start : round.end()) + kDrawn;
  }

  ProbeCounts<M>& counts_;
  Ticks span_;
  Ticks until_;                   ///< the end of the span that it is in
  std::uint64_t draws_from_ = 0;  ///< the next span that measures drawing
  std::uint64_t begun_ = 0;
  bool measures_ = false;
  bool scheduled_ = true;
};

}  // namespace heddle::admission
