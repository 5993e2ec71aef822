#include "machine/earliest.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(Earliest, IsTheLeastKey) {
  for (const std::size_t entrants : {1U, 2U, 3U, 48U, 256U}) {
    std::mt19937_64 random(entrants);
    Earliest earliest(entrants);
    std::vector<Earliest::Key> keys(entrants, Earliest::kNever);
    EXPECT_EQ(earliest.first(), Earliest::kNever) << "there is no entrant";
    for (int step = 0; step < 1000; ++step) {
      const std::size_t entrant = random() % entrants;
      keys[entrant] = random() % 8 == 0 ? Earliest::kNever : random() % 1000;
      earliest.set(entrant, keys[entrant]);
      ASSERT_EQ(earliest.first(), *std::min_element(keys.begin(), keys.end()));
      ASSERT_EQ(earliest.key(entrant), keys[entrant]);
      const Earliest::Key own = std::exchange(keys[entrant], Earliest::kNever);
      ASSERT_EQ(earliest.first_without(entrant), *std::min_element(keys.begin(), keys.end()));
      keys[entrant] = own;
    }
  }
}

}  // namespace
}  // namespace heddle
