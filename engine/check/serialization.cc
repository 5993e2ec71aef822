#include "check/serialization.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace heddle::check {

namespace {

/// Rounds of deciding choices: each may force others.
constexpr int kRounds = 8;
/// The number of nodes after which a search for the path that a choice would close gives up.
constexpr std::size_t kSearchBudget = 400;
/// The number of a component's edges through which its shortest cycle is searched for,
constexpr std::ptrdiff_t kStarts = 200;
/// and the number of nodes visited for it, once a cycle is found.
constexpr std::size_t kMostVisited = 20'000'000;

}  // namespace

std::uint32_t Serialization::add_node() {
  if (nodes_ + 1 >= Edge::kMostNodes) {
    throw std::invalid_argument(
        "a history is too long to be checked: its graph has too many nodes");
  }
  return nodes_++;
}

void Serialization::find_reversed() {
  // Nodes are accessed in random order, so they are prefetched.
  constexpr std::size_t kAhead = 12;
  const auto is_one = [this](std::uint32_t node) { return node < transactions_.size(); };
  for (std::size_t at = 0; at < edges_.size() && !findings_.full(); ++at) {
    if (at + 2 * kAhead < edges_.size()) {
      const Edge& later = edges_[at + 2 * kAhead];
      if (is_one(later.from())) transactions_.prefetch_node(later.from());
      if (is_one(later.to())) transactions_.prefetch_node(later.to());
    }
    if (at + kAhead < edges_.size()) {
      const Edge& later = edges_[at + kAhead];
      if (is_one(later.from())) transactions_.prefetch_attempt(later.from());
      if (is_one(later.to())) transactions_.prefetch_attempt(later.to());
    }
    const Edge& edge = edges_[at];
    if (edge.why() > Why::wr || !is_one(edge.from()) || !is_one(edge.to())) continue;
    if (transactions_.attempt(edge.from()).began <= transactions_.attempt(edge.to()).ended)
      continue;
    const Words& words = findings_.words();
    findings_.add("contradiction",
                  words.name(edge.to()) + " depends on " + words.name(edge.from()) +
                      ", which began when it had ended\n" + words.cycle({edge}),
                  {edge.from(), edge.to()});
  }
}

void Serialization::find_cycles(Isolation isolation) {
  for (int round = 0; round < kRounds; ++round) {
    const Graph graph = graph_for(isolation);
    const Components components(graph);
    if (!components.cyclic().empty()) return report_cycles(graph, components);
    if (isolation != Isolation::serializable) return;
    if (choices_.empty() || !make_choices(graph, components)) return;
  }
}

/// A graph whose cycles are those that the level forbids.
Graph Serialization::graph_for(Isolation isolation) const {
  switch (isolation) {
    case Isolation::serializable: break;
    case Isolation::snapshot: return {2 * std::size_t{nodes_}, edges_by_last_kind()};
    case Isolation::read_committed: return {nodes_, dependencies()};
  }
  return {nodes_, edges_};
}

std::vector<Edge> Serialization::dependencies() const {
  std::vector<Edge> edges;
  std::copy_if(edges_.begin(), edges_.end(), std::back_inserter(edges),
               [](const Edge& edge) { return !edge.is_anti(); });
  return edges;
}

/// Each node twice: as reached by a dependency, and, `nodes_` later, as reached by an
/// anti-dependency, from which only a dependency leads on. The edges after a node that is no
/// transaction belong to the edge before it.
std::vector<Edge> Serialization::edges_by_last_kind() const {
  if (2 * std::uint64_t{nodes_} >= Edge::kMostNodes) {
    throw std::invalid_argument(
        "a history is too long to be checked for snapshot isolation: its graph has too many nodes");
  }
  std::vector<Edge> edges;
  edges.reserve(2 * edges_.size());
  for (const Edge& edge : edges_) {
    const std::uint32_t from = edge.from();
    const std::uint32_t to = edge.to();
    if (edge.is_anti()) {
      edges.emplace_back(from, to + nodes_, edge.why());
      continue;
    }
    const bool goes_on = from >= transactions_.size();
    edges.emplace_back(from, to, edge.why());
    edges.emplace_back(from + nodes_, goes_on ? to + nodes_ : to, edge.why());
  }
  return edges;
}

