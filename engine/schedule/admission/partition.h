#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "model/random.h"
#include "schedule/admission/hot_keys.h"
#include "schedule/admission/policy.h"

namespace heddle::admission {

/// Hot-key partitioning: all transactions of one hot key belong to one worker (SMF, VLDB 2024, §1:
/// "partitioning the workload on hot keys"), which runs them in the order of their arrival. A
/// transaction with several hot keys belongs to the worker of the first one that it names.
struct Partition {
  static constexpr std::string_view kName = "partition";
  static constexpr bool kRoutes = true;

  /// The worker that owns the key.
  [[nodiscard]] static int owner(const Operations& operations, int workers) {
    return static_cast<int>(operations[0].slot % static_cast<std::uint32_t>(workers));
  }

  template <class M>
  class Policy final : public admission::Policy<M> {
   public:
    using Ticks = typename M::Ticks;

    Choice<M> choose(std::span<const Candidate<M>* const>, bool, Ticks now) override {
      return {.start = now};
    }

    Ticks again(const Candidate<M>&, Ticks now) override { return now; }
  };

  template <class M>
  static std::unique_ptr<admission::Policy<M>> make(const Options&, HotKeys<M>&, Random) {
    return std::make_unique<Policy<M>>();
  }
};

}  // namespace heddle::admission
