#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace heddle {

/// Counts durations in log-linear buckets: 32 per power of two, so a value read from one is off
/// by at most 1/32 (LatencyDistribution). Adding takes a few instructions; merging is a loop.
class Histogram {
 public:
  void add(std::uint64_t value) {
    ++counts_[bucket_of(value)];
    ++count_;
    sum_ += value;
    max_ = std::max(max_, value);
  }

  void merge(const Histogram& other) {
    for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      counts_[bucket] += other.counts_[bucket];
    }
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
  }

  void clear() { *this = Histogram{}; }

  static constexpr std::size_t buckets() { return kBuckets; }
  [[nodiscard]] std::uint64_t count_in(std::size_t bucket) const { return counts_[bucket]; }
  /// The value that stands for a bucket, at most 1/64 from any value in it.
  [[nodiscard]] static double middle_of(std::size_t bucket) {
    if (bucket < kSub) return static_cast<double>(bucket);
    const std::size_t shift = bucket / kSub - 1;
    const auto low = static_cast<double>((kSub + bucket % kSub) << shift);
    return low + static_cast<double>(std::uint64_t{1} << shift) / 2;
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] double mean() const {
    return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }

 private:
  static constexpr int kSubBits = 5;
  static constexpr std::size_t kSub = std::size_t{1} << kSubBits;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) * kSub;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < kSub) return value;
    const int shift = static_cast<int>(std::bit_width(value)) - 1 - kSubBits;
    return static_cast<std::size_t>(shift + 1) * kSub + ((value >> shift) & (kSub - 1));
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace heddle
