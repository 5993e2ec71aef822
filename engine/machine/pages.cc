#include "machine/pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace heddle {

namespace {

std::byte* map_pages(std::size_t bytes) {
  // A huge page is aligned to its size and the system aligns only to small ones: one more is
  // mapped, and what stands out at either end is given back.
  void* const memory = mmap(nullptr, bytes + Pages::kHugePage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(begin) % Pages::kHugePage;
  const std::size_t before = over == 0 ? 0 : Pages::kHugePage - over;
  std::byte* const start = begin + before;
  if (before != 0) munmap(begin, before);
  munmap(start + bytes, Pages::kHugePage - before);
  // Advice: a system without huge pages refuses it, and the memory is as good.
  (void)madvise(start, bytes, MADV_HUGEPAGE);
  return start;
}

/// Single huge pages that nobody holds. Lives as long as the process: databases may outlive any
/// static object.
class KeptPages {
 public:
  static KeptPages& get() {
    static auto* const kept = new KeptPages;
    return *kept;
  }

  std::byte* take() {
    const std::lock_guard lock(mutex_);
    if (pages_.empty()) return nullptr;
    std::byte* const page = pages_.back();
    pages_.pop_back();
    return page;
  }

  /// False if enough are kept.
  bool keep(std::byte* page) {
    const std::lock_guard lock(mutex_);
    if (pages_.size() == pages_.capacity()) return false;
    pages_.push_back(page);
    return true;
  }

 private:
  KeptPages() { pages_.reserve(Pages::kKeptBytes / Pages::kHugePage); }

  std::mutex mutex_;
  std::vector<std::byte*> pages_;
};

}  // namespace

Pages::Pages(std::size_t bytes) : bytes_((bytes + kHugePage - 1) / kHugePage * kHugePage) {
  if (bytes_ == kHugePage) start_ = KeptPages::get().take();
  if (start_ == nullptr) start_ = map_pages(bytes_);
}

Pages::~Pages() {
  if (start_ == nullptr) return;
  if (bytes_ == kHugePage && KeptPages::get().keep(start_)) return;
  munmap(start_, bytes_);
}

}  // namespace heddle
