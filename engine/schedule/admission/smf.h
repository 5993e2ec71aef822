#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "model/random.h"
#include "schedule/admission/key_times.h"
#include "schedule/admission/policy.h"

namespace heddle::admission {

/// Shortest Makespan First over the transactions in flight (SMF, VLDB 2024, §4.1.3): of several
/// waiting transactions, drawn at random, it chooses the one by which the schedule grows least;
/// that one begins at its scheduled time.
///
/// The worker is free now. What a transaction adds to the schedule beyond its own work, which has
/// to be done in any case, is the time that its hot keys delay its start. That delay is minimised;
/// among equals the oldest goes first. The paper breaks ties at random, in a batch where no client
/// waits.
struct Smf {
  static constexpr std::string_view kName = "smf";
  static constexpr bool kRoutes = false;

  template <class M>
  class Policy final : public admission::Policy<M> {
   public:
    using Ticks = typename M::Ticks;

    Policy(const Options& options, KeyTimes<M>& times, Random random)
        : samples_(static_cast<std::size_t>(options.samples)), times_(times), random_(random) {}

    Choice<M> choose(std::span<const Candidate<M>* const> waiting, bool forced,
                     Ticks now) override {
      Choice<M> best{.index = 0, .start = start_of(*waiting[0], now)};
      if (!forced && best.start > now) {
        const std::size_t others = waiting.size() - 1;
        const bool all = samples_ == 0 || samples_ >= waiting.size();
        const std::size_t looks = all ? others : samples_ - 1;
        // The oldest is always among them; the rest are those after a position drawn at random.
        const std::size_t first = all || others == 0 ? 0 : random_.below(others);
        for (std::size_t look = 0; look < looks && best.start > now; ++look) {
          const std::size_t index = 1 + (first + look) % others;
          const Ticks start = start_of(*waiting[index], now);
          if (start < best.start) best = {.index = index, .start = start};
        }
      }
      const Candidate<M>& chosen = *waiting[best.index];
      best.start = times_.place(chosen.operations, best.start, chosen.duration);
      return best;
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

    std::size_t samples_;
    KeyTimes<M>& times_;
    Random random_;
  };
};

}  // namespace heddle::admission
