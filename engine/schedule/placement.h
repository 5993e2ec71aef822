#pragma once

#include <algorithm>
#include <vector>

#include "schedule/batch.h"
#include "schedule/rules.h"
#include "schedule/touches.h"

namespace heddle::schedule {

/// A growing schedule: transactions are placed one after the other, each at the earliest start that
/// the previous ones allow. The cost of placing one is its length, however many were placed before.
template <Rules R>
class Placement {
 public:
  /// @param touches must outlive this
  explicit Placement(const Touches& touches) : touches_(&touches), keys_(touches.key_count()) {}

  /// The start of a transaction if it were placed next; from 1.
  [[nodiscard]] Slot start_of(std::size_t transaction) const {
    Slot start = 1;
    for (const Touch& touch : (*touches_)[transaction]) {
      start = std::max(start, R::earliest(keys_[touch.key], touch));
    }
    return start;
  }

  /// The end of a transaction if it were placed next.
  [[nodiscard]] Slot end_of(std::size_t transaction) const {
    return start_of(transaction) + touches_->length(transaction) - 1;
  }

  /// Places a transaction next. Returns its start.
  Slot place(std::size_t transaction) {
    const Slot start = start_of(transaction);
    place_at(transaction, start);
    return start;
  }

  /// Places a transaction at the start that `start_of` returned.
  void place_at(std::size_t transaction, Slot start) {
    const Slot end = start + touches_->length(transaction) - 1;
    for (const Touch& touch : (*touches_)[transaction]) {
      R::place(keys_[touch.key], touch, start, end);
    }
    makespan_ = std::max(makespan_, end);
  }

  /// The latest end so far; 0 before the first.
  [[nodiscard]] Slot makespan() const { return makespan_; }

  [[nodiscard]] const Touches& touches() const { return *touches_; }
  [[nodiscard]] const typename R::Key& key(std::uint32_t key) const { return keys_[key]; }

 private:
  const Touches* touches_;
  std::vector<typename R::Key> keys_;
  Slot makespan_ = 0;
};

}  // namespace heddle::schedule
