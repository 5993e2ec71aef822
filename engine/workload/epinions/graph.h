#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/random.h"

namespace heddle::epinions {

/// A bipartite graph, such as of items and their reviewers: for each source the numbers of its
/// targets, without duplicates. The edges are drawn once and then stay, so that inputs can name
/// rows that exist.
class Graph {
 public:
  Graph() = default;

  /// @param degree draws the number of targets of a source, less one
  /// @param neighbour draws one of them
  template <class Degree, class Neighbour>
  static Graph draw(std::uint64_t size, Random& random, Degree degree, Neighbour neighbour) {
    Graph graph;
    graph.first_.reserve(static_cast<std::size_t>(size) + 1);
    graph.first_.push_back(0);
    for (std::uint64_t one = 0; one < size; ++one) {
      const std::size_t begin = graph.others_.size();
      const std::size_t count = static_cast<std::size_t>(degree(random)) + 1;
      while (graph.others_.size() < begin + count) {
        const auto drawn = static_cast<std::uint32_t>(neighbour(random));
        const auto from = graph.others_.begin() + static_cast<std::ptrdiff_t>(begin);
        if (std::find(from, graph.others_.end(), drawn) == graph.others_.end()) {
          graph.others_.push_back(drawn);
        }
      }
      graph.first_.push_back(graph.others_.size());
    }
    return graph;
  }

  /// At least one.
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint64_t one) const {
    const auto at = static_cast<std::size_t>(one);
    return std::span(others_).subspan(first_[at], first_[at + 1] - first_[at]);
  }
  [[nodiscard]] std::size_t edges() const { return others_.size(); }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> others_;
};

}  // namespace heddle::epinions
