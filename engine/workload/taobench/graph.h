#pragma once

#include <cstdint>

namespace heddle::taobench {

/// The edges of the graph: a ring, so that they need no memory. An object's first two edges lead to
/// its neighbours and are two-way; the others lead to the next objects, one way. Of nine edges that
/// is 22 % two-way, as in TAOBench's configurations (220 of 1000).
class Graph {
 public:
  static constexpr std::uint64_t kDegree = 9;
  static constexpr std::uint64_t kTwoWay = 2;
  static constexpr std::uint64_t kFewestObjects = 17;  ///< so that no edge is another's reverse

  explicit Graph(std::uint64_t objects) : objects_(objects) {}

  [[nodiscard]] std::uint64_t objects() const { return objects_; }

  /// The target of the `edge`-th edge of an object.
  [[nodiscard]] std::uint64_t to(std::uint64_t from, std::uint64_t edge) const {
    const std::uint64_t steps = edge == 0 ? objects_ - 1 : edge;
    return (from + steps) % objects_;
  }
  /// Whether there is a reverse edge.
  [[nodiscard]] bool two_way(std::uint64_t from, std::uint64_t to) const {
    const std::uint64_t steps = (to + objects_ - from) % objects_;
    return steps == 1 || steps == objects_ - 1;
  }

 private:
  std::uint64_t objects_;
};

}  // namespace heddle::taobench
