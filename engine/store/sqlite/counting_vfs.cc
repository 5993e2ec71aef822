#include "store/sqlite/counting_vfs.h"

#include <cstdint>
#include <stdexcept>
#include <thread>

namespace heddle::store {

namespace {

std::string next_name() {
  static std::atomic<std::uint64_t> last{0};
  // relaxed: the names only have to differ.
  return "heddle-" + std::to_string(last.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

CountingVfs::CountingVfs(double simulated_sync_us)
    : simulated_sync_(std::chrono::nanoseconds(static_cast<std::int64_t>(simulated_sync_us * 1e3))),
      plain_(sqlite3_vfs_find(nullptr)),
      name_(next_name()) {
  if (plain_ == nullptr) throw std::runtime_error("store sqlite: this SQLite opens no files");
  // What is not replaced works on the copy as on the original: it reads no more than the copy has.
  registered_ = {*plain_, this};
  registered_.vfs.pNext = nullptr;
  registered_.vfs.zName = name_.c_str();
  registered_.vfs.xOpen = &CountingVfs::open;
  sqlite3_vfs_register(&registered_.vfs, 0);
}

CountingVfs::~CountingVfs() { sqlite3_vfs_unregister(&registered_.vfs); }

int CountingVfs::open(sqlite3_vfs* vfs, const char* file_name, sqlite3_file* file, int flags,
                      int* flags_used) {
  CountingVfs* self = reinterpret_cast<Registered*>(vfs)->owner;
  const int code = self->plain_->xOpen(vfs, file_name, file, flags, flags_used);
  if (file->pMethods != nullptr) file->pMethods = &self->counting(file->pMethods).counting;
  return code;
}

int CountingVfs::sync(sqlite3_file* file, int flags) {
  const auto* methods = reinterpret_cast<const Methods*>(file->pMethods);
  methods->owner->syncs_.fetch_add(1, std::memory_order_relaxed);  // relaxed: only counted
  if (const auto simulated = methods->owner->simulated_sync_; simulated.count() != 0) {
    std::this_thread::sleep_for(simulated);
    return SQLITE_OK;
  }
  return methods->plain->xSync(file, flags);
}

const CountingVfs::Methods& CountingVfs::counting(const sqlite3_io_methods* plain) {
  const std::lock_guard lock(mutex_);
  for (const Methods& known : methods_) {
    if (known.plain == plain) return known;
  }
  Methods& added = methods_.emplace_back(Methods{*plain, plain, this});
  added.counting.xSync = &CountingVfs::sync;
  return added;
}

}  // namespace heddle::store
