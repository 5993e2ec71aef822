#pragma once

#include <cstddef>
#include <cstring>
#include <mutex>
#include <vector>

#include "model/random.h"

namespace heddle {

/// Of each type the transactions that were drawn last, by any worker: what one is taken for where
/// mistakes are made on purpose (admission::Options::wrong_hints).
///
/// A lock for all of it: mistakes serve to measure what errors cost, and on virtual cores the lock
/// costs nothing, for no core gives way while it holds it.
class RecentInputs {
 public:
  /// So many of each type.
  static constexpr std::size_t kKept = 64;

  explicit RecentInputs(std::size_t input_bytes) : input_bytes_(input_bytes) {}

  /// Leaves a transaction with them. Gives one of those that were there, any of them as likely.
  /// False: it is the first of its type.
  bool exchange(std::size_t type, const std::byte* input, Random& random, std::byte* other) {
    const std::lock_guard lock(one_at_a_time_);
    if (type >= by_type_.size()) by_type_.resize(type + 1);
    Kept& kept = by_type_[type];
    const std::size_t count = kept.inputs.size() / input_bytes_;
    if (count > 0) {
      std::memcpy(other, kept.inputs.data() + random.below(count) * input_bytes_, input_bytes_);
    }
    if (count < kKept) {
      kept.inputs.insert(kept.inputs.end(), input, input + input_bytes_);
    } else {
      std::memcpy(kept.inputs.data() + kept.oldest++ % kKept * input_bytes_, input, input_bytes_);
    }
    return count > 0;
  }

 private:
  struct Kept {
    std::vector<std::byte> inputs;
    std::size_t oldest = 0;
  };

  std::size_t input_bytes_;
  std::mutex one_at_a_time_;
  std::vector<Kept> by_type_;
};

}  // namespace heddle
