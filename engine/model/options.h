#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace heddle {

/// Options as they arrive from a command line or a configuration file: names and texts.
using OptionMap = std::map<std::string, std::string>;

/// Turns an OptionMap into typed values. Every error is a std::invalid_argument that names the
/// key, the value given and what is allowed.
///
/// Ask for each option once, then call `finish`, which refuses the keys nobody asked for.
class OptionReader {
 public:
  /// `owner` is what the options belong to, for messages: "tpcc".
  OptionReader(std::string owner, const OptionMap& options)
      : owner_(std::move(owner)), options_(options) {}

  /// An integer in [lo, hi].
  std::int64_t integer(const std::string& key, std::int64_t fallback, std::int64_t lo,
                       std::int64_t hi) {
    return number("an integer", key, fallback, lo, hi);
  }

  /// A real number in [lo, hi].
  double real(const std::string& key, double fallback, double lo, double hi) {
    return number("a number", key, fallback, lo, hi);
  }

  /// One of a few names.
  std::string choice(const std::string& key, const std::string& fallback,
                     std::initializer_list<std::string_view> allowed) {
    const std::string* text = find(key);
    if (text == nullptr) return fallback;
    for (const std::string_view name : allowed) {
      if (*text == name) return *text;
    }
    reject(key, *text, "one of " + join(allowed));
  }

  /// One of a few integers, such as the sizes a workload was compiled for.
  std::int64_t integer_choice(const std::string& key, std::int64_t fallback,
                              std::initializer_list<std::int64_t> allowed) {
    const std::string* text = find(key);
    if (text == nullptr) return fallback;
    for (const std::int64_t value : allowed) {
      if (*text == std::to_string(value)) return value;
    }
    reject(key, *text, "one of " + join(allowed));
  }

  /// Any text; "" where the option is not given.
  std::string text(const std::string& key) {
    const std::string* text = find(key);
    return text == nullptr ? "" : *text;
  }

  /// Names with commas between them; none where the option is not given, or empty.
  std::vector<std::string> names(const std::string& key) {
    std::vector<std::string> found;
    const std::string* text = find(key);
    if (text == nullptr || text->empty()) return found;
    std::istringstream list(*text);
    for (std::string name; std::getline(list, name, ',');) found.push_back(name);
    return found;
  }

  /// Refuses keys that were never asked for, and lists those that were.
  void finish() const {
    for (const auto& [key, text] : options_) {
      bool known = false;
      for (const std::string& name : asked_) known = known || name == key;
      if (!known) {
        throw std::invalid_argument(owner_ + ": unknown option '" + key + "' (given '" + text +
                                    "'); valid options: " + join(asked_));
      }
    }
  }

  /// Refuses a value that reads well but does not fit the others.
  [[noreturn]] void reject(const std::string& key, const std::string& given,
                           const std::string& allowed) const {
    throw std::invalid_argument(owner_ + ": option '" + key + "' is '" + given +
                                "'; allowed: " + allowed);
  }

 private:
  const std::string* find(const std::string& key) {
    asked_.push_back(key);
    const auto found = options_.find(key);
    return found == options_.end() ? nullptr : &found->second;
  }

  template <class T>
  T number(const char* what, const std::string& key, T fallback, T lo, T hi) {
    const std::string* text = find(key);
    if (text == nullptr) return fallback;
    T value{};
    const char* end = text->data() + text->size();
    const auto [stopped_at, error] = std::from_chars(text->data(), end, value);
    // Written so that not-a-number is refused as well.
    if (error != std::errc{} || stopped_at != end || !(value >= lo && value <= hi)) {
      std::ostringstream range;
      range << what << " from " << lo << " to " << hi;
      reject(key, *text, range.str());
    }
    return value;
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
  std::vector<std::string> asked_;
};

}  // namespace heddle
