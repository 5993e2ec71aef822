#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "machine/seeded_fault.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "storage/ordered_node.h"
#include "storage/ordered_trail.h"
#include "storage/record.h"
#include "storage/storage.h"

namespace heddle {

/// Maps keys to records in key order: a B+tree with optimistic lock coupling (Leis, Haubenschild,
/// Neumann, 2019) whose node versions detect phantoms (Silo §4.6).
///
/// Readers write nothing: they check a node's version after reading from it, and the parent's
/// version after reading the child's. A writer descends in the same way and then locks, top down
/// and at the versions it saw, only the nodes it will change: usually one leaf.
///
/// - The tree is split bottom up. Keys inserted in ascending order, in one range of the tree or in
///   several, leave full leaves behind.
/// - A leaf is removed with its last key, together with the ancestors that lead to no other leaf;
///   nodes are not merged. Memory is proportional to the leaves in use, however many keys have been
///   inserted and removed. The last leaf stays, empty.
/// - There are no sibling links: a scan continues by descending to the next key after its last
///   leaf.
///
/// Only leaves are observed: inner versions guard structure and never enter a node set. Callers are
/// inside an epoch, so that the nodes they meet stay readable.
template <class M, class K>
class OrderedIndex {
 public:
  static constexpr IndexKind kKind = IndexKind::ordered;

  struct Entry {
    K key;
    Record<M>* record;
  };

  /// The default action of an insertion on a leaf split.
  struct Nothing {
    void operator()(const Shared<M, std::uint64_t>*, const Shared<M, std::uint64_t>*) const {}
  };

  /// `expected_rows` is not used; it makes the two kinds of index interchangeable.
  OrderedIndex(Storage<M>& storage, [[maybe_unused]] std::size_t expected_rows)
      : storage_{storage}, root_{make<Leaf>(kSetupWorker)} {}

  OrderedIndex(const OrderedIndex&) = delete;
  OrderedIndex& operator=(const OrderedIndex&) = delete;

  /// The record of `key`; or nullptr, and `seen` then guards the key's absence.
  [[nodiscard]] Record<M>* find(const K& key, NodeVersion<M>& seen) const {
    for (int spins = 0;; M::relax(spins)) {
      NoTrail trail;
      const Reached at = reach(key, trail);
      Record<M>* const record = at.leaf->find(key);
      if (!at.leaf->version.unchanged(at.version)) [[unlikely]]
        continue;
      if (record == nullptr) seen = at.seen();
      return record;
    }
  }

  /// Maps `key` to `record` unless it is mapped already.
  /// @param on_split called as on_split(left, right), with the version words of a leaf that splits
  ///        and of its new half, while the first is locked and the second not yet reachable by
  ///        others
  template <class OnSplit = Nothing>
  InsertResult<M> insert(int worker, const K& key, Record<M>* record, OnSplit on_split = {}) {
    assert(record != nullptr);
    for (int spins = 0;; M::relax(spins)) {
      NoTrail trail;
      const Reached at = reach(key, trail);
      const int position = at.leaf->keys.lower_bound(key);
      if (position < Leaf::kSlots) {
        if (Record<M>* const present = at.leaf->record_at(position, key); present != nullptr) {
          if (!at.leaf->version.unchanged(at.version)) continue;
          return {.record = present, .before = at.seen()};
        }
      }
      if (at.leaf->size() == Leaf::kSlots) [[unlikely]] {
        const InsertResult<M> result = insert_splitting(worker, key, record, on_split);
        if (result.inserted) return result;
        continue;  // the leaf changed meanwhile
      }
      if (!at.leaf->version.try_lock(at.version)) continue;
      at.leaf->insert(position, key, record);
      return {.record = record,
              .inserted = true,
              .before = at.seen(),
              .after = at.leaf->version.unlock_changed()};
    }
  }

  /// Unmaps `key` if it is mapped to `record`.
  bool remove(int worker, const K& key, const Record<M>* record) {
    assert(record != nullptr);
    for (int spins = 0;; M::relax(spins)) {
      NoTrail trail;
      const Reached at = reach(key, trail);
      if (at.leaf->find(key) != record) {
        if (!at.leaf->version.unchanged(at.version)) continue;
        return false;
      }
      if (at.leaf->size() == 1) [[unlikely]] {
        if (remove_last(worker, key, record)) return true;
        continue;  // the leaf changed meanwhile
      }
      if (!at.leaf->version.try_lock(at.version)) continue;
      at.leaf->erase(key);
      at.leaf->version.unlock_changed();
      return true;
    }
  }

