#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// A control group that limits this process's memory.
struct MemoryGroup {
  std::string usage_file;  ///< holds the bytes that the group uses
  std::string stat_file;   ///< its line `inactive_file N` gives the part of it that is cache
  std::uint64_t limit = 0;
};

/// From here on, databases are not loaded and runs end once less memory than the reserve is left.
///
/// To be called while no run is in progress. Without it memory is not watched.
/// @param reserve_bytes the memory to be left to others; 0: memory is not watched
void guard_memory(std::uint64_t reserve_bytes, std::vector<MemoryGroup> groups);

/// Bytes that this process may still allocate: the least of what the system has available, what the
/// control groups leave and what RLIMIT_AS leaves. The greatest number if none of them is known.
[[nodiscard]] std::uint64_t memory_left();

/// Bytes of memory that this process uses, as counted by the system; 0 if not known.
[[nodiscard]] std::uint64_t resident_bytes();

/// While it lives, refuses this thread memory beyond the reserve: allocations of Pages throw
/// std::bad_alloc. For loading, which one thread does; a worker could not handle the exception.
class LoadingGuard {
 public:
  LoadingGuard();
  LoadingGuard(const LoadingGuard&) = delete;
  LoadingGuard& operator=(const LoadingGuard&) = delete;
  ~LoadingGuard();

  /// @throws std::bad_alloc if this thread is guarded and `bytes` more would touch the reserve
  static void require(std::uint64_t bytes);
};

/// Watches memory during a run.
class MemoryWatch {
 public:
  /// Whether less than the reserve is left. Checks every few milliseconds; once true, stays true.
  [[nodiscard]] bool is_short();
  /// The last result of is_short().
  [[nodiscard]] bool was_short() const { return short_; }

 private:
  std::chrono::steady_clock::time_point next_look_{};
  bool short_ = false;
};

}  // namespace heddle
