#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include "machine/pages.h"

namespace heddle::check {

/// An array that grows without moving its elements, so that appending costs the same each time.
///
/// Its memory is not touched before an element is added. The first few chunks come from the heap
/// and are returned to it, because most logs are short and many; those of a long log lie in huge
/// pages, which avoids a page fault every 4 KiB.
template <class T>
class Chunked {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Chunked() = default;
  Chunked(Chunked&& other) noexcept { swap(other); }
  Chunked& operator=(Chunked&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Chunked() = default;

  void push_back(const T& value) { extend() = value; }

  /// Appends an element with unspecified content. It keeps its address until the array is
  /// destroyed.
  [[nodiscard]] T& extend() {
    if (next_ == end_) [[unlikely]]
      next_chunk();
    return *next_++;
  }

  /// Reserves memory for `size` elements in all, and touches it, so that no page fault happens
  /// later.
  void reserve(std::size_t size) {
    while (chunks_.size() << kChunkBits < size) {
      T* const chunk = make_chunk();
      auto* const bytes = reinterpret_cast<volatile std::byte*>(chunk);
      for (std::size_t at = 0; at < kChunkBytes; at += kSmallPage) bytes[at] = std::byte{};
      chunks_.push_back(chunk);
    }
  }

  /// Removes the elements after the first `size`.
  void truncate(std::size_t size) {
    if (size == this->size()) return;
    used_ = (size + kMask) >> kChunkBits;
    end_ = used_ == 0 ? nullptr : chunks_[used_ - 1] + kChunk;
    next_ = end_ - ((used_ << kChunkBits) - size);
  }

  [[nodiscard]] const T& operator[](std::size_t at) const {
    return chunks_[at >> kChunkBits][at & kMask];
  }
  [[nodiscard]] T& operator[](std::size_t at) { return chunks_[at >> kChunkBits][at & kMask]; }
  [[nodiscard]] std::size_t size() const {
    return (used_ << kChunkBits) - static_cast<std::size_t>(end_ - next_);
  }
  [[nodiscard]] bool empty() const { return size() == 0; }

  /// Elements per chunk; the last chunk need not be full.
  static constexpr int kChunkBits = 11;
  static constexpr std::size_t kChunk = std::size_t{1} << kChunkBits;
  static constexpr std::size_t kMask = kChunk - 1;
  [[nodiscard]] std::size_t chunks() const { return used_; }
  [[nodiscard]] const T* chunk(std::size_t number) const { return chunks_[number]; }

 private:
  static constexpr std::size_t kChunkBytes = kChunk * sizeof(T);
  static constexpr std::size_t kChunksOnHeap = 8;
  static constexpr std::size_t kSmallPage = 4096;

  struct Deallocate {
    void operator()(T* chunk) const { std::allocator<T>().deallocate(chunk, kChunk); }
  };

  [[gnu::cold, gnu::noinline]] void next_chunk() {
    if (used_ == chunks_.size()) chunks_.push_back(make_chunk());
    next_ = chunks_[used_++];
    end_ = next_ + kChunk;
  }

  T* make_chunk() {
    if (heap_.size() < kChunksOnHeap) {
      heap_.emplace_back(std::allocator<T>().allocate(kChunk));
      return heap_.back().get();
    }
    if (page_used_ + kChunkBytes > Pages::kHugePage) {
      pages_.emplace_back(Pages::kHugePage);
      page_used_ = 0;
    }
    auto* const chunk = reinterpret_cast<T*>(pages_.back().start() + page_used_);
    page_used_ += kChunkBytes;
    return chunk;
  }

  void swap(Chunked& other) noexcept {
    std::swap(next_, other.next_);
    std::swap(end_, other.end_);
    std::swap(used_, other.used_);
    std::swap(page_used_, other.page_used_);
    chunks_.swap(other.chunks_);
    heap_.swap(other.heap_);
    pages_.swap(other.pages_);
  }

  T* next_ = nullptr;       ///< the next free element,
  T* end_ = nullptr;        ///< unless that is the end of the last chunk in use
  std::size_t used_ = 0;    ///< number of chunks in use
  std::vector<T*> chunks_;  ///< all of them
  std::vector<std::unique_ptr<T[], Deallocate>> heap_;
  std::vector<Pages> pages_;
  std::size_t page_used_ = Pages::kHugePage;  ///< bytes of the last page
};

}  // namespace heddle::check