  /// Visits the leaves that cover [lo, hi], bounds inclusive, in the given order.
  ///
  /// Calls `on_leaf(NodeVersion<M> seen, std::span<const Entry> entries) -> bool`; true continues
  /// the scan. `entries` are the leaf's entries within the bounds, in the order of the scan, as
  /// they were at version `seen`. A leaf without any is reported as well, because `seen` guards the
  /// gap. Each entry is reported once. A leaf's report is consistent; the scan as a whole is
  /// consistent if all versions reported are still current.
  template <class F>
  void scan(const K& lo, const K& hi, Order order, F on_leaf) const {
    if (hi < lo) return;
    if (order == Order::ascending) {
      scan_ascending(lo, hi, on_leaf);
    } else {
      scan_descending(lo, hi, on_leaf);
    }
  }

  /// Starts fetching the leaf that a find of `key` will read. Returns its address, or nullptr.
  const void* prefetch(const K& key) const noexcept {
    const Leaf* leaf = leaf_near(key);
    if (leaf != nullptr) M::fetch_ahead(leaf, sizeof(Leaf));
    return leaf;
  }

  /// The result of find() if the fetched leaf is enough to determine it; else nullptr, also while a
  /// writer holds the leaf. Never waits. A leaf reached without checks may not cover the key, but a
  /// leaf that holds the key does cover it, and a leaf taken out of the tree holds no keys.
  /// @param place what prefetch() returned for this key, in the same epoch
  [[nodiscard, gnu::always_inline]] Record<M>* find_at(const void* place,
                                                       const K& key) const noexcept {
    if (place == nullptr) [[unlikely]]
      return nullptr;
    const auto& leaf = *static_cast<const Leaf*>(place);
    const std::uint64_t version = leaf.version.now();
    Record<M>* const record = leaf.find(key);
    return leaf.version.unlocked_and_unchanged(version) ? record : nullptr;
  }

  /// Where transactions are ordered by timestamps: the newest timestamp at the time when a leaf was
  /// last taken out. What readers with timestamps up to it had noted at that leaf is lost; its
  /// range now belongs to a neighbour. A later insert into that range sees this value.
  [[nodiscard]] std::uint64_t last_removal() const noexcept {
    // acquire is not needed: the tree's versions brought it with the change.
    return last_removal_.load(std::memory_order_relaxed);
  }

  /// Calls `f(key, record)` for every record in key order. Quiescent only.
  template <class F>
  void for_each(F f) const {
    scan(K::min(), K::max(), Order::ascending, [&f](const NodeVersion<M>&, auto entries) {
      for (const Entry& entry : entries) f(entry.key, entry.record);
      return true;
    });
  }

 private:
  using Node = OrderedNode<M>;
  using Leaf = OrderedLeaf<M, K>;
  using Inner = OrderedInner<M, K>;
  using Range = RangeTrail<M, K>;
  using Path = PathTrail<M, K>;
  static_assert(std::is_trivially_destructible_v<Leaf> && std::is_trivially_destructible_v<Inner>);

  static constexpr int kSetupWorker = 0;

  /// A leaf, and its version at a moment at which it covered the requested key.
  struct Reached {
    Leaf* leaf = nullptr;
    std::uint64_t version = 0;

    [[nodiscard]] NodeVersion<M> seen() const { return {leaf->version.word(), version}; }
  };

  template <class Trail>
  [[nodiscard, gnu::always_inline]] Reached reach(const K& key, Trail& trail) const {
    for (int spins = 0;; M::relax(spins)) {
      trail.restart();
      const Reached at = try_reach(key, trail);
      if (at.leaf != nullptr) [[likely]]
        return at;
    }
  }

  /// The leaf that probably covers `key`, by a descent without checks; or nullptr.
  [[nodiscard]] const Leaf* leaf_near(const K& key) const noexcept {
    const Node* node = root_.load(std::memory_order_acquire);  // acquire: the node's contents
    for (std::uint32_t level = node->level; level > 0; --level) {
      const auto* const inner = static_cast<const Inner*>(node);
      // acquire: the child's contents
      node = inner->children[inner->keys.lower_bound(key)].load(std::memory_order_acquire);
      if (node == nullptr) [[unlikely]]
        return nullptr;
    }
    return static_cast<const Leaf*>(node);
  }

