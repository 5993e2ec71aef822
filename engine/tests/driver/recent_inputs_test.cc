#include "driver/recent_inputs.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"

namespace heddle {
namespace {

constexpr auto kKept = static_cast<int>(RecentInputs::kKept);

/// Of inputs that are a number each.
class RecentNumbers {
 public:
  std::optional<int> exchange(std::size_t type, int number, Random& random) {
    int other = 0;
    const bool found = recent_.exchange(type, reinterpret_cast<const std::byte*>(&number), random,
                                        reinterpret_cast<std::byte*>(&other));
    return found ? std::optional(other) : std::nullopt;
  }

 private:
  RecentInputs recent_{sizeof(int)};
};

TEST(RecentInputs, TheFirstOfATypeFindsNone) {
  RecentNumbers recent;
  Random random(1);
  EXPECT_EQ(recent.exchange(2, 20, random), std::nullopt);
  EXPECT_EQ(recent.exchange(0, 1, random), std::nullopt);
  EXPECT_EQ(recent.exchange(2, 21, random), 20);
  EXPECT_EQ(recent.exchange(0, 2, random), 1);
}

TEST(RecentInputs, AnyOfTheLastIsFoundAndNoneThatIsOlder) {
  RecentNumbers recent;
  Random random(1);
  for (int i = 0; i < 1000; ++i) recent.exchange(0, i, random);
  std::set<int> found;
  for (int i = 1000; i < 1000 + 100 * kKept; ++i) {
    const std::optional<int> other = recent.exchange(0, i, random);
    ASSERT_TRUE(other.has_value());
    EXPECT_LT(*other, i);
    EXPECT_GE(*other, i - kKept);
    found.insert(i - *other);
  }
  EXPECT_EQ(found.size(), RecentInputs::kKept);
}

TEST(RecentInputs, ManyMayUseItAtOnce) {
  RecentNumbers recent;
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&recent, worker] {
      Random random(static_cast<std::uint64_t>(worker));
      for (int i = 0; i < 2000; ++i) {
        const auto type = static_cast<std::size_t>(i % 3);
        const std::optional<int> other = recent.exchange(type, 10 * i + i % 3, random);
        if (other) {
          EXPECT_EQ(*other % 10, i % 3);
        }
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace
}  // namespace heddle
