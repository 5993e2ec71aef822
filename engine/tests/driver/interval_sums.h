#pragma once

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "driver/result.h"

namespace heddle {

/// Nothing is counted twice or lost, and something is counted.
inline void expect_sums(const Result& result, std::size_t intervals) {
  ASSERT_EQ(result.intervals.size(), intervals);
  EXPECT_GT(result.commits, 0U);
  for (std::size_t type = 0; type < result.types.size(); ++type) {
    std::uint64_t commits = 0;
    std::uint64_t aborts = 0;
    for (const IntervalResult& interval : result.intervals) {
      commits += interval.commits[type];
      aborts += interval.aborts[type];
    }
    EXPECT_EQ(commits, result.types[type].commits) << result.types[type].name;
    EXPECT_EQ(aborts, result.types[type].aborts) << result.types[type].name;
  }
}

}  // namespace heddle
