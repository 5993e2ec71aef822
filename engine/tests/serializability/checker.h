#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "serializability/graph.h"
#include "serializability/history.h"
#include "serializability/report.h"

namespace heddle::serializability {

/// Decides whether a history could have been made by running its transactions one after the other.
///
/// Each row says who wrote it and what that replaced, so the order of an item's versions is in the
/// data. A row that does not exist says nothing: its inserts and deletes make *lives*, whose order,
/// and whose place against a transaction that missed the row, come from the clock where it decides.
/// Where it does not, one of two edges holds; it is added once the other would close a cycle. So no
/// serializable history is refused, and what is refused comes with its cycle.
class Checker {
 public:
  explicit Checker(const History& history) : history_(history) {}

  /// Everything found, the first few of each kind; empty: serializable.
  std::vector<Anomaly> run() {
    number_transactions();
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) replay(node);
    link_writes();
    for (const Read& read : reads_) add_read(read);
    build_lives();
    order_lives();
    for (const Miss& miss : misses_) add_miss(miss);
    find_cycles();
    return std::move(anomalies_);
  }

  [[nodiscard]] std::size_t transactions() const { return nodes_.size(); }
  [[nodiscard]] std::size_t edges() const { return edges_.size(); }
  /// Choices the clock left open, and how many of them stayed open.
  [[nodiscard]] std::size_t choices() const { return choices_total_; }
  [[nodiscard]] std::size_t open_choices() const { return choices_.size(); }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max() / 4;
  static constexpr std::size_t kMostAnomalies = 8;
  /// How far a search for a path between two transactions goes before it gives up.
  static constexpr std::size_t kSearchBudget = 400;
  /// Lives in doubt looked at for one miss.
  static constexpr std::size_t kMostDoubts = 8;

  /// What a committed transaction left of one item.
  struct Write {
    std::uint32_t node;
    Item item;
    VersionId version;   ///< kNothing: deleted
    VersionId replaced;  ///< what was there before the transaction; kNothing: not there
    VersionId in_row;    ///< what the version says it replaced
    std::uint64_t stamp = 0;
    std::uint32_t next = kNone;  ///< the write that replaced it
  };
  struct Read {
    std::uint32_t node;
    Operation operation;
  };
  struct Miss {
    std::uint32_t node;
    Item item;
    bool by_scan;
  };
  /// A row from its insert to its delete: the clock when it began at the latest, ended at the
  /// earliest.
  struct Life {
    std::uint32_t code;
    std::uint32_t first_node;
    std::uint32_t last_node;
    std::uint64_t began_by;
    std::uint64_t ended_from;  ///< kForever: it never ended
    [[nodiscard]] std::uint64_t place() const { return began_by + ended_from; }
  };
  /// The part of the clock in which a transaction saw what it saw.
  struct Window {
    std::uint64_t from;
    std::uint64_t to;
  };
  /// One of two edges holds.
  struct Choice {
    Edge one;
    Edge other;
  };

  // ---- reading the logs ------------------------------------------------------------------------

  void number_transactions() {
    node_of_.resize(history_.size());
    for (std::size_t client = 0; client < history_.size(); ++client) {
      for (const Transaction& transaction : history_[client].transactions) {
        auto& numbers = node_of_[client];
        if (numbers.size() <= transaction.sequence) numbers.resize(transaction.sequence + 1, kNone);
        numbers[transaction.sequence] = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back(&transaction);
        // What a reader of the past saw of rows that exist tells when that past was.
        windows_.push_back({transaction.of_the_past ? 0 : transaction.began, transaction.ended});
      }
    }
    first_write_.reserve(nodes_.size() + 1);
  }

  [[nodiscard]] const ClientLog& log_of(std::uint32_t node) const {
    return history_[nodes_[node]->client];
  }

  /// The item as the transaction itself knows it.
  struct Known {
    Item item;
    VersionId before;
    VersionId now;
    VersionId in_row;
  };

  Known* known(Item item) {
    for (Known& one : known_) {
      if (one.item == item) return &one;
    }
    return nullptr;
  }

  /// Runs a transaction against its own writes, and keeps what it says about others.
  void replay(std::uint32_t node) {
    first_write_.push_back(static_cast<std::uint32_t>(writes_.size()));
    known_.clear();
    const Transaction& transaction = *nodes_[node];
    const ClientLog& log = log_of(node);
    for (std::uint64_t at = transaction.first_operation; at < transaction.end_operation; ++at) {
      replay(node, log.operations[at]);
    }
    for (const Known& own : known_) {
      // Nothing came of it, but the row must have been absent for it.
      if (own.before == kNothing && (own.now == kNothing || !transaction.committed)) {
        if (own.item.part() == 0) misses_.push_back({node, own.item, false});
      } else if (transaction.committed) {
        writes_.push_back({.node = node,
                           .item = own.item,
                           .version = own.now,
                           .replaced = own.before,
                           .in_row = own.in_row});
      }
    }
  }

