#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "storage/storage.h"
#include "store/connection.h"

/// How the engine's rows are laid out in an external store: keys whose bytes order as their words
/// do, and values that end with the version that wrote them.
namespace heddle::external {

inline constexpr std::size_t kVersionBytes = sizeof(std::uint64_t);

/// A word in the byte order of keys, and back.
[[nodiscard]] inline std::uint64_t big_endian(std::uint64_t word) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}

/// A key as a store has it.
class KeyBytes {
 public:
  static constexpr std::size_t kMostWords = 8;

  explicit KeyBytes(std::span<const std::uint64_t> words) : count_(words.size()) {
    assert(words.size() <= kMostWords);
    for (std::size_t at = 0; at < words.size(); ++at) words_[at] = big_endian(words[at]);
  }
  /// All bits of every word are `ones`: the lowest and the highest key.
  KeyBytes(std::size_t words, bool ones) : count_(words) {
    assert(words <= kMostWords);
    words_.fill(ones ? ~std::uint64_t{0} : 0);
  }

  [[nodiscard]] store::Bytes bytes() const {
    return std::as_bytes(std::span(words_).first(count_));
  }

 private:
  std::array<std::uint64_t, kMostWords> words_;
  std::size_t count_;
};

/// The words of a key.
inline void read_key(store::Bytes key, std::uint64_t* words) {
  std::memcpy(words, key.data(), key.size());
  for (std::size_t at = 0; at < key.size() / sizeof(*words); ++at)
    words[at] = big_endian(words[at]);
}

template <class M>
[[nodiscard]] std::size_t value_bytes(const TableBase<M>& table) {
  return table.row_bytes() + kVersionBytes;
}

/// The version at the end of a value whose row has `row_bytes`.
[[nodiscard]] inline std::uint64_t version_behind(const std::byte* value, std::size_t row_bytes) {
  std::uint64_t version = 0;
  std::memcpy(&version, value + row_bytes, kVersionBytes);
  return version;
}
inline void set_version_behind(std::byte* value, std::size_t row_bytes, std::uint64_t version) {
  std::memcpy(value + row_bytes, &version, kVersionBytes);
}

}  // namespace heddle::external
