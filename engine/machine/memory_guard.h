#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// A control group that limits this process's memory.
struct MemoryGroup {
  std::string usage_file;  ///< holds the bytes that the group uses
  std::string stat_file;   ///< its line `inactive_file N` tells what of them is cache
  std::uint64_t limit = 0;
};

/// From here on, databases are not loaded and runs end once less memory than this is left.
///
/// To be called while nothing runs. Without it memory is not watched.
/// @param reserve_bytes what is left to others; 0: memory is not watched
void guard_memory(std::uint64_t reserve_bytes, std::vector<MemoryGroup> groups);

/// Bytes that this process may still take: the least of what the system has available, what the
/// control groups leave and what RLIMIT_AS leaves. The greatest number where nothing tells.
[[nodiscard]] std::uint64_t memory_left();

/// Bytes of memory that this process has in use, as the system counts them; 0 if it does not tell.
[[nodiscard]] std::uint64_t resident_bytes();

/// Refuses memory beyond the reserve to this thread as long as it lives: allocations of Pages throw
/// std::bad_alloc. For loading, which one thread does. A worker could not handle the exception.
class LoadingGuard {
 public:
  LoadingGuard();
  LoadingGuard(const LoadingGuard&) = delete;
  LoadingGuard& operator=(const LoadingGuard&) = delete;
  ~LoadingGuard();

  /// @throws std::bad_alloc if this thread is guarded and so many bytes would touch the reserve
  static void require(std::uint64_t bytes);
};

/// Watches memory during a run.
class MemoryWatch {
 public:
  /// Whether less than the reserve is left. Looks every few milliseconds; once true, stays true.
  [[nodiscard]] bool is_short();
  /// What is_short() gave last.
  [[nodiscard]] bool was_short() const { return short_; }

 private:
  std::chrono::steady_clock::time_point next_look_{};
  bool short_ = false;
};

}  // namespace heddle