  void replay(std::uint32_t node, const Operation& operation) {
    Known* own = known(operation.item);
    const auto own_error = [&](const std::string& expected) {
      report("own writes", text_of(operation) + ", after its own writes: " + expected, {node});
    };
    switch (operation.step) {
      case Step::read:
        if (own == nullptr) {
          reads_.push_back({node, operation});
        } else if (own->now != operation.version) {
          own_error("expected " + text_of(own->now));
        }
        return;
      case Step::missed:
        if (own == nullptr) {
          misses_.push_back({node, operation.item, operation.by_scan});
        } else if (own->now != kNothing) {
          own_error("expected " + text_of(own->now));
        }
        return;
      case Step::write:
      case Step::remove:
        if (own == nullptr) {
          known_.push_back(
              {operation.item, operation.replaced, operation.version, operation.replaced});
          return;
        }
        if (own->now != operation.replaced) own_error("expected to replace " + text_of(own->now));
        own->now = operation.version;
        own->in_row = operation.replaced;
        return;
      case Step::fault: report("broken row or scan", text_of(operation), {node}); return;
    }
  }

  // ---- versions --------------------------------------------------------------------------------

  [[nodiscard]] std::uint32_t node_of(VersionId version) const {
    const std::uint32_t client = client_of(version);
    if (client >= node_of_.size() || sequence_of(version) >= node_of_[client].size()) return kNone;
    return node_of_[client][sequence_of(version)];
  }

  [[nodiscard]] std::uint32_t end_write(std::uint32_t node) const {
    return node + 1 < first_write_.size() ? first_write_[node + 1]
                                          : static_cast<std::uint32_t>(writes_.size());
  }

  /// The write that left this version; kNone and an anomaly if no committed transaction did.
  std::uint32_t write_of(Item item, VersionId version, std::uint32_t asker) {
    const std::uint32_t node = node_of(version);
    if (node == kNone || !nodes_[node]->committed) {
      report("G1a aborted read",
             text_of(asker_of(asker)) + " used " + item.text() + " = " + text_of(version) +
                 ", whose writer did not commit",
             node == kNone ? std::vector{asker} : std::vector{asker, node});
      return kNone;
    }
    for (std::uint32_t at = first_write_[node]; at < end_write(node); ++at) {
      if (writes_[at].item == item && writes_[at].version == version) return at;
    }
    report("G1b intermediate read",
           text_of(asker_of(asker)) + " used " + item.text() + " = " + text_of(version) +
               ", which is not what its writer left",
           {asker, node});
    return kNone;
  }

  [[nodiscard]] VersionId asker_of(std::uint32_t node) const {
    return make_version(nodes_[node]->client, nodes_[node]->sequence, 0);
  }

  void link_writes() {
    for (std::uint32_t at = 0; at < writes_.size(); ++at) {
      const Write write = writes_[at];
      if (write.replaced == kNothing) continue;
      const std::uint32_t before = write_of(write.item, write.replaced, write.node);
      if (before == kNone) continue;
      Write& replaced = writes_[before];
      if (replaced.next != kNone) {
        report("lost update (G-single)",
               write.item.text() + " = " + text_of(write.replaced) + " was replaced twice",
               {replaced.node, writes_[replaced.next].node, write.node});
        continue;
      }
      replaced.next = at;
      add_edge(replaced.node, write.node, Why::ww, write.item);
    }
  }

  void add_read(const Read& read) {
    const Operation& operation = read.operation;
    const std::uint32_t at = write_of(operation.item, operation.version, read.node);
    if (at == kNone) return;
    Write& write = writes_[at];
    if (write.stamp == 0) write.stamp = operation.stamp;
    if (operation.replaced != write.in_row || operation.stamp != write.stamp) {
      report("torn or doubled version",
             text_of(operation) + " says it replaced " + text_of(operation.replaced) +
                 ", its writer " + text_of(write.in_row),
             {read.node, write.node});
    }
    add_edge(write.node, read.node, Why::wr, write.item);
    Window& window = windows_[read.node];
    const bool past = nodes_[read.node]->of_the_past;
    if (past) window.from = std::max(window.from, nodes_[write.node]->began);
    if (write.next == kNone) return;
    const std::uint32_t next = writes_[write.next].node;
    add_edge(read.node, next, Why::rw, write.item);
    if (past) window.to = std::min(window.to, nodes_[next]->ended);
  }

  // ---- lives: rows that come and go ------------------------------------------------------------

