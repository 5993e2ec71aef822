#pragma once

#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace heddle {

/// A fixed-size key: N 64-bit words compared lexicographically, the first word most significant.
///
/// Composite keys put one column in a word, or pack narrow columns into one word, most significant
/// column first: either way the order of the words is the order of the columns.
template <int N>
struct Key {
  static_assert(N >= 1);
  static constexpr int kWords = N;

  std::array<std::uint64_t, N> words;

  auto operator<=>(const Key&) const = default;
  constexpr bool operator==(const Key& other) const noexcept {
    // Compared in place: for equality of arrays the compiler emits a call of memcmp.
    std::uint64_t differences = 0;
    for (int i = 0; i < N; ++i) differences |= words[i] ^ other.words[i];
    return differences == 0;
  }

  static constexpr Key min() noexcept { return Key{}; }

  static constexpr Key max() noexcept {
    Key key;
    key.words.fill(std::numeric_limits<std::uint64_t>::max());
    return key;
  }

  /// The smallest key above this one. Key::max() has none: it wraps to Key::min().
  [[nodiscard]] constexpr Key successor() const noexcept {
    Key next = *this;
    for (int i = N - 1; i >= 0 && ++next.words[i] == 0; --i) {
    }
    return next;
  }
};

using Key1 = Key<1>;
using Key2 = Key<2>;
using Key3 = Key<3>;

/// `make_key(warehouse, district, order)` is a Key<3>.
template <std::convertible_to<std::uint64_t>... Words>
  requires(sizeof...(Words) >= 1)
constexpr Key<static_cast<int>(sizeof...(Words))> make_key(Words... words) noexcept {
  return {{static_cast<std::uint64_t>(words)...}};
}

/// 64 bits whose *high* bits are well mixed: reduce them to a range by multiplication, not by `%`.
///
/// A multiply a word. Folding the high half of the product back in lets the high bits of a packed
/// key reach every bit of the result. For small dense keys the high half is empty and what is left
/// is Fibonacci hashing, which spreads consecutive keys almost evenly.
constexpr std::uint64_t hash_of(std::span<const std::uint64_t> words) noexcept {
  __extension__ using Wide = unsigned __int128;
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) {
    // The rotation makes (a, b) and (b, a) hash differently, and adding keeps a zero word from
    // erasing `hash`.
    const Wide product = Wide{std::rotl(hash, 29) + word} * 0x9e37'79b9'7f4a'7c15u;
    hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  return hash;
}

template <int N>
constexpr std::uint64_t hash_of(const Key<N>& key) noexcept {
  return hash_of(std::span<const std::uint64_t>(key.words));
}

/// A key in one word, to distinguish the keys of one table: the key itself if it is one word, else
/// its hash.
constexpr std::uint64_t word_of(std::span<const std::uint64_t> words) noexcept {
  return words.size() == 1 ? words.front() : hash_of(words);
}

template <int N>
constexpr std::uint64_t word_of(const Key<N>& key) noexcept {
  return word_of(std::span<const std::uint64_t>(key.words));
}

}  // namespace heddle
