#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "model/random.h"
#include "schedule/admission/key_times.h"
#include "schedule/admission/policy.h"

namespace heddle::admission {

/// TsDEFER, as the SMF paper runs it (VLDB 2024, §5.1; Cao et al., SIGMOD 2023): a transaction that
/// is next looks up two of its hot keys, and if a running one conflicts there, it is moved to the
/// end of the waiting ones, with some probability. The worker never waits: if all have been
/// deferred, the oldest starts.
struct TsDefer {
  static constexpr std::string_view kName = "tsdefer";
  static constexpr bool kRoutes = false;

  template <class M>
  class Policy final : public admission::Policy<M> {
   public:
    using Ticks = typename M::Ticks;

    Policy(const Options& options, KeyTimes<M>& times, Random random)
        : defer_(options.defer), times_(times), random_(random) {}

    Choice<M> choose(std::span<const Candidate<M>* const> waiting, bool forced,
                     Ticks now) override {
      Choice<M> choice{.start = now};
      if (!forced) {
        while (choice.index < waiting.size() && is_deferred(*waiting[choice.index], now)) {
          ++choice.index;
        }
        choice.deferred = static_cast<std::uint32_t>(choice.index);
        if (choice.index == waiting.size()) choice.index = 0;
      }
      const Candidate<M>& chosen = *waiting[choice.index];
      times_.note(chosen.operations, now, chosen.duration);
      return choice;
    }

    Ticks again(const Candidate<M>& candidate, Ticks now) override {
      times_.note(candidate.operations, now, candidate.duration);
      return now;
    }

   private:
    static constexpr std::size_t kLookups = 2;
    static constexpr std::uint64_t kMillion = 1'000'000;

    bool is_deferred(const Candidate<M>& candidate, Ticks now) {
      M::on_control();
      const Operations& operations = candidate.operations;
      Operations looked_up;
      const std::size_t first =
          operations.size() <= kLookups ? 0 : random_.below(operations.size());
      for (std::size_t i = 0; i < std::min(kLookups, operations.size()); ++i) {
        looked_up.add(operations[(first + i) % operations.size()]);
      }
      return times_.earliest(looked_up, now, candidate.duration) > now &&
             static_cast<double>(random_.below(kMillion)) < defer_ * kMillion;
    }

    double defer_;
    KeyTimes<M>& times_;
    Random random_;
  };
};

}  // namespace heddle::admission
