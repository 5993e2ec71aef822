#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include "model/random.h"
#include "schedule/admission/key_times.h"
#include "schedule/admission/options.h"
#include "schedule/admission/policy.h"

namespace heddle::admission {

/// What may follow `schedule.policy=`. A new policy is its header and two lines in registry.cc.
[[nodiscard]] std::initializer_list<std::string_view> policy_names();

/// Whether a policy leaves transactions with the worker that it names (partition.h).
[[nodiscard]] bool routes(std::string_view policy);

/// The policy that the options name, for one worker; nullptr for fifo.
template <class M>
[[nodiscard]] std::unique_ptr<Policy<M>> make_policy(const Options& options, KeyTimes<M>& times,
                                                     Random random);

}  // namespace heddle::admission
