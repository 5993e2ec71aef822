#pragma once

#include <cstddef>
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
/// Start and length are multiples of kHugePage; what the memory holds is not defined. Throws
/// std::bad_alloc. Any thread may make one.
class Pages {
 public:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kKeptBytes = std::size_t{1} << 30;

  explicit Pages(std::size_t bytes);
  Pages(Pages&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pages();

  [[nodiscard]] std::byte* start() const { return start_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace heddle
