#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace heddle {

/// A word of memory that several cores read and write.
///
/// Every shared word of the engine is one of these, so every access to it passes through the
/// machine's hooks: on the `threads` machine they are empty and a load is one instruction; a
/// simulated machine charges the access to the running core and may switch cores there. The memory
/// order is always written at the call, with its reason in a comment.
template <class M, class T>
class Shared {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);

 public:
  constexpr Shared() noexcept : word_{} {}
  constexpr explicit Shared(T value) noexcept : word_{value} {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  [[nodiscard]] T load(std::memory_order order) const noexcept {
    M::on_load(&word_);
    return word_.load(order);
  }

  void store(T value, std::memory_order order) noexcept {
    M::on_store(&word_);
    word_.store(value, order);
  }

  T exchange(T value, std::memory_order order) noexcept {
    M::on_exchange(&word_);
    return word_.exchange(value, order);
  }

  [[nodiscard]] bool compare_exchange(T& expected, T desired, std::memory_order order) noexcept {
    M::on_exchange(&word_);
    return word_.compare_exchange_strong(expected, desired, order, std::memory_order_relaxed);
  }

  T fetch_add(T value, std::memory_order order) noexcept {
    M::on_exchange(&word_);
    return word_.fetch_add(value, order);
  }

  T fetch_or(T value, std::memory_order order) noexcept {
    M::on_exchange(&word_);
    return word_.fetch_or(value, order);
  }

  /// The word itself, for the machine to park on.
  [[nodiscard]] const std::atomic<T>& raw() const noexcept { return word_; }

  /// The value as its only writer sees it, or as set-up code sees it before the word is shared.
  [[nodiscard]] T peek() const noexcept { return word_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> word_;
};

}  // namespace heddle