  void build_lives() {
    for (const Write& start : writes_) {
      if (start.replaced != kNothing || start.item.part() != 0) continue;
      Life life{start.item.code, start.node, start.node, nodes_[start.node]->ended, 0};
      const Write* write = &start;
      for (;;) {
        life.last_node = write->node;
        life.began_by = std::min(life.began_by, nodes_[write->node]->ended);
        life.ended_from = std::max(life.ended_from, nodes_[write->node]->began);
        if (write->version == kNothing || write->next == kNone) break;
        write = &writes_[write->next];
      }
      if (write->version != kNothing) life.ended_from = kForever;
      lives_.push_back(life);
    }
    std::sort(lives_.begin(), lives_.end(), [](const Life& a, const Life& b) {
      return std::pair(a.code, a.place()) < std::pair(b.code, b.place());
    });
  }

  void order_lives() {
    for (std::size_t at = 0; at + 1 < lives_.size(); ++at) {
      const Life& one = lives_[at];
      const Life& two = lives_[at + 1];
      if (one.code != two.code) continue;
      choose(one.ended_from < two.began_by, {one.last_node, two.first_node, Why::ww, one.code},
             two.ended_from < one.began_by, {two.last_node, one.first_node, Why::ww, one.code},
             "inserted twice");
    }
    for (std::size_t at = 0; at < lives_.size();) {
      std::size_t end = at;
      while (end < lives_.size() && lives_[end].code == lives_[at].code) ++end;
      spans_.push_back({lives_[at].code, at, end});
      for (std::size_t i = at; i < end; ++i) begins_.push_back({lives_[i].began_by, i});
      std::sort(begins_.begin() + static_cast<std::ptrdiff_t>(at), begins_.end());
      for (std::size_t i = at; i < end; ++i) ends_.push_back({lives_[i].ended_from, i});
      std::sort(ends_.begin() + static_cast<std::ptrdiff_t>(at), ends_.end());
      at = end;
    }
  }

  /// Places a transaction that missed a row before or after each of the row's lives near it.
  void add_miss(const Miss& miss) {
    const auto span = std::find_if(spans_.begin(), spans_.end(),
                                   [&miss](const Span& one) { return one.code == miss.item.code; });
    if (span == spans_.end()) return;
    const auto in = [&span](std::size_t at) { return static_cast<std::ptrdiff_t>(at); };
    const Window reader = windows_[miss.node];
    const auto begin = begins_.begin() + in(span->begin);
    const auto end = begins_.begin() + in(span->end);
    // The last life that had begun by the time the transaction did.
    auto doubt = std::upper_bound(begin, end, std::pair(reader.from, ~std::size_t{0}));
    const std::size_t before = doubt == begin ? lives_.size() : std::prev(doubt)->second;
    if (doubt != begin) place(miss, lives_[before]);
    std::size_t looked_at = 0;
    for (; doubt != end && looked_at < kMostDoubts; ++doubt, ++looked_at) {
      place(miss, lives_[doubt->second]);
    }
    // The first life that had not ended when the transaction did.
    const auto after =
        std::lower_bound(ends_.begin() + in(span->begin), ends_.begin() + in(span->end),
                         std::pair(reader.to, std::size_t{0}));
    if (after != ends_.begin() + in(span->end) && after->second != before) {
      place(miss, lives_[after->second]);
    }
  }

  void place(const Miss& miss, const Life& life) {
    if (miss.node == life.first_node) return;  // it missed the row and so inserted it
    const Window reader = windows_[miss.node];
    const bool own_end = miss.node == life.last_node;
    choose(reader.from < life.began_by,
           {miss.node, life.first_node, miss.by_scan ? Why::predicate : Why::rw, life.code},
           life.ended_from < reader.to && !own_end, {life.last_node, miss.node, Why::wr, life.code},
           "missed a row that was there throughout");
  }

  /// Adds the edge the clock allows; both: keeps the choice.
  void choose(bool one_may, const Edge& one, bool other_may, const Edge& other,
              const std::string& neither) {
    if (one_may && other_may) {
      choices_.push_back({one, other});
      ++choices_total_;
    } else if (one_may || other_may) {
      const Edge& edge = one_may ? one : other;
      if (edge.from != edge.to) edges_.push_back(edge);
    } else {
      report(neither, Item{one.item}.text(), {one.from, one.to, other.from, other.to});
    }
  }

  // ---- cycles ----------------------------------------------------------------------------------

  void add_edge(std::uint32_t from, std::uint32_t to, Why why, Item item) {
    if (from != to) edges_.push_back({from, to, why, item.code});
  }

