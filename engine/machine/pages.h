#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace heddle {

/// Memory straight from the operating system, in huge pages where it grants them.
///
/// A database is walked at random and grows while it is measured. With small pages most rows cost a
/// TLB miss, and 4 KiB of growth a page fault of a few microseconds under a hypervisor: a tenth of
/// a worker's time under TPC-C. Single pages that are given back are kept for the next database of
/// the process, up to kKeptBytes, because fresh ones may have to come from the hypervisor, which
/// takes milliseconds.
///
/// Small pages are for memory of which little will be touched: they are neither asked for as huge
/// ones nor kept.
///
/// Start and length are multiples of kHugePage; what the memory holds is not defined. Throws
/// std::bad_alloc. Any thread may make one.
class Pages {
 public:
  enum class Size : unsigned char { huge, small };

  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kKeptBytes = std::size_t{1} << 30;

  explicit Pages(std::size_t bytes, Size size = Size::huge);
  Pages(Pages&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        size_(other.size_) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Pages();

  /// Gets single huge pages from the system, touched, for later use: `bytes` with those that are
  /// kept already, kKeptBytes at most, and fewer where the system gives no more.
  static void make_ready(std::size_t bytes);
  /// How many bytes all that were made have had, whatever was given back since.
  [[nodiscard]] static std::uint64_t bytes_had() noexcept;

  /// Whether an address lies in memory of some Pages: then where it stands within its small page is
  /// the same in every process, which is not so for the heap.
  [[nodiscard]] static bool hold(std::uintptr_t address) noexcept;
  [[nodiscard]] static bool hold(const void* address) noexcept {
    return hold(reinterpret_cast<std::uintptr_t>(address));
  }
  /// Where an address would stand if whatever Pages get lay above all that others got before. What
  /// one thread gets has the same order in every process, which its addresses have not. Whoever
  /// gets memory that others gave back has it anew. Precondition: hold(address).
  [[nodiscard]] static std::uintptr_t place(const void* address) noexcept;

  [[nodiscard]] std::byte* start() const { return start_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
  Size size_ = Size::huge;
};

/// So many values that start out as T{}, in huge pages.
template <class T>
class PageArray {
 public:
  explicit PageArray(std::size_t count)
      : pages_(count * sizeof(T)), values_(reinterpret_cast<T*>(pages_.start())), count_(count) {
    static_assert(std::is_trivially_destructible_v<T>);
    std::uninitialized_fill_n(values_, count, T{});
  }

  [[nodiscard]] T& operator[](std::size_t at) { return values_[at]; }
  [[nodiscard]] const T& operator[](std::size_t at) const { return values_[at]; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] T* begin() { return values_; }
  [[nodiscard]] T* end() { return values_ + count_; }

 private:
  Pages pages_;
  T* values_;
  std::size_t count_;
};

}  // namespace heddle
