#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include "machine/pages.h"

namespace heddle {

/// Memory of one worker: size classes cut from large chunks, each with its own free list.
///
/// Only its worker uses it, so it takes no lock and no atomic. Chunks are returned to the system
/// when the arena is destroyed; blocks must therefore hold nothing that needs a destructor. A block
/// may be released to another worker's arena than the one it was allocated from. Under
/// AddressSanitizer released blocks are poisoned, so that a use after reclamation is reported.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (const Pages& chunk : chunks_) unpoison(chunk.start(), chunk.bytes());
  }

  /// Sets the page size of the chunks allocated from now on.
  void use_pages(Pages::Size size) { pages_ = size; }

  /// A block of at least `bytes`, aligned to 16 bytes (64 where its class is a multiple of 64).
  [[nodiscard]] void* allocate(std::size_t bytes) {
    const std::size_t size = class_size(bytes);
    live_bytes_ += static_cast<std::int64_t>(size);
    if (size <= kLargestClass) [[likely]] {
      FreeBlock*& head = free_[size / kGranule];
      if (head != nullptr) {
        FreeBlock* block = head;
        unpoison(block, size);
        head = block->next;
        __builtin_prefetch(head, 1);  // for the next allocation
        return block;
      }
    }
    return carve(size);
  }

  /// Takes back a block of `bytes` (as given to allocate) at once.
  void release(void* block, std::size_t bytes) {
    const std::size_t size = class_size(bytes);
    live_bytes_ -= static_cast<std::int64_t>(size);
    if (size > kLargestClass) {
      large_.push_back({static_cast<std::byte*>(block), size});
      poison(block, size);
      return;
    }
    auto* node = static_cast<FreeBlock*>(block);
    node->next = free_[size / kGranule];
    free_[size / kGranule] = node;
    poison(block, size);
  }

  /// Bytes allocated less bytes released; may be negative, because blocks move between arenas.
  [[nodiscard]] std::int64_t live_bytes() const { return live_bytes_; }
  /// Bytes held from the system.
  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  struct Span {
    std::byte* start;
    std::size_t bytes;
  };

  static constexpr std::size_t kGranule = 16;
  static constexpr std::size_t kCacheLine = 64;
  static constexpr std::size_t kLargestClass = 8192;
  static constexpr std::size_t kChunkBytes = Pages::kHugePage;

  static constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) {
    return (bytes + to - 1) / to * to;
  }

  /// Rounds up to whole cache lines, so that no two blocks share one, unless that wastes a third of
  /// them or more.
  static constexpr std::size_t class_size(std::size_t bytes) {
    const std::size_t lines = rounded_up(bytes, kCacheLine);
    const bool fills_lines = bytes >= kCacheLine && 3 * (lines - bytes) < lines;
    return fills_lines ? lines : std::max(rounded_up(bytes, kGranule), kGranule);
  }

  void* carve(std::size_t size) {
    if (size > kLargestClass) {
      for (Span& free : large_) {
        if (free.bytes == size) {
          std::byte* block = free.start;
          free = large_.back();
          large_.pop_back();
          unpoison(block, size);
          return block;
        }
      }
    }
    if (size > kChunkBytes / 4) return new_chunk(size);
    const std::size_t misaligned = size % kCacheLine == 0 ? cursor_ % kCacheLine : 0;
    const std::size_t padding = misaligned == 0 ? 0 : kCacheLine - misaligned;
    if (cursor_ + padding + size > kChunkBytes || current_ == nullptr) {
      current_ = new_chunk(kChunkBytes);
      cursor_ = 0;
    } else {
      cursor_ += padding;
    }
    std::byte* block = current_ + cursor_;
    cursor_ += size;
    return block;
  }

  std::byte* new_chunk(std::size_t bytes) {
    held_bytes_ += chunks_.emplace_back(bytes, pages_).bytes();
    return chunks_.back().start();
  }

  static void poison([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(block, bytes);
#endif
  }
  static void unpoison([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(block, bytes);
#endif
  }

  std::array<FreeBlock*, kLargestClass / kGranule + 1> free_{};
  std::vector<Pages> chunks_;
  std::vector<Span> large_;
  std::byte* current_ = nullptr;
  std::size_t cursor_ = 0;
  std::int64_t live_bytes_ = 0;
  std::size_t held_bytes_ = 0;
  Pages::Size pages_ = Pages::Size::huge;
};

/// A standard allocator that takes its memory from an arena, which must outlive the container.
template <class T>
class ArenaAllocator {
 public:
  using value_type = T;

  explicit ArenaAllocator(Arena& arena) noexcept : arena_(&arena) {}
  template <class Other>
  // NOLINTNEXTLINE(google-explicit-constructor): required by the standard
  ArenaAllocator(const ArenaAllocator<Other>& other) noexcept : arena_(&other.arena()) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    static_assert(alignof(T) <= 16);
    return static_cast<T*>(arena_->allocate(count * sizeof(T)));
  }
  void deallocate(T* block, std::size_t count) noexcept {
    arena_->release(block, count * sizeof(T));
  }

  [[nodiscard]] Arena& arena() const noexcept { return *arena_; }
  bool operator==(const ArenaAllocator& other) const noexcept { return arena_ == other.arena_; }

 private:
  Arena* arena_;
};

}  // namespace heddle