/// The transaction of a node of any graph_for(); kNone if it is none.
std::uint32_t Serialization::transaction_of(std::uint32_t node) const {
  const std::uint32_t one = node < nodes_ ? node : node - nodes_;
  return one < transactions_.size() ? one : Transactions::kNone;
}

/// Adds every edge whose alternative would close a cycle. Returns false if there was none.
bool Serialization::make_choices(const Graph& graph, const Components& components) {
  PathFinder paths(graph);
  const auto back = [&](const Edge& edge) -> std::vector<Edge> {
    // Components are numbered against the edges: a path leads to smaller numbers only.
    const std::uint32_t floor = components.of(edge.from());
    if (components.of(edge.to()) < floor) return {};
    return paths.find(
        edge.to(), edge.from(), kSearchBudget,
        [&](std::uint32_t, std::uint32_t to, Why) { return components.of(to) >= floor; });
  };
  const std::size_t before = choices_.size();
  std::vector<Choice> open;
  for (const Choice& choice : choices_) {
    std::vector<Edge> one = back(choice.one);
    std::vector<Edge> other = back(choice.other);
    if (one.empty() && other.empty()) {
      open.push_back(choice);
    } else if (one.empty() || other.empty()) {
      edges_.push_back(one.empty() ? choice.one : choice.other);
    } else {
      one.push_back(choice.one);
      other.push_back(choice.other);
      other = of_transactions(std::move(other));
      report_cycle(one, "; and if it is the other way round, " +
                            findings_.words().name_of_cycle(other) + ":\n" +
                            findings_.words().cycle(other));
    }
  }
  choices_ = std::move(open);
  return choices_.size() < before;
}

/// Reports one cycle of each component, of its most serious kind.
void Serialization::report_cycles(const Graph& graph, const Components& components) {
  PathFinder paths(graph);
  std::vector<std::uint32_t> told;  // components
  const auto tell = [&](const std::vector<std::uint32_t>& members, const std::vector<Edge>& cycle) {
    told.push_back(components.of(members.front()));
    std::vector<std::uint32_t> whole;
    for (const std::uint32_t node : members) whole.push_back(transaction_of(node));
    std::sort(whole.begin(), whole.end());
    whole.erase(std::unique(whole.begin(), whole.end()), whole.end());
    if (!whole.empty() && whole.back() == Transactions::kNone) whole.pop_back();
    report_cycle(cycle, "; in a component of " + std::to_string(whole.size()));
  };
  // G0 and G1c: cycles without an anti-dependency are components of the graph without those.
  for (const Why most : {Why::ww, Why::wr}) {
    const Components graver(graph, most);
    for (const auto& members : graver.cyclic()) {
      if (findings_.full()) return;
      const std::uint32_t component = components.of(members.front());
      if (std::find(told.begin(), told.end(), component) != told.end()) continue;
      tell(members, shortest_cycle(paths, graver,
                                   backward_edges(graph, graver, members, Why::ww, most), most));
    }
  }
  for (const auto& members : components.cyclic()) {
    if (findings_.full()) return;
    const std::uint32_t component = components.of(members.front());
    if (std::find(told.begin(), told.end(), component) != told.end()) continue;
    tell(members, plainest_cycle(paths, graph, components, members));
  }
}

