#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heddle::check {

namespace digest {

inline constexpr std::uint64_t kGolden = 0x9e37'79b9'7f4a'7c15ULL;
__extension__ using Wide = unsigned __int128;

[[nodiscard, gnu::always_inline]] inline std::uint64_t multiplied(std::uint64_t a,
                                                                  std::uint64_t b) {
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Updates a checksum with eight more bytes of the content: CRC-32C where the processor has an
/// instruction for it, as all x86-64 processors made since 2009. The instruction is named in
/// assembly, because otherwise the whole build would have to require those. A digest is only
/// compared with others of its run.
[[nodiscard, gnu::always_inline]] inline std::uint64_t and_word(std::uint64_t sum,
                                                                const std::byte* content) {
  std::uint64_t word = 0;
  std::memcpy(&word, content, sizeof(word));
#if defined(__x86_64__)
  __asm__("crc32q %1, %0" : "+r"(sum) : "rm"(word));
  return sum;
#else
  return multiplied(sum ^ word, kGolden) & 0xffff'ffff;
#endif
}

/// The instruction waits for its predecessor; of a longer content, this many are in flight at once.
inline constexpr std::size_t kLanes = 4;
inline constexpr std::size_t kShort = 8;  ///< words

[[nodiscard, gnu::always_inline]] inline std::uint64_t and_words(std::uint64_t sum,
                                                                 const std::byte* content,
                                                                 std::size_t words) {
  for (std::size_t at = 0; at < words; ++at) sum = and_word(sum, content + 8 * at);
  return sum;
}

[[nodiscard, gnu::always_inline]] inline std::uint32_t of_words(const std::byte* content,
                                                                std::size_t words) {
  if (words <= kShort) return static_cast<std::uint32_t>(and_words(words, content, words));
  std::array<std::uint64_t, kLanes> lanes{words};
  const std::size_t rounds = words / kLanes;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::uint64_t& lane : lanes) {
      lane = and_word(lane, content);
      content += 8;
    }
  }
  lanes[0] = and_words(lanes[0], content, words % kLanes);
  // A checksum of the checksums would not change when words are exchanged: it is linear.
  const std::uint64_t both =
      multiplied((lanes[0] | lanes[1] << 32) + kGolden, lanes[2] ^ lanes[3] << 32 ^ kGolden);
  return static_cast<std::uint32_t>(both ^ both >> 32);
}

}  // namespace digest

/// 32 bits that distinguish two contents of the same length (a multiple of 8 bytes).
[[nodiscard]] inline std::uint32_t digest_of(const void* content, std::size_t bytes) noexcept {
  return digest::of_words(static_cast<const std::byte*>(content), bytes / 8);
}

/// The same for a content of constant length: without a loop if it is short.
template <std::size_t kBytes>
[[nodiscard]] std::uint32_t digest_of_prefix(const void* content) noexcept {
  if constexpr (kBytes / 8 > 4 * digest::kLanes) {
    return digest_of(content, kBytes);
  } else {
    return digest::of_words(static_cast<const std::byte*>(content), kBytes / 8);
  }
}

}  // namespace heddle::check
