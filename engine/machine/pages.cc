#include "machine/pages.h"

#include <pthread.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace heddle {

namespace {

/// A bit a huge page of the address space: whether some Pages have it. Eight MiB of zeros, of which
/// hardly any are ever touched.
constexpr std::size_t kFrames = std::size_t{1} << 26;
std::array<std::atomic<std::uint64_t>, kFrames / 64> held;

std::uintptr_t frame_of(std::uintptr_t address) { return address / Pages::kHugePage % kFrames; }

void mark(const std::byte* start, std::size_t bytes, bool mine) {
  for (std::size_t at = 0; at < bytes; at += Pages::kHugePage) {
    const std::uintptr_t frame = frame_of(reinterpret_cast<std::uintptr_t>(start + at));
    const std::uint64_t bit = std::uint64_t{1} << frame % 64;
    // relaxed: who asks about memory has been given it in a way that orders the two.
    if (mine) {
      held[frame / 64].fetch_or(bit, std::memory_order_relaxed);
    } else {
      held[frame / 64].fetch_and(~bit, std::memory_order_relaxed);
    }
  }
}

std::byte* map_pages(std::size_t bytes, Pages::Size size) {
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
  (void)madvise(start, bytes, size == Pages::Size::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
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
  KeptPages() {
    pages_.reserve(Pages::kKeptBytes / Pages::kHugePage);
    // A process may be copied while another of its threads is in here.
    pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                   [] { get().mutex_.unlock(); });
  }

  std::mutex mutex_;
  std::vector<std::byte*> pages_;
};

}  // namespace

Pages::Pages(std::size_t bytes, Size size)
    : bytes_((bytes + kHugePage - 1) / kHugePage * kHugePage), size_(size) {
  if (bytes_ == kHugePage && size_ == Size::huge) start_ = KeptPages::get().take();
  if (start_ == nullptr) start_ = map_pages(bytes_, size_);
  mark(start_, bytes_, true);
}

bool Pages::hold(std::uintptr_t address) noexcept {
  const std::uintptr_t frame = frame_of(address);
  // relaxed: see mark().
  return (held[frame / 64].load(std::memory_order_relaxed) >> frame % 64 & 1) != 0;
}

Pages::~Pages() {
  if (start_ == nullptr) return;
  mark(start_, bytes_, false);
  if (bytes_ == kHugePage && size_ == Size::huge && KeptPages::get().keep(start_)) return;
  munmap(start_, bytes_);
}

}  // namespace heddle
