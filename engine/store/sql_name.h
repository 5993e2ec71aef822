#pragma once

#include <string>
#include <string_view>

namespace heddle::store {

/// A name in SQL, also one that SQL reserves.
[[nodiscard]] inline std::string in_quotes(std::string_view name) {
  std::string text = "\"";
  for (const char letter : name) text += letter == '"' ? "\"\"" : std::string(1, letter);
  return text + '"';
}

}  // namespace heddle::store
