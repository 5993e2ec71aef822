#pragma once

#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

namespace heddle::store {

/// The system's files as SQLite uses them, with a count of the calls that wait for the disk. Such a
/// wait can be simulated, so that figures do not depend on the disk.
class CountingVfs {
 public:
  /// @param simulated_sync_us the microseconds of a wait for the disk, which then forces nothing
  ///        there; 0: it takes as long as the disk
  /// @throws std::runtime_error if SQLite has no access to files
  explicit CountingVfs(double simulated_sync_us);
  CountingVfs(const CountingVfs&) = delete;
  CountingVfs& operator=(const CountingVfs&) = delete;
  /// Its files must be closed.
  ~CountingVfs();

  /// For sqlite3_open_v2().
  [[nodiscard]] const char* name() const { return name_.c_str(); }
  [[nodiscard]] std::uint64_t syncs() const {
    return syncs_.load(std::memory_order_relaxed);  // relaxed: only counted
  }

 private:
  /// The methods of a kind of file, one of which counts.
  struct Methods {
    sqlite3_io_methods counting;  ///< first: SQLite passes its address
    const sqlite3_io_methods* plain;
    CountingVfs* owner;
  };

  /// What SQLite knows of this object.
  struct Registered {
    sqlite3_vfs vfs;  ///< first: SQLite passes its address
    CountingVfs* owner;
  };

  static int open(sqlite3_vfs* vfs, const char* file_name, sqlite3_file* file, int flags,
                  int* flags_used);
  static int sync(sqlite3_file* file, int flags);
  [[nodiscard]] const Methods& counting(const sqlite3_io_methods* plain);

  std::chrono::nanoseconds simulated_sync_;
  sqlite3_vfs* plain_;
  std::string name_;
  Registered registered_{};
  std::atomic<std::uint64_t> syncs_{0};
  std::mutex mutex_;
  std::deque<Methods> methods_;  ///< of each kind of file; their addresses stay
};

}  // namespace heddle::store
