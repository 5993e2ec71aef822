#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace heddle::store {

/// The system's files as RocksDB uses them, with a count of the calls that wait for the disk. Such
/// a wait can be simulated, so that figures do not depend on the disk.
class CountingFiles final : public rocksdb::FileSystemWrapper {
 public:
  /// @param simulated_sync_us the microseconds of a wait for the disk, which then forces nothing
  ///        there; 0: it takes as long as the disk
  explicit CountingFiles(double simulated_sync_us);

  [[nodiscard]] const char* Name() const override { return "HeddleCountingFiles"; }
  [[nodiscard]] std::uint64_t syncs() const {
    return syncs_.load(std::memory_order_relaxed);  // relaxed: only counted
  }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* context) override;

 private:
  class File;
  class Directory;

  /// Counts a wait. False: it is simulated, and over.
  bool waits_for_disk();

  std::chrono::nanoseconds simulated_sync_;
  std::atomic<std::uint64_t> syncs_{0};
};

}  // namespace heddle::store