  /// One descent to the leaf that covers `key`; a null leaf if a writer interfered.
  template <class Trail>
  [[nodiscard, gnu::always_inline]] Reached try_reach(const K& key, Trail& trail) const {
    Node* node = root_.load(std::memory_order_acquire);  // acquire: the node's contents
    std::uint64_t version = node->version.await_unlocked();
    // A root is replaced under its lock, so this version is the root's if the node is still the
    // root. relaxed: cannot be reordered before the version, which was an acquire load.
    if (root_.load(std::memory_order_relaxed) != node) [[unlikely]]
      return {};
    while (node->level > 0) {
      auto* const inner = static_cast<Inner*>(node);
      const int index = inner->keys.lower_bound(key);
      trail.pass(inner, version, index);
      // acquire: payload (VersionLock); and the child's contents
      Node* const child = inner->children[index].load(std::memory_order_acquire);
      if (child == nullptr) [[unlikely]]
        return {};  // met during a change
      child->prefetch();
      const std::uint64_t child_version = child->version.await_unlocked();
      // Only after this check is the child's version one that it had as the child of this node.
      if (!inner->version.unchanged(version)) [[unlikely]]
        return {};
      node = child;
      version = child_version;
    }
    return {static_cast<Leaf*>(node), version};
  }

  /// Inserts into a full leaf, splitting it and its full ancestors. Inserts nothing if the leaf has
  /// free space, has the key, or changed before it was locked.
  template <class OnSplit>
  InsertResult<M> insert_splitting(int worker, const K& key, Record<M>* record, OnSplit& on_split) {
    Path path;
    const Reached at = reach(key, path);
    Leaf* const left = at.leaf;
    if (left->size() < Leaf::kSlots || left->find(key) != nullptr) return {};
    // The lowest ancestor with a free slot takes the last separator; if none has one, the root gets
    // a parent.
    const int top = path.lowest([](const Inner& node) { return node.size() < Inner::kSlots; });
    if (!try_lock(path, top, at)) return {};

    Leaf* const right = make<Leaf>(worker);
    const K separator = left->split(key, *right);
    (separator < key ? right : left)->insert(key, record);
    const NodeVersion<M> created{right->version.word(), right->version.word()->peek()};
    on_split(left->version.word(), right->version.word());
    insert_child(worker, path, top, separator, left, right);
    path.unlock_changed(top);
    return {.record = record,
            .inserted = true,
            .before = at.seen(),
            .after = left->version.unlock_changed(),
            .created = {created},
            .created_count = 1};
  }

  /// Adds `right`, split off `left` at `separator`, to the locked part of `path`, from `top` on.
  void insert_child(int worker, const Path& path, int top, K separator, Node* left, Node* right) {
    for (int i = path.depth() - 1; i >= top; --i) {
      Inner* const node = path[i].node;
      const int index = path[i].index;
      if (node->size_held() < Inner::kSlots) {
        assert(i == top);
        node->insert(index, separator, right);
        return;
      }
      if (index == Inner::kSlots) {  // append: the full node stays full
        right = make<Inner>(worker, node->level, right);
      } else {
        // The node that split, `left`, is child `index`, and its index decides the side it goes to.
        constexpr int kFirst = Inner::kSlots / 2;
        auto* const sibling = make<Inner>(worker, node->level, node->children[kFirst].peek());
        const K between = node->move_tail(kFirst, *sibling);
        if (index < kFirst) {
          node->insert(index, separator, right);
        } else {
          sibling->insert(index - kFirst, separator, right);
        }
        separator = between;
        right = sibling;
      }
      left = node;
    }
    assert(root_.peek() == left);
    auto* const root = make<Inner>(worker, left->level + 1, left);
    root->insert(0, separator, right);
    root_.store(root, std::memory_order_release);  // release: the node's contents
  }

  /// Removes the only key of a leaf, with the leaf and the ancestors that lead only to it. Returns
  /// false if the leaf holds other keys or changed before it was locked.
  bool remove_last(int worker, const K& key, const Record<M>* record) {
    Path path;
    const Reached at = reach(key, path);
    if (at.leaf->size() != 1 || at.leaf->find(key) != record) return false;
    const int top = path.lowest([](const Inner& node) { return node.size() > 0; });
    if (!try_lock(path, top, at)) return false;

    if (storage_.timestamps() != nullptr) note_removal(*storage_.timestamps());
    at.leaf->erase(key);
    // The lowest ancestor that has other children; if none has, this is the tree's last leaf.
    Inner* const ancestor = path.depth() == 0 ? nullptr : path[top].node;
    const bool last_leaf = ancestor == nullptr || ancestor->size_held() == 0;
    if (!last_leaf) ancestor->erase(path[top].index);
    // A root with one child is not needed: the child replaces it. None of the last leaf's ancestors
    // is needed; the leaf itself stays.
    const bool drop_root = top == 0 && ancestor != nullptr && ancestor->size_held() == 0;
    if (drop_root) {
      Node* const root = last_leaf ? at.leaf : ancestor->children[0].peek();
      root_.store(root, std::memory_order_release);  // release: the node's contents
    }
    path.unlock_changed(top);
    at.leaf->version.unlock_changed();
    for (int i = drop_root ? 0 : top + 1; i < path.depth(); ++i) {
      storage_.retire(worker, path[i].node, sizeof(Inner));
    }
    if (!last_leaf) storage_.retire(worker, at.leaf, sizeof(Leaf));
    return true;
  }

