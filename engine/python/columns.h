#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>

#include "model/hints.h"

/// Converts the engine's vectors to numpy arrays: copies.
namespace heddle {

template <typename T>
pybind11::array_t<T> to_array(const std::vector<T>& values) {
  return pybind11::array_t<T>(static_cast<pybind11::ssize_t>(values.size()), values.data());
}

/// The states and the keys of hints.
inline std::pair<pybind11::array_t<std::uint32_t>, pybind11::array_t<std::uint64_t>> columns(
    const std::vector<Hint>& hints) {
  std::vector<std::uint32_t> states;
  std::vector<std::uint64_t> keys;
  for (const Hint& hint : hints) {
    states.push_back(static_cast<std::uint32_t>(hint.state));
    keys.push_back(hint.key);
  }
  return {to_array(states), to_array(keys)};
}

}  // namespace heddle
