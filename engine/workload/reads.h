#pragma once

#include <cstddef>

#include "model/options.h"
#include "model/signature.h"
#include "protocol/outcome.h"

namespace heddle {

/// How a workload's read-only types run: together with the others, so that they have states and
/// conflict, or on snapshots, where they are one epoch late and never abort. They are the last of
/// the workload's types.
struct Reads {
  bool on_snapshots = false;

  void read(OptionReader& reader) {
    reader.choice("reads", on_snapshots, {{"latest", false}, {"snapshot", true}},
                  "latest: types that only read run with the others and have states; snapshot: "
                  "they run on snapshots, without states");
  }

  /// The state of an access of such a type.
  [[nodiscard]] AccessId state(AccessId state) const { return on_snapshots ? kNoState : state; }

  /// The types for which a policy decides.
  [[nodiscard]] Signature decided(Signature all, std::size_t writing_types) const {
    if (on_snapshots) all.types.resize(writing_types);
    return all;
  }
};

}  // namespace heddle
