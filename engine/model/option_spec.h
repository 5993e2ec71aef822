#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

/// A value in a declaration: nothing, a number, a text, or a list of names.
using OptionValue =
    std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::string>>;

/// How the text of an option is parsed.
enum class OptionKind : std::uint8_t {
  integer,
  real,
  flag,    ///< true or false
  choice,  ///< one of a few names
  text,
  names,  ///< separated by commas
};

[[nodiscard]] constexpr std::string_view to_string(OptionKind kind) {
  switch (kind) {
    case OptionKind::integer: return "integer";
    case OptionKind::real: return "real";
    case OptionKind::flag: return "flag";
    case OptionKind::choice: return "choice";
    case OptionKind::text: return "text";
    case OptionKind::names: return "names";
  }
  return "";
}

/// The declaration of one option. Settings files, range checks and documentation pages are
/// generated from it.
struct OptionSpec {
  std::string name;
  OptionKind kind;
  OptionValue fallback = {};  ///< the default; nothing: the sentence states what holds then
  OptionValue least = {};     ///< of a number with a range
  OptionValue most = {};      ///< of a number with a range
  std::vector<OptionValue> choices = {};  ///< the only values; empty: kind and range decide
  std::string sentence;                   ///< the description shown to users
};

}  // namespace heddle
