#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

/// A value as a declaration states it: nothing, a number, a text, or a list of names.
using OptionValue =
    std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::string>>;

/// What the text of an option is read as.
enum class OptionKind : std::uint8_t {
  integer,
  real,
  flag,    ///< true or false
  choice,  ///< one of a few names
  text,
  names,  ///< with commas between them
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

/// The declaration of one option. Settings files, checks of ranges and pages of documentation are
/// made from it.
struct OptionSpec {
  std::string name;
  OptionKind kind;
  OptionValue fallback = {};              ///< the default; nothing: the sentence says what holds
  OptionValue least = {};                 ///< of a number with a range
  OptionValue most = {};                  ///< of a number with a range
  std::vector<OptionValue> choices = {};  ///< the only values; empty: the kind and range decide
  std::string sentence;                   ///< what the option does, for people
};

}  // namespace heddle
