#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace heddle::check {

namespace digest {

inline constexpr std::uint64_t kGolden = 0x9e37'79b9'7f4a'7c15ULL;
__extension__ using Wide = unsigned __int128;

[[nodiscard, gnu::always_inline]] inline std::uint64_t word(const void* content, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, static_cast<const std::byte*>(content) + at, sizeof(value));
  return value;
}
[[nodiscard, gnu::always_inline]] inline std::uint64_t folded(Wide product) {
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}
/// The key of a word: 31 bits, which fit into the instruction that uses them.
[[nodiscard, gnu::always_inline]] inline constexpr std::uint64_t key(std::size_t at) {
  return (kGolden * (at / 8 + 1)) >> 33 | 1 << 30;
}
/// Words are multiplied in pairs, each with a key of its own, so that the processor works on many
/// at once.
[[nodiscard, gnu::always_inline]] inline std::uint64_t of_pair(const void* content,
                                                               std::size_t at) {
  return folded(Wide{word(content, at) + key(at)} * (word(content, at + 8) ^ key(at + 8)));
}
[[nodiscard, gnu::always_inline]] inline std::uint64_t of_last(const void* content,
                                                               std::size_t at) {
  return folded(Wide{word(content, at) + key(at)} * kGolden);
}
[[nodiscard, gnu::always_inline]] inline std::uint32_t finish(std::uint64_t sum) {
  return static_cast<std::uint32_t>(sum ^ sum >> 32);
}

}  // namespace digest

/// 32 bits that tell two contents of the same length apart (a multiple of 8 bytes).
[[nodiscard]] inline std::uint32_t digest_of(const void* content, std::size_t bytes) noexcept {
  std::uint64_t sum = bytes;
  std::size_t at = 0;
  for (; at + 16 <= bytes; at += 16) sum += digest::of_pair(content, at);
  if (at < bytes) sum += digest::of_last(content, at);
  return digest::finish(sum);
}

/// The same of a content whose length the compiler knows: without a loop if it is short.
template <std::size_t kBytes>
[[nodiscard]] std::uint32_t digest_of_prefix(const void* content) noexcept {
  constexpr std::size_t kPairs = kBytes / 16;
  if constexpr (kPairs > 8) {
    return digest_of(content, kBytes);
  } else {
    std::uint64_t sum = kBytes;
    [&]<std::size_t... kPair>(std::index_sequence<kPair...>) {
      ((sum += digest::of_pair(content, kPair * 16)), ...);
    }(std::make_index_sequence<kPairs>());
    if constexpr (kBytes % 16 != 0) sum += digest::of_last(content, kPairs * 16);
    return digest::finish(sum);
  }
}

}  // namespace heddle::check
