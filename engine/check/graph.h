#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace heddle::check {

/// The reason why one transaction must come before another (Adya, 1999, §3.2).
enum class Why : std::uint8_t {
  ww,         ///< the other overwrote its version
  wr,         ///< the other read its version
  rw,         ///< the other overwrote what it read
  predicate,  ///< the other inserted or deleted a row that a range of its contained or missed
};

/// An edge of the direct serialization graph, in eight bytes: histories have hundreds of millions.
class Edge {
 public:
  static constexpr std::uint32_t kMostNodes = std::uint32_t{1} << 30;

  Edge() = default;
  Edge(std::uint32_t from, std::uint32_t to, Why why)
      : from_(from), to_(to | static_cast<std::uint32_t>(why) << kWhyShift) {}

  [[nodiscard]] std::uint32_t from() const { return from_; }
  [[nodiscard]] std::uint32_t to() const { return to_ & (kMostNodes - 1); }
  [[nodiscard]] Why why() const { return static_cast<Why>(to_ >> kWhyShift); }
  /// Whether it is an anti-dependency: the other overwrote what the transaction saw.
  [[nodiscard]] bool is_anti() const { return why() > Why::wr; }
  [[nodiscard]] std::uint32_t packed_to() const { return to_; }

 private:
  static constexpr int kWhyShift = 30;
  std::uint32_t from_ = 0;
  std::uint32_t to_ = 0;
};

/// A directed graph, built once from its edges: for each node the start of its edges, and their
/// targets.
class Graph {
 public:
  Graph(std::size_t nodes, const std::vector<Edge>& edges) : first_(nodes + 1, 0) {
    // Nodes are accessed in random order, so they are prefetched.
    constexpr std::size_t kAhead = 16;
    for (std::size_t at = 0; at < edges.size(); ++at) {
      if (at + kAhead < edges.size()) __builtin_prefetch(&first_[edges[at + kAhead].from()], 1);
      ++first_[edges[at].from()];
    }
    std::uint64_t before = 0;
    for (std::uint64_t& at : first_) before += std::exchange(at, before);
    to_.resize(edges.size());
    for (std::size_t at = 0; at < edges.size(); ++at) {
      if (at + 2 * kAhead < edges.size()) {
        __builtin_prefetch(&first_[edges[at + 2 * kAhead].from()], 1);
        __builtin_prefetch(&to_[first_[edges[at + kAhead].from()]], 1);
      }
      to_[first_[edges[at].from()]++] = edges[at].packed_to();
    }
    // Each start has moved to the next one's.
    for (std::size_t node = nodes; node > 0; --node) first_[node] = first_[node - 1];
    first_[0] = 0;
  }

  [[nodiscard]] std::size_t nodes() const { return first_.size() - 1; }
  [[nodiscard]] std::uint64_t begin(std::uint32_t node) const { return first_[node]; }
  [[nodiscard]] std::uint64_t end(std::uint32_t node) const {
    return first_[std::size_t{node} + 1];
  }
  /// The target and the reason of the edge at this position.
  [[nodiscard]] std::uint32_t to(std::uint64_t at) const {
    return to_[at] & (Edge::kMostNodes - 1);
  }
  [[nodiscard]] Why why(std::uint64_t at) const { return static_cast<Why>(to_[at] >> 30); }

 private:
  std::vector<std::uint64_t> first_;
  std::vector<std::uint32_t> to_;
};

