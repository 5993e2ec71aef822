#pragma once

#include "protocol/policy.h"

namespace heddle {

/// The range of the exponential backoff under a protocol.
struct BackoffRange {
  /// Silo's first backoff is 100 pauses, about half a microsecond when it was written.
  double first_us = 0.5;
  double longest_us = kBackoffInitialsUs.back();
};

}  // namespace heddle
