#pragma once

#include <string>
#include <string_view>

namespace heddle::check {

/// A name as messages show it, on one line: control characters are escaped as in C++.
[[nodiscard]] inline std::string printable(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char one : name) {
    const auto byte = static_cast<unsigned char>(one);
    if (byte >= 0x20 && byte != 0x7f) {
      text += one;
    } else if (one == '\n') {
      text += "\\n";
    } else {
      text += "\\x";
      text += kDigits[byte >> 4];
      text += kDigits[byte & 0xf];
    }
  }
  return text;
}

}  // namespace heddle::check
