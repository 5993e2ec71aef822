#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include "model/random.h"
#include "schedule/admission/hot_keys.h"
#include "schedule/admission/options.h"
#include "schedule/admission/partition.h"
#include "schedule/admission/policy.h"
#include "schedule/admission/smf.h"
#include "schedule/admission/ts_defer.h"

namespace heddle::admission {

/// Admission policies, each a type with a `kName`, `kRoutes` and `make` for a machine.
template <class... Ps>
struct PolicyList {
  static std::initializer_list<std::string_view> names() {
    static const std::initializer_list<std::string_view> kNames{"fifo", Ps::kName...};
    return kNames;
  }

  static bool routes(std::string_view name) { return ((Ps::kName == name && Ps::kRoutes) || ...); }

  template <class M>
  static std::unique_ptr<Policy<M>> make(const Options& options, HotKeys<M>& keys, Random random) {
    std::unique_ptr<Policy<M>> made;
    const auto make_if = [&]<class P>(P) {
      if (P::kName != options.policy) return;
      made = P::template make<M>(options, keys, random);
    };
    (make_if(Ps{}), ...);
    return made;
  }
};

/// Every admission policy but `fifo`: a new one is its header and a line here.
using Policies = PolicyList<Smf, TsDefer, Partition>;

/// The values of `schedule.policy`.
[[nodiscard]] inline std::initializer_list<std::string_view> policy_names() {
  return Policies::names();
}

/// Whether a policy passes transactions to the worker that owns their key (partition.h).
[[nodiscard]] inline bool routes(std::string_view policy) { return Policies::routes(policy); }

/// The policy that the options name, for one worker; nullptr for fifo.
template <class M>
[[nodiscard]] std::unique_ptr<Policy<M>> make_policy(const Options& options, HotKeys<M>& keys,
                                                     Random random) {
  return Policies::make(options, keys, random);
}

}  // namespace heddle::admission
