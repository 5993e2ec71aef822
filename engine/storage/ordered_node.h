#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "machine/shared.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "storage/record.h"
#include "storage/shared_key.h"

namespace heddle {

/// The ascending keys of an ordered node. Unused slots hold Key::max(), so that a search needs no
/// count: it can only end at or before the first of them.
template <class M, class K, int kSlots>
class KeySlots {
 public:
  KeySlots() {
    for (auto& slot : slots_) slot.store(K::max());
  }

  [[nodiscard]] const SharedKey<M, K>& operator[](int i) const noexcept { return slots_[i]; }

  /// The number of slots that hold a key below `key`: the first slot that may hold `key`.
  [[nodiscard, gnu::always_inline]] int lower_bound(const K& key) const noexcept {
    return search<kSlots>(key);
  }

  /// The only slot that may hold `key`.
  [[nodiscard, gnu::always_inline]] int candidate(const K& key) const noexcept {
    return search<kSlots - 1>(key);  // if all of these are below, only the last slot is left
  }

  // The following require the node's lock, or a node not yet visible to others.

  void store(int i, const K& key) noexcept { slots_[i].store(key); }

  /// Inserts `key` at `position` among the first `count` keys.
  void insert(int position, int count, const K& key) noexcept {
    assert(0 <= position && position <= count && count < kSlots);
    for (int i = count; i > position; --i) slots_[i].store(slots_[i - 1].peek());
    slots_[position].store(key);
  }

  void erase(int position, int count) noexcept {
    assert(0 <= position && position < count && count <= kSlots);
    for (int i = position; i + 1 < count; ++i) slots_[i].store(slots_[i + 1].peek());
    slots_[count - 1].store(K::max());
  }

  /// Moves the keys [first, count) to the start of `to`.
  void move_tail(int first, int count, KeySlots& to) noexcept {
    for (int i = first; i < count; ++i) {
      to.slots_[i - first].store(slots_[i].peek());
      slots_[i].store(K::max());
    }
  }

 private:
  /// The number of the first kCount slots that hold a key below `key`.
  ///
  /// A binary search with a fixed number of probes. The first probe leaves 2^n - 1 slots either
  /// way, which n more halve exactly. `key` is taken by value to stay in registers, which the
  /// acquire loads would otherwise prevent; out of line the search takes a quarter longer.
  template <std::size_t kCount>
  [[nodiscard, gnu::always_inline]] int search(const K key) const noexcept {
    constexpr std::size_t kHalf = std::bit_floor(kCount);
    constexpr std::size_t kSkipped = kCount + 1 - kHalf;
    const auto* const first = slots_.data();
    const auto* const base = even_odds(first[kSkipped - 1].below(key)) ? first + kSkipped : first;
    return static_cast<int>(halve<kHalf / 2>(base, key) - first);
  }

  /// The first of the 2 * kStep - 1 slots from `base` on that is not below `key`, or else the slot
  /// after them.
  template <std::size_t kStep>
  [[nodiscard, gnu::always_inline]] static const SharedKey<M, K>* halve(const SharedKey<M, K>* base,
                                                                        const K& key) noexcept {
    if constexpr (kStep == 0) {
      return base;
    } else {
      const SharedKey<M, K>* const upper = base + kStep;
      return halve<kStep / 2>(even_odds(upper[-1].below(key)) ? upper : base, key);
    }
  }

  /// Tells the compiler that a branch is mispredicted half the time, so that it emits a conditional
  /// move and not a jump.
  [[nodiscard]] static bool even_odds(bool condition) noexcept {
    return __builtin_expect_with_probability(condition, 1, 0.5);
  }

  std::array<SharedKey<M, K>, kSlots> slots_;
};

/// The header of every node of the tree.
template <class M>
struct OrderedNode {
  explicit OrderedNode(std::uint32_t node_level) : level{node_level} {}

  VersionLock<M> version;
  Shared<M, std::uint16_t> count;  ///< keys in use
  std::uint16_t run_end = 0;       ///< in a leaf: the slot after the last insert; under the lock
  const std::uint32_t level;       ///< height above the leaves, which are level 0

  [[nodiscard]] int size() const noexcept {
    return static_cast<int>(count.load(std::memory_order_acquire));  // acquire: payload
  }

  /// Fetches the rest of a leaf's keys along with its version: one memory latency instead of three.
  void prefetch() const noexcept {
    constexpr std::size_t kLine = 64;
    M::prefetch(reinterpret_cast<const std::byte*>(this) + kLine, 3 * kLine);
  }

  /// The size as the holder of the lock sees it.
  [[nodiscard]] int size_held() const noexcept { return static_cast<int>(count.peek()); }

 protected:
  void resize(int size) noexcept {
    count.store(static_cast<std::uint16_t>(size), std::memory_order_release);  // release: payload
  }
};

/// The number of key-pointer pairs that fit a node of `bytes` after its header and `extra` bytes.
template <class K>
constexpr int slots_in(std::size_t bytes, std::size_t extra) {
  return static_cast<int>((bytes - 16 - extra) / (sizeof(K) + sizeof(void*)));
}

/// Keys and their records. Eight cache lines.
template <class M, class K>
struct alignas(64) OrderedLeaf : OrderedNode<M> {
  static constexpr int kSlots = slots_in<K>(512, 0);
  static_assert(kSlots >= 8, "keys this wide need larger leaves");

