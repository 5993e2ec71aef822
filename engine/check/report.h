#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/graph.h"
#include "check/transactions.h"
#include "observe/history.h"

namespace heddle::check {

/// An observation that no serial order explains.
struct Anomaly {
  std::string name;  ///< Adya's name if it has one: "G1a (aborted read)"
  std::string text;  ///< description with its transactions; several lines
};

/// The result of checking a history.
struct Report {
  std::uint64_t transactions = 0;  ///< committed or rolled back
  std::uint64_t committed = 0;
  std::uint64_t aborted = 0;  ///< attempts
  std::uint64_t operations = 0;
  std::uint64_t keys = 0;
  std::uint64_t edges = 0;
  /// Pairs of edges one of which must hold, where the clock does not decide which, and the number
  /// of them that remain undecided.
  std::uint64_t choices = 0;
  std::uint64_t open_choices = 0;
  std::vector<std::uint64_t> committed_by_type;
  std::vector<Anomaly> anomalies;  ///< the first few; empty: it satisfies the level

  [[nodiscard]] std::string to_json() const;
};

/// Describes transactions and cycles in text.
class Words {
 public:
  explicit Words(const Transactions& transactions) : transactions_(transactions) {}

  /// "w3:120": the worker and the number of its attempt.
  [[nodiscard]] std::string name(std::uint32_t node) const;
  /// "ORDER/17".
  [[nodiscard]] std::string row(std::uint8_t table, std::uint64_t key) const;
  [[nodiscard]] std::string operation(const Operation& operation) const;
  /// The transaction and its operations; of a long one, those on these rows and some more.
  [[nodiscard]] std::string transaction(std::uint32_t node) const;
  /// One edge per line: the transaction, the reason, the row, the other transaction.
  [[nodiscard]] std::string cycle(const std::vector<Edge>& edges) const;
  /// Adya's name for a cycle of these edges.
  [[nodiscard]] std::string name_of_cycle(const std::vector<Edge>& edges) const;

 private:
  [[nodiscard]] std::string version(const Operation& operation) const;
  static constexpr std::uint64_t kNoReason = ~std::uint64_t{0};
  [[nodiscard]] const Operation* reason_of(const Edge& edge) const;
  [[nodiscard]] std::uint64_t distance_between(const Edge& edge, const Operation& one,
                                               const Operation& other) const;
  [[nodiscard]] bool is_lost_update(const std::vector<Edge>& edges) const;

  const Transactions& transactions_;
};

/// Collects findings up to some number: the first few are enough to diagnose an error.
class Findings {
 public:
  static constexpr std::size_t kMost = 8;

  explicit Findings(const Transactions& transactions) : words_(transactions) {}

  /// @param nodes the transactions concerned; kNone: none in particular
  void add(const std::string& name, const std::string& what,
           const std::vector<std::uint32_t>& nodes);

  [[nodiscard]] bool full() const { return anomalies_.size() >= kMost; }
  [[nodiscard]] bool empty() const { return anomalies_.empty(); }
  [[nodiscard]] const Words& words() const { return words_; }
  [[nodiscard]] std::vector<Anomaly> take() { return std::move(anomalies_); }

 private:
  Words words_;
  std::vector<Anomaly> anomalies_;
};

}  // namespace heddle::check
