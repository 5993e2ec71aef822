#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle {

/// A row of `Bytes` bytes, rounded up to whole words. Its first and its last word hold the same
/// number, initially 0, so that a torn read or write is detected; the words between are padding.
template <std::size_t Bytes>
struct NumberedRow {
  std::array<std::int64_t, (Bytes + 7) / 8> words;

  [[nodiscard]] std::int64_t number() const { return words.front(); }
  [[nodiscard]] bool torn() const { return words.front() != words.back(); }

  void add(std::int64_t change) {
    words.front() += change;
    words.back() = words.front();
  }
};

}  // namespace heddle