  /// Precondition: the leaf to be taken out is locked.
  void note_removal(const Shared<M, std::uint64_t>& timestamps) {
    if (seeded<M>(SeededFault::remove_without_timestamp)) return;
    // seq_cst: ordered after the leaf's lock, which a reader with a newer timestamp will see.
    const std::uint64_t now = timestamps.load(std::memory_order_seq_cst);
    std::uint64_t last = last_removal_.load(std::memory_order_relaxed);  // relaxed: the CAS decides
    // release: not needed for the value itself; unlocking the path publishes it.
    while (last < now && !last_removal_.compare_exchange(last, now, std::memory_order_release)) {
    }
  }

  /// Locks the nodes of `path` from `top` down and the leaf, if none has changed since it was seen.
  [[nodiscard]] static bool try_lock(const Path& path, int top, const Reached& at) {
    if (!path.try_lock(top)) return false;
    if (at.leaf->version.try_lock(at.version)) return true;
    path.unlock_unchanged(top);
    return false;
  }

  template <class F>
  void scan_ascending(K from, const K& hi, F& on_leaf) const {
    std::array<Entry, Leaf::kSlots> entries;
    for (int spins = 0;;) {
      Range range;
      const Reached at = reach(from, range);
      // The leaf may since have taken over the range of a removed neighbour: the rest is left to
      // the next descent.
      const K last = std::min(hi, range.upper);
      const int size = at.leaf->size();
      int count = 0;
      for (int i = at.leaf->keys.lower_bound(from); i < size; ++i) {
        const Entry entry = entry_of(*at.leaf, i);
        if (last < entry.key) break;
        entries[count++] = entry;
      }
      if (!at.leaf->version.unchanged(at.version)) {
        M::relax(spins);
        continue;
      }
      if (!on_leaf(at.seen(), std::span<const Entry>(entries.data(), count))) return;
      if (hi <= range.upper) return;
      from = range.upper.successor();
      spins = 0;
    }
  }

  template <class F>
  void scan_descending(const K& lo, K from, F& on_leaf) const {
    std::array<Entry, Leaf::kSlots> entries;
    for (int spins = 0;;) {
      Range range;
      const Reached at = reach(from, range);
      const bool last_leaf = !range.bounded_below || range.lower < lo;
      const int size = at.leaf->size();
      int at_or_below = at.leaf->keys.lower_bound(from);
      if (at_or_below < size && at.leaf->keys[at_or_below].equals(from)) ++at_or_below;
      int count = 0;
      for (int i = std::min(at_or_below, size) - 1; i >= 0; --i) {
        const Entry entry = entry_of(*at.leaf, i);
        if (entry.key < lo || (!last_leaf && entry.key <= range.lower)) break;
        entries[count++] = entry;
      }
      if (!at.leaf->version.unchanged(at.version)) {
        M::relax(spins);
        continue;
      }
      if (!on_leaf(at.seen(), std::span<const Entry>(entries.data(), count))) return;
      if (last_leaf) return;
      from = range.lower;
      spins = 0;
    }
  }

  [[nodiscard]] static Entry entry_of(const Leaf& leaf, int i) {
    // acquire: payload (VersionLock); and the record's own contents
    return {leaf.keys[i].load(), leaf.records[i].load(std::memory_order_acquire)};
  }

  template <class T, class... Arguments>
  [[nodiscard]] T* make(int worker, Arguments&&... arguments) {
    return new (storage_.allocate(worker, sizeof(T))) T(std::forward<Arguments>(arguments)...);
  }

  Storage<M>& storage_;
  Shared<M, Node*> root_;  // the nodes are owned by storage_
  Shared<M, std::uint64_t> last_removal_{0};
};

}  // namespace heddle
