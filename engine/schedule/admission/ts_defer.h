#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "model/random.h"
#include "schedule/admission/hot_keys.h"
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

    Policy(const Options& options, HotKeys<M>& keys, Random random)
        : defer_(options.defer), until_(options.until), keys_(keys), random_(random) {}

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
      if (until_ == Until::committed) {
        keys_.holds.hold(chosen.operations);
      } else {
        keys_.times.note(chosen.operations, now, chosen.duration);
      }
      return choice;
    }

    Ticks again(const Candidate<M>& candidate, Ticks now) override {
      if (until_ == Until::expected) {
        keys_.times.note(candidate.operations, now, candidate.duration);
      }
      return now;
    }

    void ended(const Candidate<M>& candidate) override {
      if (until_ == Until::committed) keys_.holds.release(candidate.operations);
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
      const bool conflicts = until_ == Until::committed
                                 ? keys_.holds.conflict(looked_up)
                                 : keys_.times.earliest(looked_up, now, candidate.duration) > now;
      return conflicts && static_cast<double>(random_.below(kMillion)) < defer_ * kMillion;
    }

    double defer_;
    Until until_;
    HotKeys<M>& keys_;
    Random random_;
  };

  template <class M>
  static std::unique_ptr<admission::Policy<M>> make(const Options& options, HotKeys<M>& keys,
                                                    Random random) {
    return std::make_unique<Policy<M>>(options, keys, random);
  }
};

}  // namespace heddle::admission
