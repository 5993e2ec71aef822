#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/graph.h"
#include "check/transactions.h"
#include "observe/history.h"

namespace heddle::check {

/// Something that no serial order explains.
struct Anomaly {
  std::string name;  ///< Adya's where it has one: "G1a (aborted read)"
  std::string text;  ///< what happened, and the transactions it happened to; several lines
};

/// What came of checking a history.
struct Report {
  std::uint64_t transactions = 0;  ///< committed, or rolled back by their own wish
  std::uint64_t committed = 0;
  std::uint64_t aborted = 0;  ///< attempts
  std::uint64_t operations = 0;
  std::uint64_t keys = 0;
  std::uint64_t edges = 0;
  /// Pairs of edges one of which must hold, where the clock does not tell which, and how many of
  /// them nothing has told.
  std::uint64_t choices = 0;
  std::uint64_t open_choices = 0;
  std::vector<std::uint64_t> committed_by_type;
  std::vector<Anomaly> anomalies;  ///< the first few; empty: it is serializable

  [[nodiscard]] std::string to_json() const;
};

/// Puts transactions and cycles into words.
class Words {
 public:
  explicit Words(const Transactions& transactions) : transactions_(transactions) {}

  /// "w3:120": the worker, and which of its attempts.
  [[nodiscard]] std::string name(std::uint32_t node) const;
  /// "ORDER/17".
  [[nodiscard]] std::string row(std::uint8_t table, std::uint64_t key) const;
  [[nodiscard]] std::string operation(const Operation& operation) const;
  /// The transaction and what it did; of a long one, what concerns these rows and some more.
  [[nodiscard]] std::string transaction(std::uint32_t node) const;
  /// An edge each line: who, why, on account of which row, whom.
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

/// Collects what is found, up to some number: the first few tell the story.
class Findings {
 public:
  static constexpr std::size_t kMost = 8;

  explicit Findings(const Transactions& transactions) : words_(transactions) {}

  /// @param nodes whom it happened to; kNone: nobody in particular
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
