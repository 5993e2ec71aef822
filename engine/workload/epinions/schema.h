#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// The rows of Epinions, as in OLTP-Bench except for the texts that no transaction reads.
namespace heddle::epinions {

/// A text of the given number of words. All of them are the same, so that a torn text is detected.
template <std::size_t Words>
struct Text {
  std::array<std::uint64_t, Words> words;

  [[nodiscard]] static Text of(std::uint64_t word) {
    Text text;
    text.words.fill(word);
    return text;
  }
  [[nodiscard]] bool torn() const {
    for (const std::uint64_t word : words) {
      if (word != words.front()) return true;
    }
    return false;
  }
};

/// Key: the user.
struct User {
  Text<3> name;
  Text<3> email;
  std::uint64_t created_us;
};
static_assert(sizeof(User) == 56);

/// Key: the item.
struct Item {
  Text<16> title;
  std::uint64_t created_us;
};
static_assert(sizeof(Item) == 136);

/// Key: item and user.
struct Review {
  std::uint64_t rating;
  std::uint64_t created_us;
  Text<4> comment;
};
static_assert(sizeof(Review) == 48);

/// The columns of a review that are shown in a list of its user's reviews: an index that covers the
/// query. Key: user and item.
struct ReviewByUser {
  std::uint64_t rating;
};
static_assert(sizeof(ReviewByUser) == 8);

/// Key: the trusting and the trusted user.
struct Trust {
  std::uint64_t rating;
  std::uint64_t created_us;
};
static_assert(sizeof(Trust) == 16);

inline constexpr std::uint64_t kRatings = 5;  ///< 0 to 4
inline constexpr std::uint64_t kTrusts = 2;   ///< 0 or 1

}  // namespace heddle::epinions
