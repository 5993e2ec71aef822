#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle::admission {

/// The keys that are named often of late: counted per worker, so that workers share no cache line
/// for it. A slot counts one key at a time, and other keys of the slot lower its count (Boyer and
/// Moore's majority vote, per slot); every `kHorizon` transactions all counts are halved.
class FrequentKeys {
 public:
  /// @param share of the transactions that name a hot key, 0 to 1; 0: every key is hot
  explicit FrequentKeys(double share) : share_(share) {}

  /// Starts a transaction, whose keys are counted next.
  void next_transaction() {
    if (++transactions_ < kHorizon) return;
    transactions_ /= 2;
    for (Place& place : places_) place.count /= 2;
  }

  /// Counts a key, by its hash, and returns whether it is hot.
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