/// The strongly connected components of a graph (Tarjan, 1972), without recursion: linear in nodes
/// and edges.
class Components {
 public:
  /// @param most edges for reasons beyond this one are ignored
  explicit Components(const Graph& graph, Why most = Why::predicate)
      : graph_(graph), most_(most), marks_(graph.nodes()) {
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
      if (marks_[node].index == kNone) visit(node);
    }
    stack_ = {};
    frames_ = {};
  }

  /// Components are numbered against the direction of the edges between them.
  [[nodiscard]] std::uint32_t of(std::uint32_t node) const { return marks_[node].component; }
  /// Components of more than one node.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& cyclic() const { return cyclic_; }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Mark {
    std::uint32_t index = kNone;
    std::uint32_t low = 0;
    std::uint32_t component = kNone;
  };
  struct Frame {
    std::uint32_t node;
    std::uint64_t next;
  };

  void open(std::uint32_t node) {
    // The targets of its edges are needed soon.
    constexpr std::uint64_t kAtOnce = 8;
    const std::uint64_t begin = graph_.begin(node);
    const std::uint64_t end = std::min(graph_.end(node), begin + kAtOnce);
    for (std::uint64_t edge = begin; edge < end; ++edge) {
      __builtin_prefetch(&marks_[graph_.to(edge)], 1);
    }
    marks_[node].index = marks_[node].low = counter_++;
    stack_.push_back(node);
    frames_.push_back({node, begin});
  }

  void visit(std::uint32_t root) {
    open(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      Mark& mark = marks_[frame.node];
      if (frame.next != graph_.end(frame.node)) {
        const Why why = graph_.why(frame.next);
        const std::uint32_t to = graph_.to(frame.next++);
        if (why > most_) continue;
        if (marks_[to].index == kNone) {
          open(to);
        } else if (marks_[to].component == kNone) {
          mark.low = std::min(mark.low, marks_[to].index);
        }
        continue;
      }
      const std::uint32_t node = frame.node;
      frames_.pop_back();
      if (!frames_.empty()) {
        Mark& parent = marks_[frames_.back().node];
        parent.low = std::min(parent.low, mark.low);
      }
      if (mark.low == mark.index) close(node);
    }
  }

  void close(std::uint32_t root) {
    const std::size_t end = stack_.size();
    std::size_t begin = end;
    do {
      marks_[stack_[--begin]].component = count_;
    } while (stack_[begin] != root);
    ++count_;
    if (end - begin > 1) {
      cyclic_.emplace_back(stack_.begin() + static_cast<std::ptrdiff_t>(begin), stack_.end());
    }
    stack_.resize(begin);
  }

  const Graph& graph_;
  Why most_;
  std::vector<Mark> marks_;
  std::vector<std::uint32_t> stack_;
  std::vector<Frame> frames_;
  std::vector<std::vector<std::uint32_t>> cyclic_;
  std::uint32_t counter_ = 0;
  std::uint32_t count_ = 0;
};

/// A shortest path by breadth-first search over the edges that `admit(from, to, why)` accepts,
/// giving up after `budget` nodes. Empty: none found. Serves many searches of one graph.
class PathFinder {
 public:
  explicit PathFinder(const Graph& graph) : graph_(graph), seen_(graph.nodes(), 0) {}

  template <class Admit>
  std::vector<Edge> find(std::uint32_t from, std::uint32_t to, std::size_t budget, Admit admit) {
    ++round_;
    queue_.assign(1, {from, 0, Why::ww});
    seen_[from] = round_;
    for (std::size_t at = 0; at < queue_.size() && at < budget; ++at, ++visited_) {
      const std::uint32_t node = queue_[at].node;
      for (std::uint64_t edge = graph_.begin(node); edge != graph_.end(node); ++edge) {
        const std::uint32_t next = graph_.to(edge);
        const Why why = graph_.why(edge);
        if (!admit(node, next, why)) continue;
        if (next == to) return path_to(at, {node, next, why});
        if (seen_[next] == round_) continue;
        seen_[next] = round_;
        queue_.push_back({next, at, why});
      }
    }
    return {};
  }

  /// Nodes visited by all searches so far.
  [[nodiscard]] std::size_t visited() const { return visited_; }

 private:
  struct Visit {
    std::uint32_t node;
    std::size_t parent;
    Why by;
  };

  [[nodiscard]] std::vector<Edge> path_to(std::size_t at, const Edge& last) const {
    std::vector<Edge> path{last};
    for (; at != 0; at = queue_[at].parent) {
      path.emplace_back(queue_[queue_[at].parent].node, queue_[at].node, queue_[at].by);
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  const Graph& graph_;
  std::vector<std::uint32_t> seen_;
  std::vector<Visit> queue_;
  std::uint32_t round_ = 0;
  std::size_t visited_ = 0;
};

}  // namespace heddle::check
