#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <string_view>

namespace heddle {

/// A column of at most N characters, padded with spaces as SQL's CHAR(N): fixed size, compared byte
/// by byte, and concatenated without a search for its end.
template <std::size_t N>
struct Text {
  std::array<char, N> chars;

  bool operator==(const Text&) const = default;

  static constexpr Text of(std::string_view content) {
    assert(content.size() <= N);
    Text text{};
    const auto end = std::copy(content.begin(), content.end(), text.chars.begin());
    std::fill(end, text.chars.end(), ' ');
    return text;
  }

  /// The content without its padding.
  [[nodiscard]] constexpr std::string_view view() const {
    std::size_t size = N;
    while (size > 0 && chars[size - 1] == ' ') --size;
    return {chars.data(), size};
  }
};

}  // namespace heddle
