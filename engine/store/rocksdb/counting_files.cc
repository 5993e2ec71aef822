#include "store/rocksdb/counting_files.h"

#include <rocksdb/env.h>

#include <thread>
#include <utility>

namespace heddle::store {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class CountingFiles::File final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  File(std::unique_ptr<rocksdb::FSWritableFile> file, CountingFiles& owner)
      : FSWritableFileOwnerWrapper(std::move(file)), owner_(owner) {}

  IOStatus Sync(const IOOptions& options, IODebugContext* context) override {
    return owner_.waits_for_disk() ? target()->Sync(options, context) : flush(options, context);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    return owner_.waits_for_disk() ? target()->Fsync(options, context) : flush(options, context);
  }

 private:
  IOStatus flush(const IOOptions& options, IODebugContext* context) {
    return target()->Flush(options, context);
  }

  CountingFiles& owner_;
};

class CountingFiles::Directory final : public rocksdb::FSDirectoryWrapper {
 public:
  Directory(std::unique_ptr<rocksdb::FSDirectory> directory, CountingFiles& owner)
      : FSDirectoryWrapper(std::move(directory)), owner_(owner) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    return owner_.waits_for_disk() ? FSDirectoryWrapper::Fsync(options, context) : IOStatus::OK();
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* context,
                               const rocksdb::DirFsyncOptions& what) override {
    return owner_.waits_for_disk() ? FSDirectoryWrapper::FsyncWithDirOptions(options, context, what)
                                   : IOStatus::OK();
  }

 private:
  CountingFiles& owner_;
};

CountingFiles::CountingFiles(double simulated_sync_us)
    : FileSystemWrapper(rocksdb::FileSystem::Default()),
      simulated_sync_(
          std::chrono::nanoseconds(static_cast<std::int64_t>(simulated_sync_us * 1e3))) {}

bool CountingFiles::waits_for_disk() {
  syncs_.fetch_add(1, std::memory_order_relaxed);  // relaxed: only counted
  if (simulated_sync_.count() == 0) return true;
  std::this_thread::sleep_for(simulated_sync_);
  return false;
}

IOStatus CountingFiles::NewWritableFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSWritableFile>* file,
                                        IODebugContext* context) {
  IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, context);
  if (status.ok()) *file = std::make_unique<File>(std::move(*file), *this);
  return status;
}

IOStatus CountingFiles::ReopenWritableFile(const std::string& name,
                                           const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                                           IODebugContext* context) {
  IOStatus status = FileSystemWrapper::ReopenWritableFile(name, options, file, context);
  if (status.ok()) *file = std::make_unique<File>(std::move(*file), *this);
  return status;
}

IOStatus CountingFiles::ReuseWritableFile(const std::string& name, const std::string& old_name,
                                          const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSWritableFile>* file,
                                          IODebugContext* context) {
  IOStatus status = FileSystemWrapper::ReuseWritableFile(name, old_name, options, file, context);
  if (status.ok()) *file = std::make_unique<File>(std::move(*file), *this);
  return status;
}

IOStatus CountingFiles::NewDirectory(const std::string& name, const IOOptions& options,
                                     std::unique_ptr<rocksdb::FSDirectory>* directory,
                                     IODebugContext* context) {
  IOStatus status = FileSystemWrapper::NewDirectory(name, options, directory, context);
  if (status.ok()) *directory = std::make_unique<Directory>(std::move(*directory), *this);
  return status;
}

}  // namespace heddle::store
