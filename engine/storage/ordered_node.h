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

/// The ascending keys of an ordered node. Slots not in use hold Key::max(), so that a search needs
/// no count: it can only end at or before the first of them.
template <class M, class K, int kSlots>
class KeySlots {
 public:
  KeySlots() {
    for (auto& slot : slots_) slot.store(K::max());
  }

  [[nodiscard]] const SharedKey<M, K>& operator[](int i) const noexcept { return slots_[i]; }

  /// How many slots hold a key below `key`: the first slot that may hold `key`.
  [[nodiscard, gnu::always_inline]] int lower_bound(const K& key) const noexcept {
    return search<kSlots>(key);
  }

  /// The only slot that may hold `key`.
  [[nodiscard, gnu::always_inline]] int candidate(const K& key) const noexcept {
    return search<kSlots - 1>(key);  // if all of these are below, the last slot is left
  }

  // What follows is for the holder of the node's lock, or before the node is seen by others.

  void store(int i, const K& key) noexcept { slots_[i].store(key); }

  /// Makes room at `position` among the first `count` keys and puts `key` there.
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
  /// How many of the first kCount slots hold a key below `key`.
  ///
  /// A binary search of a fixed number of probes. The first probe leaves 2^n - 1 slots whichever
  /// way it falls, which n more halve exactly. `key` is taken by value to stay in registers, which
  /// the acquire loads would not allow otherwise; out of line the search costs a quarter more.
  template <std::size_t kCount>
  [[nodiscard, gnu::always_inline]] int search(const K key) const noexcept {
    constexpr std::size_t kHalf = std::bit_floor(kCount);
    constexpr std::size_t kSkipped = kCount + 1 - kHalf;
    const auto* const first = slots_.data();
    const auto* const base = even_odds(first[kSkipped - 1].below(key)) ? first + kSkipped : first;
    return static_cast<int>(halve<kHalf / 2>(base, key) - first);
  }

  /// The first of the 2 * kStep - 1 slots from `base` on that is not below `key`, or else the next.
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

  /// Tells the compiler that a branch would be mispredicted every second time: move, don't jump.
  [[nodiscard]] static bool even_odds(bool condition) noexcept {
    return __builtin_expect_with_probability(condition, 1, 0.5);
  }

  std::array<SharedKey<M, K>, kSlots> slots_;
};

/// What every node of the tree starts with.
template <class M>
struct OrderedNode {
  explicit OrderedNode(std::uint32_t node_level) : level{node_level} {}

  VersionLock<M> version;
  Shared<M, std::uint16_t> count;  ///< Keys in use.
  std::uint16_t run_end = 0;       ///< In a leaf: the slot behind the last insert; locked.
  const std::uint32_t level;       ///< Its height above the leaves, which are level 0.

  [[nodiscard]] int size() const noexcept {
    return static_cast<int>(count.load(std::memory_order_acquire));  // acquire: payload
  }

  /// Fetches the rest of a leaf's keys along with its version: one wait for memory, not three.
  void prefetch() const noexcept {
    constexpr std::size_t kLine = 64;
    M::prefetch(reinterpret_cast<const std::byte*>(this) + kLine, 3 * kLine);
  }

  /// As the holder of the lock sees it.
  [[nodiscard]] int size_held() const noexcept { return static_cast<int>(count.peek()); }

 protected:
  void resize(int size) noexcept {
    count.store(static_cast<std::uint16_t>(size), std::memory_order_release);  // release: payload
  }
};

/// How many pairs of a key and a pointer fit a node of `bytes` beside its header and `extra` bytes.
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
  std::array<Shared<M, Record<M>*>, kSlots> records;  // null where no key is

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

  // What follows is for the holder of the lock.

  void insert(const K& key, Record<M>* record) noexcept {
    insert(keys.lower_bound(key), key, record);
  }

  /// At `position` = keys.lower_bound(key).
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
  /// Returns the separator: the keys up to and with it stay here.
  ///
  /// Ascending inserts at one place must not leave half-empty leaves behind: at the right end
  /// nothing moves but the new key; and a run amid other keys stays here, and what follows it goes,
  /// so that the run's next split is at the right end.
  K split(const K& key, OrderedLeaf& to) noexcept {
    assert(this->size_held() == kSlots);
    const int position = keys.lower_bound(key);
    const bool in_run = 0 < position && position < kSlots && position == this->run_end;
    if (position < kSlots) move_tail(in_run ? position : kSlots / 2, to);
    return in_run ? key : keys[this->size_held() - 1].peek();
  }

 private:
  /// Moves what is at [first, size) to the empty leaf `to`.
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

/// Separators and children: child i holds the keys above separator i - 1 and up to, with, separator
/// i; the first and the last child reach as far as the node itself. `count` counts separators, so a
/// node with one child has count 0. Sixteen cache lines, half of them separators.
template <class M, class K>
struct alignas(64) OrderedInner : OrderedNode<M> {
  static constexpr int kSlots = slots_in<K>(1024, sizeof(void*));
  static_assert(kSlots >= 8, "keys this wide need larger inner nodes");

  OrderedInner(std::uint32_t node_level, OrderedNode<M>* only_child) : OrderedNode<M>{node_level} {
    assert(node_level == only_child->level + 1);
    put(0, only_child);
  }

  KeySlots<M, K, kSlots> keys;
  std::array<Shared<M, OrderedNode<M>*>, kSlots + 1> children;  // null beyond the last

  // What follows is for the holder of the lock.

  /// Adds `right`, split off child `index`, which keeps the keys up to and with `separator`.
  void insert(int index, const K& separator, OrderedNode<M>* right) noexcept {
    const int size = this->size_held();
    keys.insert(index, size, separator);
    for (int i = size + 1; i > index + 1; --i) put(i, children[i - 1].peek());
    put(index + 1, right);
    this->resize(size + 1);
  }

  /// Drops child `index`. The next child takes over its range; the last child's, the previous one.
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
