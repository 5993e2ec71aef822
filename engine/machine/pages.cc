#include "machine/pages.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "machine/memory_guard.h"
#include "machine/numa.h"

namespace heddle {

namespace {

/// Numbers the huge pages that all Pages hold, in the order in which they were obtained. The
/// numbers are kept in blocks of pages adjacent in the address space; a block is created for the
/// first page in it and kept for good.
class Frames {
 public:
  using Number = std::uint32_t;

  void get(const std::byte* start, std::size_t bytes) {
    const std::size_t count = bytes / Pages::kHugePage;
    // relaxed: it only matters that all numbers differ.
    Number number = last_.fetch_add(static_cast<Number>(count), std::memory_order_relaxed);
    for (std::size_t at = 0; at < bytes; at += Pages::kHugePage) set(start + at, ++number);
  }

  void give_back(const std::byte* start, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += Pages::kHugePage) set(start + at, 0);
  }

  [[nodiscard]] Number last() const {
    // relaxed: a count.
    return last_.load(std::memory_order_relaxed);
  }

  /// 0: no Pages holds it.
  [[nodiscard]] Number number_of(std::uintptr_t address) const {
    const std::uintptr_t frame = frame_of(address);
    // acquire: the creator of the block has filled it with zeros.
    const Block* const block = blocks_[frame / kNeighbours].load(std::memory_order_acquire);
    // relaxed: a caller has received the memory in a way that orders the two.
    return block == nullptr ? 0 : (*block)[frame % kNeighbours].load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uintptr_t kFrames = std::uintptr_t{1} << 26;
  static constexpr std::uintptr_t kNeighbours = std::uintptr_t{1} << 13;
  using Block = std::array<std::atomic<Number>, kNeighbours>;

  static std::uintptr_t frame_of(std::uintptr_t address) {
    return address / Pages::kHugePage % kFrames;
  }

  void set(const std::byte* start, Number number) {
    const std::uintptr_t frame = frame_of(reinterpret_cast<std::uintptr_t>(start));
    // relaxed: see number_of().
    block(frame / kNeighbours)[frame % kNeighbours].store(number, std::memory_order_relaxed);
  }

  Block& block(std::uintptr_t place) {
    // acquire: see number_of().
    Block* there = blocks_[place].load(std::memory_order_acquire);
    if (there != nullptr) return *there;
    auto made = std::make_unique<Block>();
    // acq_rel: publishes the zeros of this block, or acquires those of the block that was first.
    if (blocks_[place].compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) {
      there = made.release();
    }
    return *there;
  }

  std::array<std::atomic<Block*>, kFrames / kNeighbours> blocks_{};
  std::atomic<Number> last_{0};
};

constinit Frames frames;

std::byte* map_pages(std::size_t bytes, Pages::Size size) {
  // A huge page is aligned to its size and the system aligns only to small ones: one more page is
  // mapped, and the excess at either end is unmapped.
  LoadingGuard::require(bytes);
  void* const memory = mmap(nullptr, bytes + Pages::kHugePage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(begin) % Pages::kHugePage;
  const std::size_t before = over == 0 ? 0 : Pages::kHugePage - over;
  std::byte* const start = begin + before;
  if (before != 0) munmap(begin, before);
  munmap(start + bytes, Pages::kHugePage - before);
  // Advisory: a system without huge pages refuses it, and the memory works the same.
  (void)madvise(start, bytes, size == Pages::Size::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return start;
}

/// Single huge pages that are not in use, by the memory node on which they lie: a worker gets one
/// of its own node, or a fresh one, which the system places there. Lives as long as the process:
/// databases may outlive any static object.
class KeptPages {
 public:
  static KeptPages& get() {
    static auto* const kept = new KeptPages;
    return *kept;
  }

  std::byte* take() {
    const int node = numa::here();
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& pages = of_node(node);
    if (pages.empty()) return nullptr;
    std::byte* const page = pages.back();
    pages.pop_back();
    return page;
  }

  [[nodiscard]] std::size_t count(int node) {
    const std::lock_guard lock(mutex_);
    return of_node(node).size();
  }

  /// False if enough pages are kept already.
  /// @param page touched before
  bool keep(std::byte* page) {
    const int node = numa::node_of(page);
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& pages = of_node(node);
    if (pages.size() == pages.capacity()) return false;
    pages.push_back(page);
    return true;
  }

 private:
  KeptPages() {
    for (std::vector<std::byte*>& pages : pages_) {
      pages.reserve(Pages::kKeptBytes / Pages::kHugePage / pages_.size());
    }
    // A process may be forked while another of its threads is in here.
    pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                   [] { get().mutex_.unlock(); });
  }

  /// A node whose cores the process may not use counts as the first one.
  std::vector<std::byte*>& of_node(int node) {
    const auto found = std::ranges::find(numa::nodes(), node);
    const auto at = found == numa::nodes().end() ? 0 : found - numa::nodes().begin();
    return pages_[static_cast<std::size_t>(at)];
  }

  std::mutex mutex_;
  std::vector<std::vector<std::byte*>> pages_{numa::nodes().size()};
};

}  // namespace

Pages::Pages(std::size_t bytes, Size size)
    : bytes_((bytes + kHugePage - 1) / kHugePage * kHugePage), size_(size) {
  if (bytes_ == kHugePage && size_ == Size::huge) start_ = KeptPages::get().take();
  if (start_ == nullptr) start_ = map_pages(bytes_, size_);
  frames.get(start_, bytes_);
}

void Pages::make_ready(std::size_t bytes) {
  constexpr std::size_t kSmallPage = 4096;  // where the system grants no huge ones
  // Workers are spread over the cores, so every node gets an equal share.
  const std::size_t wanted = std::min(bytes, kKeptBytes) / kHugePage / numa::nodes().size();
  try {
    for (const int node : numa::nodes()) {
      // No more than `wanted`, however many are taken meanwhile.
      for (std::size_t made = KeptPages::get().count(node); made < wanted; ++made) {
        std::byte* const page = map_pages(kHugePage, Size::huge);
        numa::prefer(page, kHugePage, node);
        for (std::size_t at = 0; at < kHugePage; at += kSmallPage) page[at] = std::byte{0};
        if (!KeptPages::get().keep(page)) munmap(page, kHugePage);
      }
    }
  } catch (const std::bad_alloc&) {
    // Only a head start: a later allocation requests the memory again and reports the failure.
  }
}

std::uint64_t Pages::bytes_had() noexcept { return std::uint64_t{frames.last()} * kHugePage; }

bool Pages::hold(std::uintptr_t address) noexcept { return frames.number_of(address) != 0; }

std::uintptr_t Pages::place(const void* address) noexcept {
  assert(hold(address));
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  return std::uintptr_t{frames.number_of(where)} * kHugePage + where % kHugePage;
}

Pages::~Pages() {
  if (start_ == nullptr) return;
  frames.give_back(start_, bytes_);
  if (bytes_ == kHugePage && size_ == Size::huge && KeptPages::get().keep(start_)) return;
  munmap(start_, bytes_);
}

}  // namespace heddle
