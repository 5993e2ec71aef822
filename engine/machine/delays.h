#pragma once

#include <cstdint>
#include <random>

namespace heddle {

/// When cores are held up, and for how long: at one step in so many, for a random time.
class Delays {
 public:
  using Ticks = std::uint64_t;

  /// @param every steps between two, on average; at least 1
  /// @param longest above 0
  Delays(std::uint64_t every, Ticks longest, std::uint64_t seed)
      : random_(seed), most_between_(2 * every - 1), longest_(longest) {
    draw();
  }

  /// At a step of any core: how long it is held up.
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
