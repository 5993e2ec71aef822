#pragma once

#include <cstdint>

#include "model/hints.h"
#include "workload/pair_key.h"
#include "workload/reads.h"
#include "workload/taobench/inputs.h"
#include "workload/taobench/transaction.h"

namespace heddle::taobench {

/// Every key: at Meta a transaction provides its full read and write set (SMF, §4.1.1).
inline void add_hints(const Input& input, Reads reads, Hints& hints) {
  const States states = states_of(input.type, reads);
  for (std::uint32_t i = 0; i < input.count; ++i) {
    const Operation& operation = input.operations[i];
    const std::uint64_t edge = pair_key(operation.object, operation.to).words[0];
    switch (operation.kind) {
      case Kind::read_object: hints.add(states.read_object, operation.object); break;
      case Kind::read_edge: hints.add(states.read_edge, edge); break;
      case Kind::scan_edges:
        hints.add(states.scan_edges, pair_key(operation.object, 0).words[0]);
        break;
      case Kind::update_object: hints.add(states.rmw_update_object, operation.object); break;
      case Kind::update_edge:
        hints.add(states.rmw_update_edge, edge);
        if (operation.two_way) {
          hints.add(states.rmw_update_edge, pair_key(operation.to, operation.object).words[0]);
        }
        break;
    }
  }
}

}  // namespace heddle::taobench
