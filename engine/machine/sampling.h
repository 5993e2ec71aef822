#pragma once

#include <cstdint>
#include <vector>

namespace heddle {

/// The part of a run that is recorded on real cores.
struct Sampling {
  /// Share of the time in which transactions begin that are recorded, above 0 and at most 1.
  double share = 1;
  /// The states whose accesses are not recorded as steps of their own.
  std::vector<std::uint32_t> skipped_states = {};
};

/// The stretches of time in which the transactions that begin are recorded: one stretch in each
/// period, at a random place of it.
///
/// All cores have the same stretches, so that a transaction and those that it waits for are
/// recorded together. The places are random because stretches at equal distances could coincide
/// with something else that is periodic, such as the epochs.
class Stretches {
 public:
  using Ticks = std::uint64_t;

  /// The length of a stretch: long compared with most transactions, which are recorded together
  /// with those that they wait for; short compared with a run, so that it has many.
  static constexpr double kUs = 500;

  /// @param origin the begin of the first period
  /// @param length of a stretch, above 0
  /// @param share of the time, above 0 and at most 1
  Stretches(Ticks origin, Ticks length, double share)
      : origin_(origin),
        length_(length),
        period_(static_cast<Ticks>(static_cast<double>(length) / share)),
        next_(origin) {}

  /// Whether a time is in a stretch. Times must not decrease.
  [[nodiscard]] bool contains(Ticks now) noexcept {
    if (now >= next_) [[unlikely]]
      move_to(now);
    return inside_;
  }

 private:
  void move_to(Ticks now) noexcept {
    const Ticks number = (now - origin_) / period_;
    const Ticks period = origin_ + number * period_;
    const Ticks begin = period + place(number);
    const Ticks end = begin + length_;
    inside_ = now >= begin && now < end;
    next_ = inside_ ? end : now < begin ? begin : period + period_;
  }

  /// The distance of a stretch from the begin of its period.
  [[nodiscard]] Ticks place(Ticks number) const noexcept {
    // SplitMix64: any two periods have unrelated places.
    std::uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return (mixed ^ (mixed >> 31)) % (period_ - length_ + 1);
  }

  Ticks origin_;
  Ticks length_;
  Ticks period_;
  Ticks next_;  ///< until then the answer stays the same
  bool inside_ = false;
};

}  // namespace heddle
