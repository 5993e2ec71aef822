#pragma once

#include <bit>
#include <cstdint>

#include "storage/key.h"

namespace heddle::shop {

/// Keys of cart lines: visit, then product, in one word. A visit is a session in a round.
class CartKeys {
 public:
  explicit CartKeys(std::uint64_t products)
      : product_bits_(static_cast<int>(std::bit_width(products))) {}

  [[nodiscard]] Key1 key(std::uint64_t visit, std::uint64_t product) const {
    return make_key(visit << product_bits_ | product);
  }
  [[nodiscard]] Key1 first(std::uint64_t visit) const { return key(visit, 0); }
  [[nodiscard]] Key1 last(std::uint64_t visit) const { return key(visit, mask()); }

  [[nodiscard]] std::uint64_t product_of(const Key1& key) const { return key.words[0] & mask(); }
  [[nodiscard]] std::uint64_t visit_of(const Key1& key) const {
    return key.words[0] >> product_bits_;
  }

 private:
  [[nodiscard]] std::uint64_t mask() const { return (std::uint64_t{1} << product_bits_) - 1; }

  int product_bits_;  ///< 33 at most: rows have 32 bits
};

}  // namespace heddle::shop
