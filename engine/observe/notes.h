#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace heddle::check {

/// A list to which appending takes four inlined instructions, for frequent appending and clearing:
/// std::vector calls a function for it.
template <class T>
class Notes {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  [[gnu::always_inline]] void add(const T& note) {
    if (next_ == end_) [[unlikely]]
      grow();
    *next_++ = note;
  }
  void clear() { next_ = notes_.get(); }

  [[nodiscard]] const T* begin() const { return notes_.get(); }
  [[nodiscard]] const T* end() const { return next_; }

 private:
  [[gnu::cold, gnu::noinline]] void grow() {
    const auto size = static_cast<std::size_t>(next_ - notes_.get());
    const std::size_t room = 2 * size + 64;
    auto larger = std::make_unique<T[]>(room);
    std::copy(notes_.get(), next_, larger.get());
    notes_ = std::move(larger);
    next_ = notes_.get() + size;
    end_ = notes_.get() + room;
  }

  std::unique_ptr<T[]> notes_;
  T* next_ = nullptr;
  T* end_ = nullptr;
};

}  // namespace heddle::check
