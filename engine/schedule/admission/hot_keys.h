#pragma once

#include "schedule/admission/key_holds.h"
#include "schedule/admission/key_times.h"
#include "schedule/admission/options.h"

namespace heddle::admission {

/// What the workers of a run share about hot keys: when each is expected to be free, or, with
/// `until=committed`, whether it is free.
template <class M>
struct HotKeys {
  explicit HotKeys(const Options& options)
      : times(options.rules), holds(options.until == Until::committed) {}

  KeyTimes<M> times;
  KeyHolds<M> holds;
};

}  // namespace heddle::admission
