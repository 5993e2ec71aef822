#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

/// Bytes as text in base 64 (RFC 4648, section 4).
[[nodiscard]] inline std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kGroup = 3;
  std::string text;
  text.reserve((bytes.size() + kGroup - 1) / kGroup * 4);
  for (std::size_t at = 0; at < bytes.size(); at += kGroup) {
    std::uint32_t bits = 0;
    for (std::size_t next = 0; next < kGroup; ++next) {
      bits = bits << 8 |
             (at + next < bytes.size() ? std::to_integer<std::uint32_t>(bytes[at + next]) : 0);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      const bool padding = digit > bytes.size() - at;
      text.push_back(padding ? '=' : kDigits[bits >> (18 - 6 * digit) & 63]);
    }
  }
  return text;
}

}  // namespace heddle
