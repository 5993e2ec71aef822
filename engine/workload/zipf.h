#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/random.h"

namespace heddle {

/// Draws ranks 0 .. n-1 with probability proportional to 1 / (rank + 1)^theta, exactly, for every
/// theta >= 0 (0 is uniform), in about 25 instructions.
///
/// The customary generator (Gray et al., "Quickly generating billion-record synthetic databases",
/// SIGMOD 1994) is an approximation that divides by 1 - theta. It therefore fails at theta = 1,
/// which the micro-benchmark needs; it also sums n terms at set-up and computes a power for each
/// draw. Here the ranks are grouped into bins, one rank per bin at the head and wider ones towards
/// the tail. A bin is drawn by the alias method (Vose, IEEE TSE 17(9), 1991), weighted as if all
/// its ranks were as likely as its first. Then a rank of the bin is drawn uniformly. The rank is
/// accepted with the probability by which the weight overrated it, which is at least (1 -
/// 1/32)^theta. Rejection makes the result exact, and nearly all draws are accepted without
/// computing a power.
class Zipf {
 public:
  Zipf(std::uint64_t n, double theta) : theta_(theta) {
    if (n == 0 || n >> 40 != 0) {
      throw std::invalid_argument("Zipf: n is " + std::to_string(n) + "; allowed: 1 to 2^40 - 1");
    }
    if (!(theta >= 0 && theta <= 10)) {
      throw std::invalid_argument("Zipf: theta is " + std::to_string(theta) + "; allowed: 0 to 10");
    }
    make_bins(n);
    make_aliases();
  }

  /// A rank; 0 is the most likely.
  [[nodiscard]] std::uint64_t operator()(Random& random) const {
    for (;;) {
      const Bin& bin = draw_bin(random);
      if (bin.size == 1) return bin.first;
      // The product's high half is the rank within the bin, its low half a fraction unrelated to
      // it.
      const Wide product = static_cast<Wide>(random.next()) * bin.size;
      const std::uint64_t rank = bin.first + static_cast<std::uint64_t>(product >> 64);
      const double fraction = to_unit(static_cast<std::uint64_t>(product));
      if (fraction < bin.least_kept) return rank;
      if (fraction < kept(bin.first, rank)) return rank;
    }
  }

 private:
  __extension__ using Wide = unsigned __int128;

  struct Bin {
    std::uint64_t first;       // its first, hence likeliest, rank
    std::uint64_t size;        // its number of ranks
    double least_kept;         // the probability that its last rank is accepted
    std::uint64_t stay_below;  // alias method: keep this bin if the fraction is below ...
    std::size_t alias;         // ... else take this one
  };

  static constexpr std::uint64_t kSingleRanks = 128;
  static constexpr std::uint64_t kWidthDivisor = 32;  // a bin is at most 1/32 as wide as its rank

  static double to_unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

  /// The probability of `rank` relative to that of `first`.
  double kept(std::uint64_t first, std::uint64_t rank) const {
    return std::pow(static_cast<double>(first + 1) / static_cast<double>(rank + 1), theta_);
  }

  const Bin& draw_bin(Random& random) const {
    const Wide product = static_cast<Wide>(random.next()) * bins_.size();
    const Bin& bin = bins_[static_cast<std::size_t>(product >> 64)];
    return static_cast<std::uint64_t>(product) < bin.stay_below ? bin : bins_[bin.alias];
  }

  void make_bins(std::uint64_t n) {
    for (std::uint64_t first = 0; first < n;) {
      std::uint64_t size = first < kSingleRanks ? 1 : first / kWidthDivisor;
      size = std::min(size, n - first);
      bins_.push_back(
          {first, size, kept(first, first + size - 1), ~std::uint64_t{0}, bins_.size()});
      first += size;
    }
  }

  void make_aliases() {
    std::vector<double> share;  // each bin's weight, scaled so that the mean is 1
    share.reserve(bins_.size());
    for (const Bin& bin : bins_) {
      share.push_back(static_cast<double>(bin.size) * kept(0, bin.first));
    }
    const double total = std::accumulate(share.begin(), share.end(), 0.0);
    for (double& s : share) s *= static_cast<double>(bins_.size()) / total;

    std::vector<std::size_t> poor;
    std::vector<std::size_t> rich;
    for (std::size_t i = 0; i < share.size(); ++i) (share[i] < 1 ? poor : rich).push_back(i);
    while (!poor.empty() && !rich.empty()) {
      const std::size_t i = poor.back();
      const std::size_t donor = rich.back();
      poor.pop_back();
      bins_[i].stay_below = static_cast<std::uint64_t>(std::ldexp(share[i], 64));
      bins_[i].alias = donor;
      share[donor] -= 1 - share[i];
      if (share[donor] < 1) {
        rich.pop_back();
        poor.push_back(donor);
      }
    }
    // The remaining bins have share 1 up to rounding and keep themselves.
  }

  double theta_;
  std::vector<Bin> bins_;
};

/// A permutation of [0, n) that spreads neighbouring ranks far apart, so that the hot ranks of a
/// skewed distribution are not adjacent in a table. Steps of about n / golden ratio, made coprime
/// to n: a bijection, whereas hashing modulo n would merge ranks and change the skew.
class Scatter {
 public:
  explicit Scatter(std::uint64_t n) : n_(n), step_(coprime_step(n)) {
    if (n == 0 || n >> 32 != 0) {
      throw std::invalid_argument("Scatter: n is " + std::to_string(n) +
                                  "; allowed: 1 to 2^32 - 1");
    }
  }

  [[nodiscard]] std::uint64_t operator()(std::uint64_t rank) const {
    return (rank * step_ + step_ / 2) % n_;
  }

 private:
  static std::uint64_t coprime_step(std::uint64_t n) {
    auto step = static_cast<std::uint64_t>(static_cast<double>(n) * 0.6180339887498949);
    while (std::gcd(step, n) != 1) ++step;  // ends at n + 1 at the latest
    return step;
  }

  std::uint64_t n_;
  std::uint64_t step_;
};

}  // namespace heddle
