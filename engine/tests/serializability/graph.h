#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace heddle::serializability {

/// Why one transaction must come before another (Adya, 1999).
enum class Why : std::uint8_t {
  ww,         ///< the other overwrote its version
  wr,         ///< the other read its version
  rw,         ///< the other overwrote what it read
  predicate,  ///< the other inserted what it looked for and did not find
};

struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Why why = Why::ww;
  std::uint32_t item = 0;
};

/// A directed graph in two arrays; built once from its edges.
class Graph {
 public:
  Graph(std::size_t nodes, const std::vector<Edge>& edges) : first_(nodes + 1, 0) {
    for (const Edge& edge : edges) ++first_[edge.from + 1];
    for (std::size_t node = 0; node < nodes; ++node) first_[node + 1] += first_[node];
    edges_.resize(edges.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const Edge& edge : edges) edges_[next[edge.from]++] = edge;
  }

  [[nodiscard]] std::size_t nodes() const { return first_.size() - 1; }
  [[nodiscard]] const Edge* begin(std::uint32_t node) const { return edges_.data() + first_[node]; }
  [[nodiscard]] const Edge* end(std::uint32_t node) const {
    return edges_.data() + first_[node + 1];
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<Edge> edges_;
};

/// Tarjan's strongly connected components, without recursion: linear in nodes and edges.
class Components {
 public:
  explicit Components(const Graph& graph)
      : graph_(graph),
        component_(graph.nodes(), kNone),
        index_(graph.nodes(), kNone),
        low_(graph.nodes(), 0) {
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
      if (index_[node] == kNone) visit(node);
    }
  }

  /// Components are numbered against the direction of the edges between them.
  [[nodiscard]] std::uint32_t of(std::uint32_t node) const { return component_[node]; }
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& cyclic() const { return cyclic_; }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Frame {
    std::uint32_t node;
    const Edge* next;
  };

  void open(std::uint32_t node) {
    index_[node] = low_[node] = counter_++;
    stack_.push_back(node);
    frames_.push_back({node, graph_.begin(node)});
  }

  void visit(std::uint32_t root) {
    open(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const std::uint32_t node = frame.node;
      if (frame.next != graph_.end(node)) {
        const std::uint32_t to = (frame.next++)->to;
        if (index_[to] == kNone) {
          open(to);
        } else if (component_[to] == kNone) {
          low_[node] = std::min(low_[node], index_[to]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) {
        const std::uint32_t parent = frames_.back().node;
        low_[parent] = std::min(low_[parent], low_[node]);
      }
      if (low_[node] == index_[node]) close(node);
    }
  }

  void close(std::uint32_t root) {
    std::vector<std::uint32_t> members;
    std::uint32_t node = kNone;
    do {
      node = stack_.back();
      stack_.pop_back();
      component_[node] = count_;
      members.push_back(node);
    } while (node != root);
    ++count_;
    if (members.size() > 1) cyclic_.push_back(std::move(members));
  }

  const Graph& graph_;
  std::vector<std::uint32_t> component_;
  std::vector<std::uint32_t> index_;
  std::vector<std::uint32_t> low_;
  std::vector<std::uint32_t> stack_;
  std::vector<Frame> frames_;
  std::vector<std::vector<std::uint32_t>> cyclic_;
  std::uint32_t counter_ = 0;
  std::uint32_t count_ = 0;
};

/// A shortest path by breadth-first search over the nodes and edges that `admit(edge)` lets pass,
/// giving up after `budget` nodes. Empty: none found. Serves many searches of one graph.
class PathFinder {
 public:
  explicit PathFinder(const Graph& graph) : graph_(graph), seen_(graph.nodes(), 0) {}

  template <class Admit>
  std::vector<Edge> find(std::uint32_t from, std::uint32_t to, std::size_t budget, Admit admit) {
    ++round_;
    queue_.assign(1, {from, 0, nullptr});
    seen_[from] = round_;
    for (std::size_t at = 0; at < queue_.size() && at < budget; ++at) {
      const std::uint32_t node = queue_[at].node;
      for (const Edge* edge = graph_.begin(node); edge != graph_.end(node); ++edge) {
        if (!admit(*edge)) continue;
        if (edge->to == to) return path_to(at, *edge);
        if (seen_[edge->to] == round_) continue;
        seen_[edge->to] = round_;
        queue_.push_back({edge->to, at, edge});
      }
    }
    return {};
  }

 private:
  struct Visit {
    std::uint32_t node;
    std::size_t parent;
    const Edge* by;
  };

  std::vector<Edge> path_to(std::size_t at, const Edge& last) const {
    std::vector<Edge> path{last};
    for (; queue_[at].by != nullptr; at = queue_[at].parent) path.push_back(*queue_[at].by);
    std::reverse(path.begin(), path.end());
    return path;
  }

  const Graph& graph_;
  std::vector<std::uint32_t> seen_;
  std::vector<Visit> queue_;
  std::uint32_t round_ = 0;
};

}  // namespace heddle::serializability
