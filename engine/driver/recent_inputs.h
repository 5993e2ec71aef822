#pragma once

#include <cstddef>
#include <cstring>
#include <mutex>
#include <vector>

#include "model/random.h"

namespace heddle {

/// The most recently drawn transactions of each type, of all workers: a transaction is mistaken for
/// one of them where mistakes are made on purpose (admission::Options::wrong_hints).
///
/// One lock for all: mistakes serve to measure the cost of errors, and on virtual cores the lock
/// costs nothing, because no core yields while it holds it.
class RecentInputs {
 public:
  /// The number of inputs kept per type.
  static constexpr std::size_t kKept = 64;

  explicit RecentInputs(std::size_t input_bytes) : input_bytes_(input_bytes) {}

  /// Adds a transaction and copies one of those already kept to `other`, drawn uniformly. Returns
  /// false if it is the first of its type.
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
