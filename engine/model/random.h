#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace heddle {

/// Deterministic random numbers: xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom
/// number generators", ACM TOMS 47(4), 2021), its state filled by SplitMix64 as its authors advise.
/// About ten instructions a draw; 32 bytes of state; period 2^256 - 1. Not for secrets.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept {
    for (std::uint64_t& word : state_) word = split_mix(seed);
  }

  /// A generator for one part of a job, so that the parts do not depend on each other's draws: the
  /// same (seed, part) gives the same stream, neighbouring parts give unrelated streams.
  [[nodiscard]] static constexpr Random stream(std::uint64_t seed, std::uint64_t part) noexcept {
    return Random(split_mix(seed) ^ (part * kGolden));
  }

  /// 64 uniform bits.
  constexpr std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, n); n > 0. The high half of a 64 x 64 product: one multiplication, no loop;
  /// no value's probability is off by more than 2^-64.
  constexpr std::uint64_t below(std::uint64_t n) noexcept {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * n) >> 64);
  }

  /// Uniform in [lo, hi], both ends included; lo <= hi.
  constexpr std::int64_t between(std::int64_t lo, std::int64_t hi) noexcept {
    const auto span = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo) + 1;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + below(span));
  }

  /// Uniform in [0, 1), with 53 bits.
  constexpr double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// Maps 32 uniform bits to [0, n), so that one draw can feed two small ranges. The bias is below
  /// n / 2^32: for the small n of benchmark inputs, under one in 40 000.
  [[nodiscard]] static constexpr std::uint32_t scale(std::uint32_t bits, std::uint32_t n) noexcept {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(bits) * n) >> 32);
  }

 private:
  // 128-bit integers are a compiler extension; this spelling avoids a warning under -Wpedantic.
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

  static constexpr std::uint64_t split_mix(std::uint64_t& counter) noexcept {
    counter += kGolden;
    std::uint64_t mixed = counter;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace heddle
