#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "model/options.h"
#include "model/random.h"

namespace heddle {

/// The mix of a workload's transaction types: shares in percent, in the order of the types, each an
/// option named as the type.
template <std::size_t N>
struct Mix {
  using Names = std::array<std::string_view, N>;

  std::array<int, N> shares;

  /// Declares each share.
  void read(OptionReader& reader, const Names& names) {
    for (std::size_t i = 0; i < N; ++i) {
      reader.integer(std::string(names[i]), shares[i], 0, 100,
                     "transactions of this type, percent");
    }
  }

  /// Rejects shares that do not add up to 100.
  void validate(const OptionReader& reader, const Names& names) const {
    int sum = 0;
    std::string all;
    for (std::size_t i = 0; i < N; ++i) {
      sum += shares[i];
      all.append(i == 0 ? "" : " + ").append(names[i]);
    }
    if (sum != 100) reader.reject(all, std::to_string(sum), "shares that add up to 100");
  }

  /// Draws a type's number.
  [[nodiscard]] std::size_t draw(Random& random) const {
    auto card = static_cast<int>(random.below(100));
    std::size_t type = 0;
    while (card >= shares[type]) card -= shares[type++];
    return type;
  }
};

}  // namespace heddle
