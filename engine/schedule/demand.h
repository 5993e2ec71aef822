#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/batch.h"
#include "schedule/rules.h"
#include "schedule/touches.h"

namespace heddle::schedule {

/// The waiting transactions that need a key.
struct KeyDemand {
  float readers = 0;  ///< transactions that only read it
  float writers = 0;
  float work = 0;  ///< slots of queued work (`queued_work`)
};

/// The number of slots for which a transaction that writes a key keeps others from writing it.
inline float queued_work(const Touch& touch) {
  return touch.writes() ? static_cast<float>(touch.last - touch.first() + 1) : 0.0F;
}

/// The demand for each key, as transactions arrive and are placed.
class Demand {
 public:
  explicit Demand(const Touches& touches) : touches_(&touches), keys_(touches.key_count()) {
    for (std::size_t transaction = 0; transaction < touches.size(); ++transaction) {
      count(transaction, 1);
    }
  }

  void leave(std::size_t transaction) { count(transaction, -1); }

  [[nodiscard]] const KeyDemand& operator[](std::uint32_t key) const { return keys_[key]; }
  [[nodiscard]] std::span<const KeyDemand> keys() const { return keys_; }

 private:
  void count(std::size_t transaction, float sign) {
    for (const Touch& touch : (*touches_)[transaction]) {
      KeyDemand& demand = keys_[touch.key];
      if (touch.writes()) {
        demand.writers += sign;
        demand.work += sign * queued_work(touch);
      } else {
        demand.readers += sign;
      }
    }
  }

  const Touches* touches_;
  std::vector<KeyDemand> keys_;
};

/// The earliest start of a transaction that only reads a key.
template <Rules R>
Slot reader_start(const typename R::Key& key) {
  return R::earliest(key, {0, 1, kNever, 0, 1});
}

/// The earliest start of one that only writes it.
template <Rules R>
Slot writer_start(const typename R::Key& key) {
  return R::earliest(key, {0, kNever, 1, 1, 1});
}

/// The effect of placing a transaction on those that wait for a key.
struct Imposed {
  float delay = 0;  ///< the sum of their delays
  float reach = 0;  ///< the earliest time at which the last of its writers would release it
};

/// @param present the present start of transactions: delays count from there
template <Rules R>
Imposed imposed_by(typename R::Key key, const Touch& touch, const KeyDemand& demand, Slot start,
                   Slot end, float present) {
  const float readers = std::max(present, static_cast<float>(reader_start<R>(key)));
  const float writers = std::max(present, static_cast<float>(writer_start<R>(key)));
  R::place(key, touch, start, end);
  const auto after = static_cast<float>(writer_start<R>(key));
  return {demand.readers * std::max(0.0F, static_cast<float>(reader_start<R>(key)) - readers) +
              demand.writers * std::max(0.0F, after - writers),
          after + demand.work - queued_work(touch)};
}

/// The earliest time at which the last of those waiting to write a key can release it.
template <Rules R>
float reach_of(const typename R::Key& key, const KeyDemand& demand) {
  return static_cast<float>(writer_start<R>(key)) + demand.work;
}

}  // namespace heddle::schedule
