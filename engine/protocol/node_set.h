#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/seeded_fault.h"
#include "storage/node_version.h"

namespace heddle {

/// What a transaction relied on besides records: the ranges it scanned and the keys it missed, and
/// the index nodes that an insert there would have changed (Silo §4.6).
///
/// A node's version guards more than the range: an insert next to it, or an abort that takes its
/// placeholder back, changes it too. So a changed node is not yet a phantom. The range is scanned
/// again, and only if it holds another set of rows is there a phantom.
template <class M>
class NodeSet {
 public:
  /// A range as it was read. `table`, `keys` and the entries have a meaning only to `unchanged`.
  struct Range {
    /// Whether the range still holds the same rows; adds the nodes that guard it now to `fresh`.
    using Check = bool (*)(void* transaction, const Range& range,
                           std::span<const std::uint32_t> entries,
                           std::vector<NodeVersion<M>>& fresh);
    Check unchanged;
    void* table;
    const std::byte* keys;
    std::uint32_t position;
    std::uint32_t first_entry;
    std::uint32_t entry_count;
    bool descending;
  };

  /// Starts a range; the nodes and entries added next belong to it.
  /// @param position the number of accesses that the transaction had made; see rewind()
  Range& begin_range(typename Range::Check unchanged, void* table, const std::byte* keys,
                     bool descending, std::uint32_t position) {
    ranges_.push_back({unchanged, table, keys, position,
                       static_cast<std::uint32_t>(entries_.size()), 0, descending});
    return ranges_.back();
  }

  void add_node(const NodeVersion<M>& seen) {
    nodes_.push_back({seen, static_cast<std::uint32_t>(ranges_.size()) - 1, false});
  }

  /// Adds an access-set entry: a record in the range.
  void add_entry(std::uint32_t entry) {
    entries_.push_back(entry);
    ++ranges_.back().entry_count;
  }

  /// Follows the transaction's own insert, so that the insert alone does not cause a second scan.
  void own_insert(const InsertResult<M>& result) {
    if (seeded<M>(SeededFault::ignore_own_insert)) return;
    const std::size_t count = nodes_.size();
    for (std::size_t at = 0; at < count; ++at) {
      if (nodes_[at].version.word != result.before.word) continue;
      const bool vouched = seeded<M>(SeededFault::own_insert_vouches);
      if (nodes_[at].version.value != result.before.value && !vouched) {
        continue;  // changed before: scan again
      }
      nodes_[at].version.value = result.after;
      nodes_[at].own_insert = true;
      const std::uint32_t range = nodes_[at].range;
      for (int created = 0; created < result.created_count; ++created) {
        nodes_.push_back({result.created[created], range, true});
      }
    }
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }

  /// Whether every node still has the version that was read.
  [[nodiscard]] bool current() const {
    for (const Node& node : nodes_) {
      if (changed(node)) return false;
    }
    return true;
  }

  /// Scans the ranges again whose nodes have changed. If all hold the same rows, their present
  /// nodes replace the old ones. `transaction` is passed to the ranges' checks.
  ///
  /// That a range holds the same rows again does not mean that it always did: it may have held
  /// another in between, which the transaction may have read. So the caller must validate
  /// everything else after this call, and that nothing seen here has changed since: then all of it
  /// was valid together at the moment this returned.
  [[nodiscard]] bool look_again(void* transaction) {
    for (std::uint32_t range = 0; range < ranges_.size(); ++range) {
      const bool stale = std::any_of(nodes_.begin(), nodes_.end(), [range](const Node& node) {
        return node.range == range && changed(node);
      });
      if (!stale) continue;
      fresh_.clear();
      if (!check(transaction, ranges_[range])) return false;
      std::erase_if(nodes_, [range](const Node& node) { return node.range == range; });
      for (const NodeVersion<M>& version : fresh_) nodes_.push_back({version, range, false});
    }
    return true;
  }

  /// Early validation: whether the ranges whose nodes were added from the `first`-th on may still
  /// hold the same rows.
  [[nodiscard]] bool plausible_since(std::uint32_t first, void* transaction) {
    for (std::size_t at = first; at < nodes_.size(); ++at) {
      if (!changed(nodes_[at])) [[likely]]
        continue;
      fresh_.clear();
      if (!check(transaction, ranges_[nodes_[at].range])) return false;
    }
    return true;
  }

  /// Forgets the ranges read at `position` or later. Nodes split off by own inserts stay with the
  /// range they are part of.
  ///
  /// The inserts themselves are forgotten too, while their placeholders stay in the index: another
  /// transaction may make one of them a row without changing the node. So a node that an own insert
  /// has changed no longer guards its range, and the range is scanned again.
  void rewind(std::uint32_t position) {
    while (!ranges_.empty() && ranges_.back().position >= position) {
      entries_.resize(ranges_.back().first_entry);
      ranges_.pop_back();
    }
    std::erase_if(nodes_, [this](const Node& node) { return node.range >= ranges_.size(); });
    for (Node& node : nodes_) {
      if (node.own_insert) node.version.value = kNeverSeen;
    }
  }

  void clear() {
    nodes_.clear();
    ranges_.clear();
    entries_.clear();
  }

 private:
  struct Node {
    NodeVersion<M> version;
    std::uint32_t range;
    bool own_insert;  ///< its value is the one after an insert of the transaction's own
  };
  /// A locked node's value: no observed one equals it.
  static constexpr std::uint64_t kNeverSeen = ~std::uint64_t{0};

  static bool changed(const Node& node) {
    // seq_cst: part of the validation that Silo orders after the write locks.
    return node.version.word->load(std::memory_order_seq_cst) != node.version.value;
  }

  bool check(void* transaction, const Range& range) {
    const auto entries = std::span(entries_).subspan(range.first_entry, range.entry_count);
    return range.unchanged(transaction, range, entries, fresh_);
  }

  std::vector<Node> nodes_;
  std::vector<NodeVersion<M>> fresh_;
  std::vector<Range> ranges_;
  std::vector<std::uint32_t> entries_;
};

}  // namespace heddle
