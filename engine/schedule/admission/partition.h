#pragma once

#include <span>
#include <string_view>

#include "model/random.h"
#include "schedule/admission/key_times.h"
#include "schedule/admission/policy.h"

namespace heddle::admission {

/// Hot-key partitioning: the transactions of one hot key are all one worker's (SMF, VLDB 2024, §1:
/// "partitioning the workload on hot keys"), which takes them in the order in which they came. Of a
/// transaction with several, the first it names decides.
struct Partition {
  static constexpr std::string_view kName = "partition";
  static constexpr bool kRoutes = true;

  /// The worker whose key it is.
  [[nodiscard]] static int owner(const Operations& operations, int workers) {
    return static_cast<int>(operations[0].slot % static_cast<std::uint32_t>(workers));
  }

  template <class M>
  class Policy final : public admission::Policy<M> {
   public:
    using Ticks = typename M::Ticks;

    Policy(const Options&, KeyTimes<M>&, Random) {}

    Choice<M> choose(std::span<const Candidate<M>* const>, bool, Ticks now) override {
      return {.start = now};
    }

    Ticks again(const Candidate<M>&, Ticks now) override { return now; }
  };
};

}  // namespace heddle::admission