  OrderedLeaf() : OrderedNode<M>{0} {}

  KeySlots<M, K, kSlots> keys;
  std::array<Shared<M, Record<M>*>, kSlots> records;  // null in unused slots

  /// The record of `key` or nullptr.
  [[nodiscard, gnu::always_inline]] Record<M>* find(const K& key) const noexcept {
    return record_at(keys.candidate(key), key);
  }

  /// The record at `position` if `key` is there, or nullptr.
  [[nodiscard]] Record<M>* record_at(int position, const K& key) const noexcept {
    if (!keys[position].equals(key)) return nullptr;
    // acquire: payload (VersionLock); and the record's own contents
    return records[position].load(std::memory_order_acquire);
  }

  // The following require the node's lock.

  void insert(const K& key, Record<M>* record) noexcept {
    insert(keys.lower_bound(key), key, record);
  }

  /// Inserts at `position` = keys.lower_bound(key).
  void insert(int position, const K& key, Record<M>* record) noexcept {
    const int size = this->size_held();
    keys.insert(position, size, key);
    for (int i = size; i > position; --i) put(i, records[i - 1].peek());
    put(position, record);
    this->resize(size + 1);
    this->run_end = static_cast<std::uint16_t>(position + 1);
  }

  void erase(const K& key) noexcept {
    const int size = this->size_held();
    const int position = keys.candidate(key);
    assert(keys[position].equals(key));
    keys.erase(position, size);
    for (int i = position; i + 1 < size; ++i) put(i, records[i + 1].peek());
    put(size - 1, nullptr);
    this->resize(size - 1);
  }

  /// Moves the part that an insert of `key` into this full leaf splits off to the empty leaf `to`.
  /// Returns the separator: the keys up to and including it stay here.
  ///
  /// Ascending inserts in one range must not leave half-empty leaves behind. At the right end
  /// nothing moves but the new key. A run amid other keys stays here and the keys after it move, so
  /// that the run's next split is at the right end.
  K split(const K& key, OrderedLeaf& to) noexcept {
    assert(this->size_held() == kSlots);
    const int position = keys.lower_bound(key);
    const bool in_run = 0 < position && position < kSlots && position == this->run_end;
    if (position < kSlots) move_tail(in_run ? position : kSlots / 2, to);
    return in_run ? key : keys[this->size_held() - 1].peek();
  }

 private:
  /// Moves the slots [first, size) to the empty leaf `to`.
  void move_tail(int first, OrderedLeaf& to) noexcept {
    const int size = this->size_held();
    keys.move_tail(first, size, to.keys);
    for (int i = first; i < size; ++i) {
      to.put(i - first, records[i].peek());
      put(i, nullptr);
    }
    to.resize(size - first);
    this->resize(first);
  }

  void put(int i, Record<M>* record) noexcept {
    records[i].store(record, std::memory_order_release);  // release: payload; publishes the record
  }
};

/// Separators and children: child i holds the keys above separator i - 1 and up to and including
/// separator i; the first and the last child extend to the node's own bounds. `count` counts
/// separators, so a node with one child has count 0. Sixteen cache lines, half of them separators.
template <class M, class K>
struct alignas(64) OrderedInner : OrderedNode<M> {
  static constexpr int kSlots = slots_in<K>(1024, sizeof(void*));
  static_assert(kSlots >= 8, "keys this wide need larger inner nodes");

  OrderedInner(std::uint32_t node_level, OrderedNode<M>* only_child) : OrderedNode<M>{node_level} {
    assert(node_level == only_child->level + 1);
    put(0, only_child);
  }

  KeySlots<M, K, kSlots> keys;
  std::array<Shared<M, OrderedNode<M>*>, kSlots + 1> children;  // null after the last

  // The following require the node's lock.

  /// Adds `right`, split off child `index`, which keeps the keys up to and including `separator`.
  void insert(int index, const K& separator, OrderedNode<M>* right) noexcept {
    const int size = this->size_held();
    keys.insert(index, size, separator);
    for (int i = size + 1; i > index + 1; --i) put(i, children[i - 1].peek());
    put(index + 1, right);
    this->resize(size + 1);
  }

  /// Removes child `index`. The next child takes over its range; for the last child, the previous
  /// one does.
  void erase(int index) noexcept {
    const int size = this->size_held();
    assert(size > 0 && 0 <= index && index <= size);
    keys.erase(index < size ? index : index - 1, size);
    for (int i = index; i < size; ++i) put(i, children[i + 1].peek());
    put(size, nullptr);
    this->resize(size - 1);
  }

  /// Moves the children [first, size] to the new node `to`, whose only child is a copy of `first`.
  /// Returns the separator between the two nodes, which neither keeps.
  K move_tail(int first, OrderedInner& to) noexcept {
    const int size = this->size_held();
    assert(0 < first && first <= size && to.size_held() == 0);
    assert(to.children[0].peek() == children[first].peek());
    const K separator = keys[first - 1].peek();
    keys.move_tail(first, size, to.keys);
    keys.store(first - 1, K::max());
    for (int i = first; i <= size; ++i) {
      to.put(i - first, children[i].peek());
      put(i, nullptr);
    }
    to.resize(size - first);
    this->resize(first - 1);
    return separator;
  }

 private:
  void put(int i, OrderedNode<M>* child) noexcept {
    children[i].store(child, std::memory_order_release);  // release: payload; publishes the child
  }
};

}  // namespace heddle
