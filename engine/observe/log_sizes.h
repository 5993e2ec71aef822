#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>

namespace heddle {

/// The sizes of the logs of a run's workers, to determine when the limit is reached.
class LogSizes {
 public:
  /// @param most bytes, of all logs together
  LogSizes(int workers, std::size_t most)
      : most_(most),
        workers_(static_cast<std::size_t>(workers)),
        sizes_(new Size[static_cast<std::size_t>(workers)]) {}

  void tell(int worker, std::size_t bytes) {
    // relaxed: a hint.
    sizes_[worker].bytes.store(bytes, std::memory_order_relaxed);
  }

  [[nodiscard]] bool full() const {
    std::size_t bytes = 0;
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      bytes += sizes_[worker].bytes.load(std::memory_order_relaxed);  // relaxed: as above
    }
    return bytes >= most_;
  }

  /// The memory to prepare for each worker before a run that would otherwise wait for it.
  [[nodiscard]] std::size_t reserved_each() const { return std::min(most_, kReserved) / workers_; }

 private:
  static constexpr std::size_t kReserved = std::size_t{1} << 30;

  struct alignas(64) Size {
    std::atomic<std::size_t> bytes{0};
  };

  std::size_t most_;
  std::size_t workers_;
  std::unique_ptr<Size[]> sizes_;
};

}  // namespace heddle
