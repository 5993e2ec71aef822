#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/random.h"
#include "schedule/batch.h"
#include "schedule/makespan.h"

namespace heddle::schedule {

/// The conflicts of a batch: pairs of transactions that access a key which at least one of them
/// writes.
class ConflictGraph {
 public:
  /// @throws std::invalid_argument if it would have more than 2^26 edges
  explicit ConflictGraph(const Batch& batch);

  [[nodiscard]] std::size_t size() const { return neighbours_.size(); }
  [[nodiscard]] std::size_t edge_count() const { return edges_.size(); }
  [[nodiscard]] std::span<const std::uint32_t> neighbours(std::uint32_t transaction) const {
    return neighbours_[transaction];
  }
  struct Edge {
    std::uint32_t one;
    std::uint32_t other;
  };
  [[nodiscard]] const Edge& edge(std::size_t index) const { return edges_[index]; }

 private:
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::vector<Edge> edges_;
};

/// A random walk over the serializable schedules of a batch whose stationary distribution is
/// uniform.
///
/// A serializable schedule is an acyclic orientation of the conflict graph (Cheng et al., VLDB
/// 2024, §3.4). A step of the Interval-Reversal random walk (Iriarte Giraldo, "Combinatorics of
/// acyclic orientations of graphs", MIT, 2015) draws an edge u → v and reverses all edges between
/// transactions that lie on a path from u to v. No path leaves such an interval and returns, so the
/// result is acyclic, and the same draw leads back from it: the walk is symmetric. Half of the
/// steps stay, so that it has no period.
///
/// The orientation is stored as an order compatible with it, and every step costs O(n + m).
class OrientationWalk {
 public:
  /// Begins with the order of the batch.
  /// @param graph must outlive this
  OrientationWalk(const ConflictGraph& graph, std::uint64_t seed);

  void step();

  /// An order of the transactions compatible with the present orientation of every edge.
  [[nodiscard]] const Order& order() const { return order_; }

 private:
  void mark_reachable(std::uint32_t from, std::uint32_t least, std::uint32_t most, bool forward,
                      std::uint8_t bit);

  const ConflictGraph* graph_;
  Random random_;
  Order order_;
  std::vector<std::uint32_t> place_;  // of each transaction in the order
  std::vector<std::uint8_t> marks_;
  std::vector<std::uint32_t> stack_;
};

}  // namespace heddle::schedule