/// The edges of a component that lead furthest back in time. Every cycle has such an edge, and one
/// that leads back far is probably the error.
std::vector<Edge> Serialization::backward_edges(const Graph& graph, const Components& components,
                                                const std::vector<std::uint32_t>& members,
                                                Why least, Why most) const {
  std::vector<std::pair<std::int64_t, Edge>> edges;
  const std::uint32_t component = components.of(members.front());
  const auto keep_furthest = [&edges] {
    if (std::ssize(edges) <= kStarts) return;
    const auto end = edges.begin() + kStarts;
    std::nth_element(edges.begin(), end, edges.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    edges.erase(end, edges.end());
  };
  for (const std::uint32_t from : members) {
    for (std::uint64_t at = graph.begin(from); at != graph.end(from); ++at) {
      const std::uint32_t to = graph.to(at);
      const Why why = graph.why(at);
      if (why < least || why > most || components.of(to) != component) continue;
      // An edge to or from a node that is no transaction counts as leading forward in time.
      const std::uint32_t before = transaction_of(from);
      const std::uint32_t after = transaction_of(to);
      const bool known = before != Transactions::kNone && after != Transactions::kNone;
      const std::int64_t back =
          known ? static_cast<std::int64_t>(transactions_.attempt(before).began -
                                            transactions_.attempt(after).ended)
                : std::numeric_limits<std::int64_t>::min();
      edges.emplace_back(back, Edge(from, to, why));
    }
    if (std::ssize(edges) > 64 * kStarts) keep_furthest();
  }
  keep_furthest();
  std::sort(edges.begin(), edges.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Edge> furthest;
  furthest.reserve(edges.size());
  for (const auto& [back, edge] : edges) furthest.push_back(edge);
  return furthest;
}

/// The shortest cycle that closes one of these edges, by edges up to `most`. Empty: none found.
std::vector<Edge> Serialization::shortest_cycle(PathFinder& paths, const Components& components,
                                                const std::vector<Edge>& through, Why most) const {
  std::vector<Edge> shortest;
  const std::size_t enough = paths.visited() + kMostVisited;
  for (const Edge& edge : through) {
    if (paths.visited() > enough && !shortest.empty()) break;
    const std::uint32_t component = components.of(edge.to());
    std::vector<Edge> cycle =
        paths.find(edge.to(), edge.from(), std::numeric_limits<std::size_t>::max(),
                   [&](std::uint32_t, std::uint32_t to, Why why) {
                     return why <= most && components.of(to) == component;
                   });
    if (!cycle.empty()) {
      cycle.push_back(edge);
      if (shortest.empty() || cycle.size() < shortest.size()) shortest = std::move(cycle);
    }
    if (paths.visited() > enough + 4 * kMostVisited) break;
  }
  return shortest;
}

/// For a component in which each cycle has an anti-dependency: G-single, if one closes with
/// dependencies only; else G2.
std::vector<Edge> Serialization::plainest_cycle(PathFinder& paths, const Graph& graph,
                                                const Components& components,
                                                const std::vector<std::uint32_t>& members) const {
  for (const Why single : {Why::rw, Why::predicate}) {
    const auto edges = backward_edges(graph, components, members, single, single);
    auto cycle = shortest_cycle(paths, components, edges, Why::wr);
    if (!cycle.empty()) return cycle;
  }
  const auto edges = backward_edges(graph, components, members, Why::ww, Why::predicate);
  return shortest_cycle(paths, components, edges, Why::predicate);
}

void Serialization::report_cycle(const std::vector<Edge>& found, const std::string& note) {
  const std::vector<Edge> cycle = of_transactions(found);
  std::vector<std::uint32_t> members;
  members.reserve(cycle.size());
  for (const Edge& edge : cycle) members.push_back(edge.from());
  findings_.add(findings_.words().name_of_cycle(cycle),
                "cycle" + note + "\n" + findings_.words().cycle(cycle), members);
}

/// Replaces paths through nodes that are no transactions by edges. The first edge gives the reason.
std::vector<Edge> Serialization::of_transactions(std::vector<Edge> cycle) const {
  const auto begins_at = [this](const Edge& edge) { return transaction_of(edge.from()); };
  std::rotate(
      cycle.begin(),
      std::find_if(cycle.begin(), cycle.end(),
                   [&](const Edge& edge) { return begins_at(edge) != Transactions::kNone; }),
      cycle.end());
  std::vector<Edge> edges;
  for (std::size_t at = 0; at < cycle.size(); ++at) {
    const std::uint32_t from = begins_at(cycle[at]);
    if (from == Transactions::kNone) continue;
    std::size_t next = at + 1;
    while (next < cycle.size() && begins_at(cycle[next]) == Transactions::kNone) ++next;
    edges.emplace_back(from, begins_at(cycle[next % cycle.size()]), cycle[at].why());
  }
  return edges;
}

}  // namespace heddle::check