  void find_cycles() {
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      const Graph graph(nodes_.size(), edges_);
      const Components components(graph);
      if (!components.cyclic().empty()) {
        report_cycles(graph, components);
        return;
      }
      if (!settle_choices(graph, components)) return;
    }
  }

  /// Adds every edge whose alternative would close a cycle. False: there was none.
  bool settle_choices(const Graph& graph, const Components& components) {
    PathFinder paths(graph);
    const auto back = [&](const Edge& edge) -> std::vector<Edge> {
      if (edge.from == edge.to) return {edge};
      // Components are numbered against the edges: a path leads to smaller numbers only.
      const std::uint32_t floor = components.of(edge.from);
      if (components.of(edge.to) < floor) return {};
      return paths.find(edge.to, edge.from, kSearchBudget,
                        [&](const Edge& step) { return components.of(step.to) >= floor; });
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
        report_cycle(one, "; and if it is the other way round, " + name_of_cycle(other) + ":\n" +
                              text_of_cycle(other));
      }
    }
    choices_ = std::move(open);
    return choices_.size() < before;
  }

  void report_cycles(const Graph& graph, const Components& components) {
    PathFinder paths(graph);
    constexpr std::size_t kStarts = 200;
    for (const auto& members : components.cyclic()) {
      if (anomalies_.size() >= kMostAnomalies) return;
      const std::uint32_t component = components.of(members.front());
      // The plainest kind of cycle there is, and of that the shortest found.
      for (const Why most : {Why::ww, Why::wr, Why::predicate}) {
        std::vector<Edge> shortest;
        for (std::size_t at = 0; at < std::min(members.size(), kStarts); ++at) {
          std::vector<Edge> cycle =
              paths.find(members[at], members[at], members.size(), [&](const Edge& edge) {
                return components.of(edge.to) == component && edge.why <= most;
              });
          if (cycle.empty() || (!shortest.empty() && cycle.size() >= shortest.size())) continue;
          shortest = std::move(cycle);
        }
        if (shortest.empty()) continue;
        report_cycle(shortest, "; in a component of " + std::to_string(members.size()));
        break;
      }
    }
  }

  [[nodiscard]] std::string text_of_cycle(const std::vector<Edge>& cycle) const {
    std::string text;
    for (const Edge& edge : cycle) {
      const auto name = [this](std::uint32_t node) {
        return text_of(nodes_[node]->client, nodes_[node]->sequence);
      };
      text += "  " + name(edge.from) + " --" + text_of(edge.why) + " " + Item{edge.item}.text() +
              "--> " + name(edge.to) + "\n";
    }
    return text;
  }

  void report_cycle(const std::vector<Edge>& cycle, const std::string& note) {
    std::vector<std::uint32_t> members;
    for (const Edge& edge : cycle) members.push_back(edge.from);
    report(name_of_cycle(cycle), "cycle" + note + "\n" + text_of_cycle(cycle), members);
  }

  void report(const std::string& name, const std::string& text,
              const std::vector<std::uint32_t>& nodes) {
    if (anomalies_.size() >= kMostAnomalies) return;
    Anomaly anomaly{name, name + ": " + text + (text.ends_with('\n') ? "" : "\n")};
    constexpr std::size_t kMostShown = 8;
    std::vector<std::uint32_t> shown;
    for (const std::uint32_t node : nodes) {
      if (nodes_[node]->client == kLoader || shown.size() == kMostShown) continue;
      if (std::find(shown.begin(), shown.end(), node) != shown.end()) continue;
      shown.push_back(node);
      anomaly.text += "    " + text_of(*nodes_[node], log_of(node)) + "\n";
    }
    anomalies_.push_back(std::move(anomaly));
  }

  struct Span {
    std::uint32_t code;
    std::size_t begin;
    std::size_t end;
  };

  const History& history_;
  std::vector<const Transaction*> nodes_;
  std::vector<std::vector<std::uint32_t>> node_of_;  ///< by client and sequence
  std::vector<Window> windows_;                      ///< by transaction
  std::vector<Known> known_;
  std::vector<Write> writes_;               ///< grouped by transaction
  std::vector<std::uint32_t> first_write_;  ///< by transaction
  std::vector<Read> reads_;
  std::vector<Miss> misses_;
  std::vector<Life> lives_;  ///< by item, in order
  std::vector<Span> spans_;
  /// The lives of each span once more, by when they began at the latest, ended at the earliest.
  std::vector<std::pair<std::uint64_t, std::size_t>> begins_;
  std::vector<std::pair<std::uint64_t, std::size_t>> ends_;
  std::vector<Edge> edges_;
  std::vector<Choice> choices_;
  std::size_t choices_total_ = 0;
  std::vector<Anomaly> anomalies_;
};

}  // namespace heddle::serializability
