#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace heddle {

/// Memory directly from the operating system, in huge pages where it grants them.
///
/// A database is accessed at random and grows while it is measured. With small pages most rows cost
/// a TLB miss, and 4 KiB of growth a page fault of a few microseconds under a hypervisor: a tenth
/// of a worker's time under TPC-C. Single pages that are released are kept for the next database of
/// the process, up to kKeptBytes, because fresh ones may have to come from the hypervisor, which
/// takes milliseconds.
///
/// Small pages are for memory of which little will be touched: huge ones are not requested for it,
/// and it is not kept.
///
/// Start and length are multiples of kHugePage; the content of the memory is not defined. Throws
/// std::bad_alloc. Any thread may create one.
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

  /// Obtains single huge pages from the system, already touched, for later use: `bytes` including
  /// those kept already, kKeptBytes at most, and fewer if the system grants no more.
  static void make_ready(std::size_t bytes);
  /// The total bytes of all Pages ever created, including those released since.
  [[nodiscard]] static std::uint64_t bytes_had() noexcept;

  /// Whether an address lies in memory of some Pages. Its offset within its small page is then the
  /// same in every process, which is not the case for the heap.
  [[nodiscard]] static bool hold(std::uintptr_t address) noexcept;
  [[nodiscard]] static bool hold(const void* address) noexcept {
    return hold(reinterpret_cast<std::uintptr_t>(address));
  }
  /// The position of an address if all memory of Pages were laid out in the order in which it was
  /// obtained. Memory obtained by one thread has the same order in every process; its addresses do
  /// not. Memory that is released and obtained again gets a new position. Precondition:
  /// hold(address).
  [[nodiscard]] static std::uintptr_t place(const void* address) noexcept;

  [[nodiscard]] std::byte* start() const { return start_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
  Size size_ = Size::huge;
};

/// An array of values initialised to T{}, in huge pages.
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
