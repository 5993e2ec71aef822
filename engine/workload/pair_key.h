#pragma once

#include <cstdint>

#include "storage/key.h"

namespace heddle {

/// Two 32-bit numbers in a word, so that all pairs of one first number are contiguous.
constexpr Key1 pair_key(std::uint64_t first, std::uint64_t second) {
  return {{first << 32 | second}};
}
/// The last possible pair of `first`, whether or not the row exists; the first is that with 0.
constexpr Key1 last_pair(std::uint64_t first) { return pair_key(first, 0xffff'ffff); }

constexpr std::uint64_t first_of(const Key1& pair) { return pair.words[0] >> 32; }
constexpr std::uint64_t second_of(const Key1& pair) { return pair.words[0] & 0xffff'ffff; }

}  // namespace heddle
