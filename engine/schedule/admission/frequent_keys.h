#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle::admission {

/// Which keys are named often of late: one worker's own count, so that no two share a cache line
/// for it. A place holds one key at a time, whose count others of the place wear down (Boyer and
/// Moore's majority vote, a place); every `kHorizon` transactions all counts are halved.
class FrequentKeys {
 public:
  /// @param share of the transactions that name a hot key, 0 to 1; 0: every key is hot
  explicit FrequentKeys(double share) : share_(share) {}

  /// A transaction comes, whose keys are counted next.
  void next_transaction() {
    if (++transactions_ < kHorizon) return;
    transactions_ /= 2;
    for (Place& place : places_) place.count /= 2;
  }

  /// Counts a key, by its hash, and says whether it is hot.
  [[nodiscard]] bool count(std::uint64_t hash) {
    if (share_ == 0) return true;
    Place& place = places_[hash % kPlaces];
    const auto tag = static_cast<std::uint16_t>(hash >> 48);
    if (place.count == 0) place.tag = tag;
    if (place.tag != tag) {
      --place.count;
      return false;
    }
    if (place.count < kMostCounted) ++place.count;
    return place.count >= kFewest && place.count >= share_ * static_cast<double>(transactions_);
  }

 private:
  struct Place {
    std::uint16_t tag = 0;
    std::uint16_t count = 0;
  };
  static constexpr std::size_t kPlaces = 4096;
  static constexpr std::uint32_t kHorizon = 4096;
  static constexpr std::uint16_t kMostCounted = 0xffff;
  /// A key named once may never be named again.
  static constexpr std::uint16_t kFewest = 2;

  double share_;
  std::uint32_t transactions_ = 0;
  std::array<Place, kPlaces> places_{};
};

}  // namespace heddle::admission
