#pragma once

#include <cstdint>

#include "model/hints.h"
#include "protocol/outcome.h"
#include "workload/ycsb/inputs.h"
#include "workload/ycsb/states.h"

namespace heddle::ycsb {

constexpr AccessId state_of(Kind kind) {
  switch (kind) {
    case Kind::read: return kRead;
    case Kind::rmw: return kRmwUpdate;
    case Kind::scan: return kScan;
    case Kind::insert: return kInsert;
    case Kind::remove: return kRemove;
  }
  return kNoState;
}

/// Every key: a transaction's operations are its input.
inline void add_hints(const Input& input, Hints& hints) {
  for (std::uint32_t i = 0; i < input.count; ++i) {
    hints.add(state_of(input.operations[i].kind), input.operations[i].key.words[0]);
  }
}

}  // namespace heddle::ycsb
