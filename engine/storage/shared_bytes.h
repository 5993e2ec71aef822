#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace heddle::shared_bytes {

/// The payload of a record is copied while another core may be overwriting it. Readers detect that
/// by comparing the record's TID word before and after, so the copy may be torn; but its loads must
/// stay between those of the TID word, and a writer's stores after the lock.
///
/// On x86-64 sixteen bytes are copied at a time: loads are not reordered with loads, nor stores
/// with stores, and each eight-byte half is read and written as a whole. The instruction is named
/// in assembly because no atomic type stands for it. Under ThreadSanitizer atomic words are used
/// instead.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool kWide = true;

[[gnu::always_inline]] inline void load_wide(std::byte* to, const std::byte* from) noexcept {
  __m128i content;
  __asm__ volatile("movdqu %1, %0"
                   : "=x"(content)
                   : "m"(*reinterpret_cast<const __m128i_u*>(from)));
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to), content);
}

[[gnu::always_inline]] inline void store_wide(std::byte* to, const std::byte* from) noexcept {
  const __m128i content = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from));
  __asm__ volatile("movdqu %1, %0" : "=m"(*reinterpret_cast<__m128i_u*>(to)) : "x"(content));
}

/// A compiler barrier; the processor keeps this order by itself.
[[gnu::always_inline]] inline void keep_order() noexcept { __asm__ volatile("" ::: "memory"); }
#else
inline constexpr bool kWide = false;

inline void load_wide(std::byte* /*to*/, const std::byte* /*from*/) noexcept {}
inline void store_wide(std::byte* /*to*/, const std::byte* /*from*/) noexcept {}
inline void keep_order() noexcept {}
#endif

/// acquire keeps what follows after the load.
[[gnu::always_inline]] inline void load_word(std::byte* to, const std::byte* from) noexcept {
  auto* word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(from));
  const std::uint64_t value = std::atomic_ref(*word).load(std::memory_order_acquire);
  std::memcpy(to, &value, sizeof(value));
}

/// release keeps the store after what precedes it.
[[gnu::always_inline]] inline void store_word(std::byte* to, const std::byte* from) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, from, sizeof(value));
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to)).store(value, std::memory_order_release);
}

/// Calls wide(at) and word(at) for the parts of `bytes`, a multiple of 8.
template <class Wide, class Word>
[[gnu::always_inline]] inline void in_parts(std::size_t bytes, Wide wide, Word word) {
  std::size_t at = 0;
  if constexpr (kWide) {
    for (; at + 64 <= bytes; at += 64) {
      wide(at);
      wide(at + 16);
      wide(at + 32);
      wide(at + 48);
    }
    if ((bytes & 32) != 0) {
      wide(at);
      wide(at + 16);
      at += 32;
    }
    if ((bytes & 16) != 0) {
      wide(at);
      at += 16;
    }
    if ((bytes & 8) != 0) word(at);
  } else {
    for (; at < bytes; at += sizeof(std::uint64_t)) word(at);
  }
}

/// Copies out of memory that another core may be writing.
[[gnu::always_inline]] inline void load(void* to, const std::byte* from,
                                        std::size_t bytes) noexcept {
  auto* const target = static_cast<std::byte*>(to);
  keep_order();
  in_parts(
      bytes, [&](std::size_t at) { load_wide(target + at, from + at); },
      [&](std::size_t at) { load_word(target + at, from + at); });
  keep_order();
}

/// Copies into memory that other cores may be reading.
[[gnu::always_inline]] inline void store(std::byte* to, const void* from,
                                         std::size_t bytes) noexcept {
  const auto* const source = static_cast<const std::byte*>(from);
  keep_order();
  in_parts(
      bytes, [&](std::size_t at) { store_wide(to + at, source + at); },
      [&](std::size_t at) { store_word(to + at, source + at); });
  keep_order();
}

}  // namespace heddle::shared_bytes
