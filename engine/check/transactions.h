#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "check/graph.h"
#include "observe/history.h"

namespace heddle::check {

/// An operation: its transaction, and its place in the history.
class Place {
 public:
  static constexpr std::uint64_t kMostOperations = std::uint64_t{1} << 34;

  Place() = default;
  Place(std::uint32_t node, std::uint64_t where) : word_(where << kNodeBits | node) {}

  [[nodiscard]] std::uint32_t node() const { return word_ & (Edge::kMostNodes - 1); }
  [[nodiscard]] std::uint64_t where() const { return word_ >> kNodeBits; }

 private:
  static constexpr int kNodeBits = 30;
  std::uint64_t word_ = 0;
};

/// The committed and rolled-back transactions of a history, numbered: the nodes of its graph.
class Transactions {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// @throws std::invalid_argument if there are more than a graph can hold
  explicit Transactions(const History& history);

  [[nodiscard]] const History& history() const { return history_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] const Attempt& attempt(std::uint32_t node) const {
    return log(node).attempts[nodes_[node].attempt];
  }
  /// For loops that know the attempts they will read: the first call prefetches what the second
  /// needs.
  void prefetch_node(std::uint32_t node) const { __builtin_prefetch(&nodes_[node]); }
  void prefetch_attempt(std::uint32_t node) const { __builtin_prefetch(&attempt(node)); }

  [[nodiscard]] std::uint32_t worker(std::uint32_t node) const { return nodes_[node].worker; }
  /// The number of its attempt among its worker's, from 0.
  [[nodiscard]] std::uint32_t number(std::uint32_t node) const { return nodes_[node].attempt; }
  [[nodiscard]] const Operation& operation(std::uint32_t node, std::uint32_t offset) const {
    return at(nodes_[node].first + offset);
  }

  /// Determines a place without reading its transaction.
  [[nodiscard]] Place place(std::uint32_t node, std::uint32_t offset) const {
    return {node, nodes_[node].first + offset};
  }
  [[nodiscard]] const Operation& operation(const Place& place) const { return at(place.where()); }
  /// The number of operations of its transaction before it.
  [[nodiscard]] std::uint32_t offset(const Place& place) const {
    return static_cast<std::uint32_t>(place.where() - nodes_[place.node()].first);
  }

  /// The outcome of the writer of an uncommitted version.
  struct Writer {
    std::uint32_t node = kNone;  ///< kNone: it is not among the transactions
    std::uint32_t attempt = kNone;
    bool known = false;  ///< else it had not ended when the run did, or never existed
  };
  [[nodiscard]] Writer writer_of(const Dirty& dirty) const;

 private:
  struct Node {
    std::uint64_t first;  ///< where its operations begin
    std::uint32_t worker;
    std::uint32_t attempt;
  };
  struct Published {
    std::uint64_t incarnation;
    std::uint32_t attempt;
    std::uint32_t node;
  };

  [[nodiscard]] const WorkerLog& log(std::uint32_t node) const {
    return history_.workers[nodes_[node].worker];
  }

  [[nodiscard]] const Operation& at(std::uint64_t where) const {
    using Log = Chunked<Operation>;
    return chunks_[where >> Log::kChunkBits][where & Log::kMask];
  }

  const History& history_;
  std::vector<const Operation*> chunks_;  ///< of all logs
  std::vector<Node> nodes_;
  std::vector<std::vector<Published>> published_;  ///< by worker, in order
};

}  // namespace heddle::check
