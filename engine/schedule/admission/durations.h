#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::admission {

/// The expected duration of transactions: a moving mean of the committed attempts of a type,
/// without their waits for others. A transaction that names twice as many keys is expected to take
/// twice as long, as in the makespan model, where an operation is a unit of time (SMF, VLDB 2024,
/// §2.1).
///
/// Every worker has its own.
template <class Ticks>
class Durations {
 public:
  explicit Durations(std::size_t types) : of_types_(types) {}

  /// @param keys number of keys that the transaction named
  void ended(std::size_t type, std::size_t keys, Ticks took) {
    OfType& mean = of_types_[type];
    const double named = weight(keys);
    if (mean.took == 0) {
      mean = {.took = took, .keys = named};
      return;
    }
    mean.took = mean.took - mean.took / kMeanOf + took / kMeanOf;
    mean.keys = mean.keys - mean.keys / kMeanOf + named / kMeanOf;
  }

  /// 0: no transaction of the type has ended yet.
  [[nodiscard]] Ticks expected(std::size_t type, std::size_t keys) const {
    const OfType& mean = of_types_[type];
    return static_cast<Ticks>(static_cast<double>(mean.took) * (weight(keys) / mean.keys));
  }

 private:
  struct OfType {
    Ticks took = 0;
    double keys = 1;
  };

  static constexpr Ticks kMeanOf = 4;

  /// Transactions that name no keys are assumed to be equally long.
  [[nodiscard]] static double weight(std::size_t keys) {
    return static_cast<double>(std::max<std::size_t>(1, keys));
  }

  std::vector<OfType> of_types_;
};

}  // namespace heddle::admission
