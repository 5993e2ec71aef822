#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "model/random.h"

namespace heddle {

/// Of each type the transactions that were drawn last, by any worker: what one is taken for where
/// mistakes are made on purpose (admission::Options::wrong_hints).
///
/// A lock for all of it: that is for finding out what errors cost, and on virtual cores it costs
/// nothing, for no core gives way while it holds it.
template <class Input>
class RecentInputs {
 public:
  /// So many of each type.
  static constexpr std::size_t kKept = 64;

  /// Leaves a transaction with them. Returns one of those that were there, any of them as likely;
  /// nothing: it is the first of its type.
  std::optional<Input> exchange(std::size_t type, const Input& input, Random& random) {
    const std::lock_guard lock(one_at_a_time_);
    if (type >= by_type_.size()) by_type_.resize(type + 1);
    Kept& kept = by_type_[type];
    std::optional<Input> found;
    if (kept.count > 0) found = kept.inputs[random.below(kept.count)];
    if (kept.count < kKept) {
      kept.inputs[kept.count++] = input;
    } else {
      kept.inputs[kept.oldest++ % kKept] = input;
    }
    return found;
  }

 private:
  struct Kept {
    std::array<Input, kKept> inputs;
    std::size_t count = 0;
    std::size_t oldest = 0;
  };

  std::mutex one_at_a_time_;
  std::vector<Kept> by_type_;
};

}  // namespace heddle
