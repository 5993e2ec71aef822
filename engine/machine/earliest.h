#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace heddle {

/// The earliest of several entrants with a time each: a tournament tree, replayed along one path
/// whenever an entrant's time changes.
///
/// Times carry their entrant's rank in the low bits, so that no two are equal; the caller assigns
/// the ranks and so decides ties.
class Earliest {
 public:
  using Key = std::uint64_t;
  static constexpr Key kNever = std::numeric_limits<Key>::max();

  explicit Earliest(std::size_t entrants)
      : leaves_(std::bit_ceil(entrants < 2 ? 2 : entrants)), keys_(2 * leaves_, kNever) {}

  void set(std::size_t entrant, Key key) {
    std::size_t at = leaves_ + entrant;
    keys_[at] = key;
    for (; at > 1; at /= 2) {
      key = std::min(key, keys_[at ^ 1]);
      keys_[at / 2] = key;
    }
  }

  [[nodiscard]] Key key(std::size_t entrant) const { return keys_[leaves_ + entrant]; }
  [[nodiscard]] Key first() const { return keys_[1]; }
  /// The earliest of all but one.
  [[nodiscard]] Key first_without(std::size_t entrant) const {
    Key key = kNever;
    for (std::size_t at = leaves_ + entrant; at > 1; at /= 2) key = std::min(key, keys_[at ^ 1]);
    return key;
  }

 private:
  std::size_t leaves_;
  std::vector<Key> keys_;
};

}  // namespace heddle
