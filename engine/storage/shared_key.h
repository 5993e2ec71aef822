#pragma once

#include <array>
#include <cstdint>

#include "machine/shared.h"

namespace heddle {

/// A key inside an index node. Readers may see it partly written: their result counts only once the
/// node's version has been checked.
template <class M, class K>
class SharedKey {
 public:
  [[nodiscard]] K load() const noexcept {
    K key;
    for (int i = 0; i < K::kWords; ++i) key.words[i] = word(i);
    return key;
  }

  /// The key as the holder of the node's lock sees it.
  [[nodiscard]] K peek() const noexcept {
    K key;
    for (int i = 0; i < K::kWords; ++i) key.words[i] = words_[i].peek();
    return key;
  }

  void store(const K& key) noexcept {
    for (int i = 0; i < K::kWords; ++i) {
      // release: a reader that sees this word sees the node's lock bit (VersionLock).
      words_[i].store(key.words[i], std::memory_order_release);
    }
  }

  [[nodiscard]] bool equals(const K& key) const noexcept {
    for (int i = 0; i < K::kWords; ++i) {
      if (word(i) != key.words[i]) return false;
    }
    return true;
  }

  /// Whether the stored key is below `key`. Without branches: in a search they would be
  /// mispredicted.
  [[nodiscard]] bool below(const K& key) const noexcept {
    constexpr int kWords = K::kWords;
    bool below = kWords % 2 == 1 && word(kWords - 1) < key.words[kWords - 1];
    // From the least significant words up, two at a time: a pair compares in two instructions.
    for (int i = kWords / 2 * 2 - 2; i >= 0; i -= 2) {
      const Pair stored = pair(word(i), word(i + 1));
      const Pair wanted = pair(key.words[i], key.words[i + 1]);
      below = below ? stored <= wanted : stored < wanted;
    }
    return below;
  }

 private:
  __extension__ using Pair = unsigned __int128;

  [[nodiscard]] static Pair pair(std::uint64_t high, std::uint64_t low) noexcept {
    return Pair{high} << 64 | low;
  }

  [[nodiscard]] std::uint64_t word(int i) const noexcept {
    return words_[i].load(std::memory_order_acquire);  // acquire: payload (VersionLock)
  }

  std::array<Shared<M, std::uint64_t>, K::kWords> words_;
};

}  // namespace heddle
