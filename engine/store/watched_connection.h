#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "store/connection.h"

namespace heddle::store {

/// A connection that can say, from any thread, which of its calls has not returned.
class WatchedConnection final : public Connection {
 public:
  explicit WatchedConnection(std::unique_ptr<Connection> inner) : inner_(std::move(inner)) {}

  Status begin(Access access) override {
    const Call call(*this, "begin");
    return inner_->begin(access);
  }
  Status get(std::size_t table, Bytes key, RowLock lock, std::span<std::byte> out) override {
    const Call call(*this, "read");
    return inner_->get(table, key, lock, out);
  }
  [[nodiscard]] bool reads_faster_together() const override {
    return inner_->reads_faster_together();
  }
  Status get_all(std::span<RowToRead> rows) override {
    const Call call(*this, "read");
    return inner_->get_all(rows);
  }
  Status put(std::size_t table, Bytes key, Bytes value, Put how) override {
    const Call call(*this, "write");
    return inner_->put(table, key, value, how);
  }
  Status erase(std::size_t table, Bytes key) override {
    const Call call(*this, "delete");
    return inner_->erase(table, key);
  }
  Status scan(std::size_t table, Bytes lo, Bytes hi, Direction direction, std::size_t expected,
              RowLock lock, Visit visit) override {
    const Call call(*this, "scan");
    return inner_->scan(table, lo, hi, direction, expected, lock, visit);
  }
  Status savepoint() override {
    const Call call(*this, "savepoint");
    return inner_->savepoint();
  }
  Status rollback_to_savepoint() override {
    const Call call(*this, "rollback");
    return inner_->rollback_to_savepoint();
  }
  Status commit() override {
    const Call call(*this, "commit");
    return inner_->commit();
  }
  void rollback() override {
    const Call call(*this, "rollback");
    inner_->rollback();
  }
  void interrupt() override { inner_->interrupt(); }
  [[nodiscard]] const std::string& error() const override { return inner_->error(); }

  /// What it does, as in "a commit has not returned for 12 s"; empty: no call is in progress.
  [[nodiscard]] std::string call_in_progress() const {
    // relaxed: a message, for which neither has to belong to the other.
    const char* name = name_.load(std::memory_order_relaxed);
    if (name == nullptr) return "";
    const auto since =
        Clock::now() - Clock::time_point(Clock::duration(begun_.load(std::memory_order_relaxed)));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    return "a " + std::string(name) + " has not returned for " + std::to_string(seconds) + " s";
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// A call in progress, until it is destroyed. What a scan visits may make others.
  class Call {
   public:
    Call(WatchedConnection& owner, const char* name)
        : owner_(owner), outer_(owner.name_.exchange(name, std::memory_order_relaxed)) {
      owner_.begun_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { owner_.name_.store(outer_, std::memory_order_relaxed); }

   private:
    WatchedConnection& owner_;
    const char* outer_;
  };

  std::unique_ptr<Connection> inner_;
  std::atomic<const char*> name_ = nullptr;  ///< of the call in progress
  std::atomic<Clock::rep> begun_ = 0;
};

}  // namespace heddle::store
