#include "observe/digest.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"

namespace heddle::check {
namespace {

constexpr std::size_t kMostWords = 40;

std::vector<std::uint64_t> content(std::size_t words, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint64_t> drawn(words);
  for (std::uint64_t& word : drawn) word = random.next();
  return drawn;
}

TEST(Digest, IsTheSameHoweverItsLengthIsKnown) {
  [&]<std::size_t... kWords>(std::index_sequence<kWords...>) {
    const auto compare = [](std::size_t words, std::uint32_t (*known)(const void*)) {
      const std::vector<std::uint64_t> drawn = content(words, words);
      EXPECT_EQ(known(drawn.data()), digest_of(drawn.data(), words * 8)) << words;
    };
    (compare(kWords, [](const void* at) { return digest_of_prefix<kWords * 8>(at); }), ...);
  }(std::make_index_sequence<kMostWords>());
}

TEST(Digest, TellsContentsApartThatDifferInABit) {
  for (std::size_t words = 1; words <= kMostWords; ++words) {
    std::vector<std::uint64_t> changed = content(words, words);
    std::set<std::uint32_t> digests{digest_of(changed.data(), words * 8)};
    for (std::size_t bit = 0; bit < 64 * words; ++bit) {
      changed[bit / 64] ^= std::uint64_t{1} << bit % 64;
      digests.insert(digest_of(changed.data(), words * 8));
      changed[bit / 64] ^= std::uint64_t{1} << bit % 64;
    }
    EXPECT_EQ(digests.size(), 64 * words + 1) << words;
  }
}

TEST(Digest, TellsContentsApartWhoseWordsAreSwapped) {
  for (std::size_t words = 2; words <= kMostWords; ++words) {
    std::vector<std::uint64_t> drawn = content(words, words);
    const std::uint32_t before = digest_of(drawn.data(), words * 8);
    for (std::size_t one = 0; one < words; ++one) {
      for (std::size_t other = 0; other < one; ++other) {
        std::swap(drawn[one], drawn[other]);
        EXPECT_NE(digest_of(drawn.data(), words * 8), before)
            << words << ' ' << one << ' ' << other;
        std::swap(drawn[one], drawn[other]);
      }
    }
  }
}

template <std::size_t kWords>
std::size_t digests_of_counters(std::uint64_t count) {
  std::set<std::uint32_t> digests;
  std::array<std::uint64_t, kWords> row{};
  for (std::uint64_t& last = row.back(); last < count; ++last) {
    digests.insert(digest_of(row.data(), sizeof(row)));
  }
  return digests.size();
}

TEST(Digest, TellsCountersApart) {
  EXPECT_EQ(digests_of_counters<3>(100'000), 100'000U);
  // Of that many drawn from 32 bits, one or two pairs would be equal.
  EXPECT_GE(digests_of_counters<9>(100'000), 99'990U);
}

}  // namespace
}  // namespace heddle::check
