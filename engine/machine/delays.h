#pragma once

#include <cstdint>
#include <random>

namespace heddle {

/// Decides when cores are delayed, and for how long: on average at one step in `every`, for a
/// random time.
class Delays {
 public:
  using Ticks = std::uint64_t;

  /// @param every the average number of steps between two delays; at least 1
  /// @param longest above 0
  Delays(std::uint64_t every, Ticks longest, std::uint64_t seed)
      : random_(seed), most_between_(2 * every - 1), longest_(longest) {
    draw();
  }

  /// At a step of any core: the length of its delay.
  Ticks step() {
    if (--left_ > 0) [[likely]]
      return 0;
    draw();
    return 1 + random_() % longest_;
  }

 private:
  void draw() { left_ = 1 + random_() % most_between_; }

  std::mt19937_64 random_;
  std::uint64_t most_between_;
  Ticks longest_;
  std::uint64_t left_ = 0;
};

}  // namespace heddle
