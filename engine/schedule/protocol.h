#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "schedule/rules.h"

namespace heddle::schedule {

enum class Protocol { kMvtso, kLock, kOcc };

/// @param name `mvtso`, `lock` or `occ`
/// @throws std::invalid_argument for any other name
inline Protocol parse_protocol(std::string_view name) {
  if (name == "mvtso") return Protocol::kMvtso;
  if (name == "lock") return Protocol::kLock;
  if (name == "occ") return Protocol::kOcc;
  throw std::invalid_argument("protocol '" + std::string(name) + "': give mvtso, lock or occ");
}

/// Calls `job.operator()<R>()` with the rules of a protocol.
template <typename Job>
decltype(auto) with_rules(Protocol protocol, Job&& job) {
  switch (protocol) {
    case Protocol::kMvtso: return job.template operator()<Mvtso>();
    case Protocol::kLock: return job.template operator()<Lock>();
    case Protocol::kOcc: return job.template operator()<Occ>();
  }
  throw std::invalid_argument("no such protocol");
}

}  // namespace heddle::schedule
