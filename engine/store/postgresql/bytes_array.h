#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/connection.h"

namespace heddle::store {

/// A parameter of type bytea[], in the binary form of PostgreSQL (array_recv): a header, then the
/// length and the bytes of each element, all numbers big-endian.
class BytesArray {
 public:
  BytesArray() {
    constexpr std::uint32_t kDimensions = 1;
    constexpr std::uint32_t kHasNull = 0;
    constexpr std::uint32_t kBytea = 17;  // its number in pg_type
    constexpr std::uint32_t kFirst = 1;
    for (const std::uint32_t word : {kDimensions, kHasNull, kBytea, 0U, kFirst}) {
      bytes_.resize(bytes_.size() + sizeof(word));
      set_word(bytes_.size() - sizeof(word), word);
    }
  }

  void add(Bytes element) {
    bytes_.resize(bytes_.size() + sizeof(std::uint32_t));
    set_word(bytes_.size() - sizeof(std::uint32_t), static_cast<std::uint32_t>(element.size()));
    bytes_.insert(bytes_.end(), element.begin(), element.end());
    set_word(kCountAt, ++count_);
  }

  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kCountAt = 3 * sizeof(std::uint32_t);

  void set_word(std::size_t at, std::uint32_t word) {
    constexpr unsigned kByteBits = 8;
    for (std::size_t byte = sizeof(word); byte-- > 0; word >>= kByteBits) {
      bytes_[at + byte] = static_cast<std::byte>(word);
    }
  }

  std::vector<std::byte> bytes_;
  std::uint32_t count_ = 0;
};

}  // namespace heddle::store
