#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heddle {

template <class T>
concept Named = requires {
  { T::kName } -> std::convertible_to<std::string_view>;
};

/// A list of types, searchable by name.
template <Named... Ts>
struct Registry {
  template <class T>
  static constexpr bool lists = (std::is_same_v<T, Ts> || ...);

  /// The same list with further types at its end.
  template <Named... More>
  using With = Registry<Ts..., More...>;

  /// Calls f(T{}) for the type of that name; returns false if there is none.
  template <class F>
  static bool visit([[maybe_unused]] std::string_view name, [[maybe_unused]] F f) {
    return ((Ts::kName == name && (f(Ts{}), true)) || ...);
  }

  static std::vector<std::string> names() { return {std::string(Ts::kName)...}; }

  static std::string joined_names() {
    std::string joined;
    for (const std::string& name : names()) joined += (joined.empty() ? "" : ", ") + name;
    return joined;
  }
};

}  // namespace heddle
