#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "schedule/batch.h"
#include "schedule/rules.h"
#include "schedule/touches.h"

namespace heddle::schedule {

/// Who of the waiting transactions wants a key.
struct KeyDemand {
  float readers = 0;  ///< transactions that only read it
  float writers = 0;
  float work = 0;  ///< slots from its writers' first touch to their last
};

/// Who wants which key, as transactions come and are placed.
class Demand {
 public:
  explicit Demand(const Touches& touches) : touches_(&touches), keys_(touches.key_count()) {
    for (std::size_t transaction = 0; transaction < touches.size(); ++transaction) {
      count(transaction, 1);
    }
  }

  void leave(std::size_t transaction) { count(transaction, -1); }

  [[nodiscard]] const KeyDemand& operator[](std::uint32_t key) const { return keys_[key]; }

 private:
  void count(std::size_t transaction, float sign) {
    for (const Touch& touch : (*touches_)[transaction]) {
      KeyDemand& demand = keys_[touch.key];
      if (touch.writes()) {
        demand.writers += sign;
        demand.work += sign * static_cast<float>(touch.last - touch.first() + 1);
      } else {
        demand.readers += sign;
      }
    }
  }

  const Touches* touches_;
  std::vector<KeyDemand> keys_;
};

/// When a transaction could start that does nothing but read a key.
template <Rules R>
Slot reader_start(const typename R::Key& key) {
  return R::earliest(key, {0, 1, kNever, 0, 1});
}

/// When one could that does nothing but write it.
template <Rules R>
Slot writer_start(const typename R::Key& key) {
  return R::earliest(key, {0, kNever, 1, 1, 1});
}

/// By how much those who want a key would have to start later, all together, if a transaction that
/// touches it were placed.
/// @param present when transactions start at present: nobody is held up before
template <Rules R>
float delay_imposed(typename R::Key key, const Touch& touch, const KeyDemand& demand, Slot start,
                    Slot end, float present) {
  const float readers = std::max(present, static_cast<float>(reader_start<R>(key)));
  const float writers = std::max(present, static_cast<float>(writer_start<R>(key)));
  R::place(key, touch, start, end);
  return demand.readers * std::max(0.0F, static_cast<float>(reader_start<R>(key)) - readers) +
         demand.writers * std::max(0.0F, static_cast<float>(writer_start<R>(key)) - writers);
}

}  // namespace heddle::schedule
