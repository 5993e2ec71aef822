#pragma once

#include <cstdint>
#include <vector>

#include "check/graph.h"
#include "check/report.h"
#include "check/transactions.h"
#include "model/isolation.h"

namespace heddle::check {

/// The direct serialization graph under construction (Adya, 1999, §4.1), and its cycles.
class Serialization {
 public:
  Serialization(const Transactions& transactions, Findings& findings)
      : transactions_(transactions), findings_(findings), nodes_(transactions.size()) {}

  /// Adds a node that is no transaction but orders others: its predecessors come before its
  /// successors.
  /// @throws std::invalid_argument if there are more than a graph can hold
  std::uint32_t add_node();

  /// `from` comes before `to`. Does nothing if either is kNone, or they are equal.
  void add(std::uint32_t from, std::uint32_t to, Why why) {
    if (from == to || from == Transactions::kNone || to == Transactions::kNone) return;
    edges_.emplace_back(from, to, why);
  }
  void reserve(std::size_t edges) { edges_.reserve(edges); }

  /// One of the two edges holds, and it is not known which.
  void add_choice(const Edge& one, const Edge& other) { choices_.push_back({one, other}); }

  /// Finds dependencies on later transactions: on a version whose writer began when the transaction
  /// that read or overwrote it had ended. An order may explain them, but no run.
  void find_reversed();

  /// Finds the cycles that the level forbids. A choice is decided when its alternative would close
  /// one: no possible order is rejected, and every rejection comes with its cycles. Levels that
  /// permit some cycles leave the choices open.
  /// @throws std::invalid_argument if there are more nodes than a graph can hold
  void find_cycles(Isolation isolation);

  [[nodiscard]] std::size_t edges() const { return edges_.size(); }
  [[nodiscard]] std::size_t open_choices() const { return choices_.size(); }

 private:
  struct Choice {
    Edge one;
    Edge other;
  };

  [[nodiscard]] Graph graph_for(Isolation isolation) const;
  [[nodiscard]] std::vector<Edge> dependencies() const;
  [[nodiscard]] std::vector<Edge> edges_by_last_kind() const;
  [[nodiscard]] std::uint32_t transaction_of(std::uint32_t node) const;
  bool make_choices(const Graph& graph, const Components& components);
  void report_cycles(const Graph& graph, const Components& components);
  [[nodiscard]] std::vector<Edge> backward_edges(const Graph& graph, const Components& components,
                                                 const std::vector<std::uint32_t>& members,
                                                 Why least, Why most) const;
  [[nodiscard]] std::vector<Edge> shortest_cycle(PathFinder& paths, const Components& components,
                                                 const std::vector<Edge>& through, Why most) const;
  [[nodiscard]] std::vector<Edge> plainest_cycle(PathFinder& paths, const Graph& graph,
                                                 const Components& components,
                                                 const std::vector<std::uint32_t>& members) const;
  void report_cycle(const std::vector<Edge>& found, const std::string& note);
  [[nodiscard]] std::vector<Edge> of_transactions(std::vector<Edge> cycle) const;

  const Transactions& transactions_;
  Findings& findings_;
  std::uint32_t nodes_;
  std::vector<Edge> edges_;
  std::vector<Choice> choices_;
};

}  // namespace heddle::check
