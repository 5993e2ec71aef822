#include "store/rocksdb/database.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <cstdarg>
#include <utility>
#include <vector>

#include "store/rocksdb/handle.h"

namespace heddle::store {

namespace {

/// Drops messages. RocksDB's own log, once its disk has been full, ends the process in a library
/// that was built with assertions, as Debian's was.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

rocksdb::WriteOptions commit_options(Durability durability) {
  rocksdb::WriteOptions options;
  options.sync = durability == Durability::full;
  options.disableWAL = durability == Durability::off;
  return options;
}

}  // namespace

RocksdbDatabase::RocksdbDatabase(const StoreSetup& setup)
    : folder_(setup.folder + "/database"),
      write_options_(commit_options(setup.durability)),
      files_(std::make_shared<CountingFiles>(setup.simulated_sync_us)),
      env_(rocksdb::NewCompositeEnv(files_)),
      lock_waits_(std::make_shared<LockWaits>(setup.stop)) {
  if (setup.conflicts == Conflicts::optimistic) {
    open_optimistic();
  } else {
    open_locking();
  }
}

rocksdb::Options RocksdbDatabase::options() const {
  constexpr std::size_t kCacheBytes = std::size_t{1} << 30;
  constexpr double kFilterBitsPerKey = 10;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kCacheBytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kFilterBitsPerKey));
  rocksdb::Options options;
  options.env = env_.get();
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  // Compression would make figures depend on what the values are.
  options.compression = rocksdb::kNoCompression;
  // The folder is removed.
  options.avoid_flush_during_shutdown = true;
  options.info_log = std::make_shared<NoLog>();
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

void RocksdbDatabase::open_optimistic() {
  require(rocksdb::OptimisticTransactionDB::Open(options(), folder_, &optimistic_), folder_);
  db_.reset(optimistic_);
}

void RocksdbDatabase::open_locking() {
  // The end of a lock wakes all that wait for one of its stripe.
  constexpr std::size_t kStripes = 1024;
  rocksdb::TransactionDBOptions locks;
  locks.num_stripes = kStripes;
  locks.custom_mutex_factory = lock_waits_;
  require(rocksdb::TransactionDB::Open(options(), locks, folder_, &locking_), folder_);
  db_.reset(locking_);
}

std::unique_ptr<rocksdb::Transaction> RocksdbDatabase::begin(
    std::unique_ptr<rocksdb::Transaction> ended) {
  rocksdb::Transaction* begun = nullptr;
  if (optimistic_ != nullptr) {
    begun = optimistic_->BeginTransaction(write_options_, {}, ended.release());
  } else {
    constexpr std::int64_t kLockTimeoutMs = 1000;
    rocksdb::TransactionOptions options;
    options.deadlock_detect = true;
    options.lock_timeout = kLockTimeoutMs;
    begun = locking_->BeginTransaction(write_options_, options, ended.release());
  }
  return std::unique_ptr<rocksdb::Transaction>(begun);
}

rocksdb::Status RocksdbDatabase::load(rocksdb::WriteBatch& batch) {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return db_->GetRootDB()->Write(options, &batch);
}

rocksdb::Status RocksdbDatabase::end_load() {
  const rocksdb::Status flushed = db_->Flush({});
  return flushed.ok() ? db_->CompactRange({}, nullptr, nullptr) : flushed;
}

}  // namespace heddle::store
