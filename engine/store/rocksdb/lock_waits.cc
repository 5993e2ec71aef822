#include "store/rocksdb/lock_waits.h"

#include <chrono>
#include <condition_variable>

namespace heddle::store {

class LockWaits::Mutex final : public rocksdb::TransactionDBMutex {
 public:
  rocksdb::Status Lock() override {
    mutex_.lock();
    return rocksdb::Status::OK();
  }
  /// It is held for moments only, so a time-out need not be exact.
  rocksdb::Status TryLockFor(std::int64_t timeout_us) override {
    if (timeout_us != 0) return Lock();
    return mutex_.try_lock() ? rocksdb::Status::OK()
                             : rocksdb::Status::TimedOut(rocksdb::Status::kMutexTimeout);
  }
  void UnLock() override { mutex_.unlock(); }

  [[nodiscard]] std::mutex& get() { return mutex_; }

 private:
  std::mutex mutex_;
};

class LockWaits::Condition final : public rocksdb::TransactionDBCondVar {
 public:
  explicit Condition(const std::atomic<std::uint64_t>* stop) : stop_(stop) {}

  rocksdb::Status Wait(std::shared_ptr<rocksdb::TransactionDBMutex> mutex) override {
    return wait(mutex, [this](std::unique_lock<std::mutex>& lock) {
      changed_.wait(lock);
      return std::cv_status::no_timeout;
    });
  }
  rocksdb::Status WaitFor(std::shared_ptr<rocksdb::TransactionDBMutex> mutex,
                          std::int64_t timeout_us) override {
    if (timeout_us < 0) return Wait(std::move(mutex));
    return wait(mutex, [this, timeout_us](std::unique_lock<std::mutex>& lock) {
      return changed_.wait_for(lock, std::chrono::microseconds(timeout_us));
    });
  }
  void Notify() override { changed_.notify_one(); }
  void NotifyAll() override { changed_.notify_all(); }

  void wake() {
    // Without the mutex it could come between the check of the stop word and the wait.
    const auto mutex = waits_with_.load();
    if (mutex == nullptr) return;
    const std::lock_guard lock(mutex->get());
    changed_.notify_all();
  }

 private:
  template <class WaitOnce>
  rocksdb::Status wait(const std::shared_ptr<rocksdb::TransactionDBMutex>& held,
                       WaitOnce wait_once) {
    const auto mutex = std::static_pointer_cast<Mutex>(held);
    waits_with_.store(mutex);
    if (stopped()) return rocksdb::Status::TimedOut(rocksdb::Status::kLockTimeout);
    std::unique_lock lock(mutex->get(), std::adopt_lock);
    const bool timed_out = wait_once(lock) == std::cv_status::timeout;
    lock.release();  // it stays locked
    if (timed_out || stopped()) return rocksdb::Status::TimedOut(rocksdb::Status::kMutexTimeout);
    return rocksdb::Status::OK();
  }
  [[nodiscard]] bool stopped() const { return stop_->load() != 0; }

  const std::atomic<std::uint64_t>* stop_;
  std::condition_variable changed_;
  std::atomic<std::shared_ptr<Mutex>> waits_with_;  ///< always the same one
};

std::shared_ptr<rocksdb::TransactionDBMutex> LockWaits::AllocateMutex() {
  return std::make_shared<Mutex>();
}

std::shared_ptr<rocksdb::TransactionDBCondVar> LockWaits::AllocateCondVar() {
  auto condition = std::make_shared<Condition>(stop_);
  const std::lock_guard lock(mutex_);
  conditions_.push_back(condition);
  return condition;
}

void LockWaits::wake() {
  const std::lock_guard lock(mutex_);
  for (const auto& each : conditions_) {
    if (const auto condition = each.lock()) condition->wake();
  }
}

}  // namespace heddle::store
