#pragma once

#include <cstdint>

#include "storage/key.h"

namespace heddle {

/// Two numbers of 32 bits in a word, so that what belongs to the first lies together.
constexpr Key1 pair_key(std::uint64_t first, std::uint64_t second) {
  return {{first << 32 | second}};
}
/// The last pair of `first`, whether there is such a row or not; its first is with 0.
constexpr Key1 last_pair(std::uint64_t first) { return pair_key(first, 0xffff'ffff); }

constexpr std::uint64_t first_of(const Key1& pair) { return pair.words[0] >> 32; }
constexpr std::uint64_t second_of(const Key1& pair) { return pair.words[0] & 0xffff'ffff; }

}  // namespace heddle
