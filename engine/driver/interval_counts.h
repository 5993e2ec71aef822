#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

/// One worker's counts in each interval of the measured window, by transaction type.
///
/// A worker detects the end of an interval in the same way as that of the window: from the run's
/// phase, which it reads before each transaction anyway. Only then does it compute the interval's
/// counts. So a transaction and its aborts count in the interval in which it began, nothing is
/// counted twice or lost, and a run without intervals has no overhead.
class IntervalCounts {
 public:
  struct Counts {
    std::uint64_t commits = 0;
    std::uint64_t aborts = 0;
  };

  IntervalCounts(std::size_t intervals, std::size_t types)
      : intervals_(intervals), types_(types), counts_(intervals * types), earlier_(types) {}

  [[nodiscard]] std::size_t intervals() const { return intervals_; }

  /// Called when an interval ends, or the run within it.
  /// @param by_type the worker's counts in the whole window so far
  template <class ByType>
  [[gnu::noinline, gnu::cold]] void end(std::size_t interval, const ByType& by_type) {
    if (intervals_ == 0) return;
    for (std::size_t type = 0; type < types_; ++type) {
      Counts& earlier = earlier_[type];
      Counts& counts = counts_[interval * types_ + type];
      counts.commits += by_type[type].commits - earlier.commits;
      counts.aborts += by_type[type].aborts - earlier.aborts;
      earlier = {.commits = by_type[type].commits, .aborts = by_type[type].aborts};
    }
  }

  [[nodiscard]] const Counts& of(std::size_t interval, std::size_t type) const {
    return counts_[interval * types_ + type];
  }

 private:
  std::size_t intervals_;
  std::size_t types_;
  std::vector<Counts> counts_;   ///< by interval and type
  std::vector<Counts> earlier_;  ///< by type, over all finished intervals
};

}  // namespace heddle
