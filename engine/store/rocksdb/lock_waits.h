#pragma once

#include <rocksdb/utilities/transaction_db_mutex.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace heddle::store {

/// The mutexes and condition variables with which RocksDB's transactions wait for locks. These
/// waits end with the run.
class LockWaits final : public rocksdb::TransactionDBMutexFactory {
 public:
  /// @param stop nonzero: every wait must end
  explicit LockWaits(const std::atomic<std::uint64_t>* stop) : stop_(stop) {}

  std::shared_ptr<rocksdb::TransactionDBMutex> AllocateMutex() override;
  std::shared_ptr<rocksdb::TransactionDBCondVar> AllocateCondVar() override;

  /// After the stop word has been set.
  void wake();

 private:
  class Mutex;
  class Condition;

  const std::atomic<std::uint64_t>* stop_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<Condition>> conditions_;
};

}  // namespace heddle::store
