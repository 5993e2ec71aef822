#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/option_spec.h"

namespace heddle {

/// Options as a command line or a configuration file passes them: names and texts.
using OptionMap = std::map<std::string, std::string>;

/// Converts an OptionMap to typed values and records the declarations that its calls make. Every
/// error is a std::invalid_argument that names the key, the value given and what is allowed.
///
/// Each call declares one option: its key, its default (what `value` holds), its range and its
/// description. It stores the map's value for the key in `value`. Declare each option once, then
/// call `finish`, which rejects keys that no call has declared.
class OptionReader {
 public:
  /// `owner` is what the options belong to, for messages: "tpcc".
  OptionReader(std::string owner, const OptionMap& options)
      : owner_(std::move(owner)), options_(options) {}

  /// An integer in [least, most].
  template <std::integral T>
  void integer(const std::string& key, T& value, std::int64_t least, std::int64_t most,
               const std::string& sentence) {
    std::optional<T> given = value;
    integer(key, given, least, most, sentence);
    value = *given;
  }
  /// The same without a default.
  template <std::integral T>
  void integer(const std::string& key, std::optional<T>& value, std::int64_t least,
               std::int64_t most, const std::string& sentence) {
    std::optional<std::int64_t> number;
    if (value.has_value()) number = static_cast<std::int64_t>(*value);
    read_number(key, OptionKind::integer, number, least, most, sentence);
    if (number.has_value()) value = static_cast<T>(*number);
  }

  /// A real number in [least, most].
  void real(const std::string& key, double& value, double least, double most,
            const std::string& sentence) {
    std::optional<double> given = value;
    real(key, given, least, most, sentence);
    value = *given;
  }
  /// The same without a default.
  void real(const std::string& key, std::optional<double>& value, double least, double most,
            const std::string& sentence) {
    read_number(key, OptionKind::real, value, least, most, sentence);
  }

  /// One of several names, each of which stands for a value.
  template <class T>
  void choice(const std::string& key, T& value,
              std::initializer_list<std::pair<std::string_view, std::type_identity_t<T>>> allowed,
              const std::string& sentence) {
    std::vector<std::string_view> names;
    std::string name;
    for (const auto& [each, meaning] : allowed) {
      names.push_back(each);
      if (meaning == value) name = each;
    }
    choose(key, OptionKind::choice, name, names, sentence);
    for (const auto& [each, meaning] : allowed) {
      if (each == name) value = meaning;
    }
  }
  /// One of several names.
  void choice(const std::string& key, std::string& value,
              const std::vector<std::string_view>& allowed, const std::string& sentence) {
    choose(key, OptionKind::choice, value, allowed, sentence);
  }

  /// `true` or `false`, without a default.
  void flag(const std::string& key, std::optional<bool>& value, const std::string& sentence) {
    std::string name;
    choose(key, OptionKind::flag, name, {"true", "false"}, sentence);
    if (!name.empty()) value = name == "true";
  }

  /// Any text.
  void text(const std::string& key, std::string& value, const std::string& sentence) {
    const std::string* text = declare({.name = key,
                                       .kind = OptionKind::text,
                                       .fallback = text_or_nothing(value),
                                       .sentence = sentence});
    if (text != nullptr) value = *text;
  }

  /// Names separated by commas.
  void names(const std::string& key, std::vector<std::string>& value, const std::string& sentence) {
    const std::string* text =
        declare({.name = key, .kind = OptionKind::names, .fallback = value, .sentence = sentence});
    if (text == nullptr) return;
    value.clear();
    std::istringstream list(*text);
    for (std::string name; std::getline(list, name, ',');) value.push_back(name);
  }

  /// Rejects keys that were not declared, and lists the declared ones.
  void finish() const {
    for (const auto& [key, text] : options_) {
      const bool known =
          std::any_of(specs_.begin(), specs_.end(),
                      [&key = key](const OptionSpec& one) { return one.name == key; });
      if (known) continue;
      std::vector<std::string> names;
      for (const OptionSpec& one : specs_) names.push_back(one.name);
      throw std::invalid_argument(owner_ + ": unknown option '" + key + "' (given '" + text +
                                  "'); valid options: " + join(names));
    }
  }

  /// Rejects a value that parses but conflicts with others.
  [[noreturn]] void reject(const std::string& key, const std::string& given,
                           const std::string& allowed) const {
    throw std::invalid_argument(owner_ + ": option '" + key + "' is '" + given +
                                "'; allowed: " + allowed);
  }

  /// The declarations so far, in order.
  [[nodiscard]] const std::vector<OptionSpec>& specs() const { return specs_; }

 private:
  /// Records the declaration. Returns the map's text for it, or nullptr.
  const std::string* declare(OptionSpec spec) {
    specs_.push_back(std::move(spec));
    const auto found = options_.find(specs_.back().name);
    return found == options_.end() ? nullptr : &found->second;
  }

  void choose(const std::string& key, OptionKind kind, std::string& value,
              const std::vector<std::string_view>& allowed, const std::string& sentence) {
    OptionSpec spec{
        .name = key, .kind = kind, .fallback = text_or_nothing(value), .sentence = sentence};
    for (const std::string_view name : allowed) spec.choices.emplace_back(std::string(name));
    const std::string* text = declare(std::move(spec));
    if (text == nullptr) return;
    if (std::find(allowed.begin(), allowed.end(), *text) == allowed.end()) {
      reject(key, *text, "one of " + join(allowed));
    }
    value = *text;
  }

  template <class T>
  void read_number(const std::string& key, OptionKind kind, std::optional<T>& value, T least,
                   T most, const std::string& sentence) {
    OptionSpec spec{.name = key, .kind = kind, .least = least, .most = most, .sentence = sentence};
    if (value.has_value()) spec.fallback = *value;
    const std::string* text = declare(std::move(spec));
    if (text == nullptr) return;
    T number{};
    const char* end = text->data() + text->size();
    const auto [stopped_at, error] = std::from_chars(text->data(), end, number);
    // Written so that NaN is rejected as well.
    if (error != std::errc{} || stopped_at != end || !(number >= least && number <= most)) {
      std::ostringstream range;
      range << (kind == OptionKind::integer ? "an integer" : "a number") << " from " << least
            << " to " << most;
      reject(key, *text, range.str());
    }
    value = number;
  }

  static OptionValue text_or_nothing(const std::string& text) {
    return text.empty() ? OptionValue() : OptionValue(text);
  }

  template <class Range>
  static std::string join(const Range& items) {
    std::ostringstream list;
    const char* separator = "";
    for (const auto& item : items) {
      list << separator << item;
      separator = ", ";
    }
    return list.str();
  }

  std::string owner_;
  const OptionMap& options_;
  std::vector<OptionSpec> specs_;
};

/// Reads from a map the options of a type whose `read` declares each of them.
template <class Options>
[[nodiscard]] Options read_options(OptionReader& reader) {
  Options options;
  options.read(reader);
  reader.finish();
  return options;
}

/// The declarations of such a type.
template <class Options>
[[nodiscard]] std::vector<OptionSpec> specs_of() {
  const OptionMap nothing;
  OptionReader reader("", nothing);
  Options().read(reader);
  return reader.specs();
}

}  // namespace heddle
