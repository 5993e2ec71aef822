#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "model/random.h"
#include "schedule/admission/hot_keys.h"
#include "schedule/admission/policy.h"

namespace heddle::admission {

/// Shortest Makespan First over the transactions in flight (SMF, VLDB 2024, §4.1.3): of several
/// waiting transactions, drawn at random, it chooses the one by which the schedule grows least.
///
/// The worker is free now. What a transaction adds to the schedule beyond its own work, which has
/// to be done in any case, is the time that its hot keys delay its start. That delay is minimised;
/// among equals the oldest goes first. The paper breaks ties at random, in a batch where no client
/// waits.
struct Smf {
  static constexpr std::string_view kName = "smf";
  static constexpr bool kRoutes = false;

  /// The samples of one choice.
  class Samples {
   public:
    Samples(const Options& options, Random random)
        : samples_(static_cast<std::size_t>(options.samples)), random_(random) {}

    /// Calls done(index) for the oldest of `waiting` transactions, then for those after a position
    /// drawn at random, until it returns true.
    /// @param forced whether only the oldest may be chosen
    template <class F>
    void visit(std::size_t waiting, bool forced, F done) {
      if (done(std::size_t{0}) || forced) return;
      const std::size_t others = waiting - 1;
      const bool all = samples_ == 0 || samples_ >= waiting;
      const std::size_t looks = all ? others : samples_ - 1;
      const std::size_t first = all || others == 0 ? 0 : random_.below(others);
      for (std::size_t look = 0; look < looks; ++look) {
        if (done(1 + (first + look) % others)) return;
      }
    }

   private:
    std::size_t samples_;
    Random random_;
  };

  /// By the expected end of each transaction: the chosen one begins at its scheduled time.
  template <class M>
  class ByTimes final : public Policy<M> {
   public:
    using Ticks = typename M::Ticks;

    ByTimes(const Options& options, KeyTimes<M>& times, Random random)
        : samples_(options, random), times_(times) {}

    Choice<M> choose(std::span<const Candidate<M>* const> waiting, bool forced,
                     Ticks now) override {
      std::optional<Choice<M>> best;
      samples_.visit(waiting.size(), forced, [&](std::size_t index) {
        const Ticks start = start_of(*waiting[index], now);
        if (!best || start < best->start) best = {.index = index, .start = start};
        return best->start <= now;
      });
      const Candidate<M>& chosen = *waiting[best->index];
      best->start = times_.place(chosen.operations, best->start, chosen.duration);
      return *best;
    }

    Ticks again(const Candidate<M>& candidate, Ticks now) override {
      M::on_control();
      return times_.place(candidate.operations, now, candidate.duration);
    }

   private:
    Ticks start_of(const Candidate<M>& candidate, Ticks now) const {
      M::on_control();
      return times_.earliest(candidate.operations, now, candidate.duration);
    }

    Samples samples_;
    KeyTimes<M>& times_;
  };

  /// By what has committed: a transaction begins once no transaction in flight conflicts with it.
  /// One that aborts keeps its keys until it commits.
  ///
  /// If every sample conflicts, the worker looks again after a fraction of the expected duration.
  /// Several workers may wait for one key, and none of them is the first in a queue, so each
  /// transaction waits for a bounded time.
  template <class M>
  class ByCommits final : public Policy<M> {
   public:
    using Ticks = typename M::Ticks;

    ByCommits(const Options& options, KeyHolds<M>& holds, Random random)
        : samples_(options, random), holds_(holds) {}

    Choice<M> choose(std::span<const Candidate<M>* const> waiting, bool forced,
                     Ticks now) override {
      Choice<M> choice{.index = Choice<M>::kNone, .start = now};
      samples_.visit(waiting.size(), forced, [&](std::size_t index) {
        M::on_control();
        if (holds_.try_hold(waiting[index]->operations)) choice.index = index;
        return choice.index == index;
      });
      if (choice.index != Choice<M>::kNone) {
        waits_since_.reset();
        return choice;
      }
      const Ticks duration = waiting[0]->duration;
      if (!waits_since_) waits_since_ = now;
      if (now - *waits_since_ < kPatience * duration) {
        choice.start = now + std::max<Ticks>(1, duration / kLooks);
        return choice;
      }
      holds_.hold(waiting[0]->operations);
      waits_since_.reset();
      choice.index = 0;
      return choice;
    }

    Ticks again(const Candidate<M>& /*candidate*/, Ticks now) override { return now; }

    void ended(const Candidate<M>& candidate) override { holds_.release(candidate.operations); }

   private:
    /// The longest wait, in expected durations.
    static constexpr Ticks kPatience = 16;
    /// Looks in an expected duration.
    static constexpr Ticks kLooks = 8;

    Samples samples_;
    KeyHolds<M>& holds_;
    std::optional<Ticks> waits_since_;  ///< since the first choice of none
  };

  template <class M>
  static std::unique_ptr<Policy<M>> make(const Options& options, HotKeys<M>& keys, Random random) {
    if (options.until == Until::committed) {
      return std::make_unique<ByCommits<M>>(options, keys.holds, random);
    }
    return std::make_unique<ByTimes<M>>(options, keys.times, random);
  }
};

}  // namespace heddle::admission
