#include "schedule/admission/registry.h"

#include <memory>

#include "machine/threads.h"
#include "machine/virtual.h"
#include "schedule/admission/partition.h"
#include "schedule/admission/smf.h"
#include "schedule/admission/ts_defer.h"

namespace heddle::admission {

namespace {

/// Admission policies, each a type with a `kName`, `kRoutes` and a `Policy` for a machine.
template <class... Ps>
struct PolicyList {
  static bool routes(std::string_view name) { return ((Ps::kName == name && Ps::kRoutes) || ...); }

  template <class M>
  static std::unique_ptr<Policy<M>> make(const Options& options, KeyTimes<M>& times,
                                         Random random) {
    std::unique_ptr<Policy<M>> made;
    const auto make_if = [&]<class P>(P) {
      if (P::kName != options.policy) return;
      made = std::make_unique<typename P::template Policy<M>>(options, times, random);
    };
    (make_if(Ps{}), ...);
    return made;
  }
};

using Policies = PolicyList<Smf, TsDefer, Partition>;

}  // namespace

std::initializer_list<std::string_view> policy_names() {
  static const std::initializer_list<std::string_view> names{"fifo", Smf::kName, TsDefer::kName,
                                                             Partition::kName};
  return names;
}

bool routes(std::string_view policy) { return Policies::routes(policy); }

template <class M>
std::unique_ptr<Policy<M>> make_policy(const Options& options, KeyTimes<M>& times, Random random) {
  return Policies::make(options, times, random);
}

template std::unique_ptr<Policy<ThreadsMachine>> make_policy(const Options&,
                                                             KeyTimes<ThreadsMachine>&, Random);
template std::unique_ptr<Policy<VirtualMachine>> make_policy(const Options&,
                                                             KeyTimes<VirtualMachine>&, Random);

}  // namespace heddle::admission
