#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/connection.h"
#include "store/filler.h"
#include "store/store.h"

/// Stores for tests, without a library: one in memory, and wrappers that change what a store does.
namespace heddle::store::test {

/// A store in memory whose transactions run one after the other.
class MapStore final : public Store {
 public:
  explicit MapStore(const StoreSetup& setup) : tables_(setup.tables.size()) {}

  std::unique_ptr<Filler> fill() override { return std::make_unique<ConnectionFiller>(connect()); }
  std::unique_ptr<Connection> connect() override { return std::make_unique<Client>(*this); }
  void wake() override {}
  [[nodiscard]] std::uint64_t syncs() const override { return 0; }

 private:
  using Row = std::vector<std::byte>;
  using Table = std::map<Row, Row>;

  static Row copy(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

  class Client final : public Connection {
   public:
    explicit Client(MapStore& store) : store_(store) {}

    Status begin(Access /*access*/) override {
      alone_ = std::unique_lock(store_.mutex_);
      before_.clear();
      return Status::ok;
    }
    Status get(std::size_t table, Bytes key, RowLock /*lock*/, std::span<std::byte> out) override {
      const auto found = store_.tables_[table].find(copy(key));
      if (found == store_.tables_[table].end()) return Status::absent;
      std::copy(found->second.begin(), found->second.end(), out.begin());
      return Status::ok;
    }
    Status put(std::size_t table, Bytes key, Bytes value, Put how) override {
      const bool known = store_.tables_[table].contains(copy(key));
      if (known != (how == Put::replace)) return known ? Status::exists : Status::absent;
      keep(table, key);
      store_.tables_[table][copy(key)] = copy(value);
      return Status::ok;
    }
    Status erase(std::size_t table, Bytes key) override {
      if (!store_.tables_[table].contains(copy(key))) return Status::absent;
      keep(table, key);
      store_.tables_[table].erase(copy(key));
      return Status::ok;
    }
    Status scan(std::size_t table, Bytes lo, Bytes hi, Direction direction,
                std::size_t /*expected*/, RowLock /*lock*/, Visit visit) override {
      std::vector<Row> keys;
      for (const auto& [key, value] : store_.tables_[table]) {
        if (key >= copy(lo) && key <= copy(hi)) keys.push_back(key);
      }
      if (direction == Direction::descending) std::reverse(keys.begin(), keys.end());
      for (const Row& key : keys) {
        if (!visit(key, store_.tables_[table][key])) break;
      }
      return Status::ok;
    }
    Status savepoint() override {
      savepoint_ = before_.size();
      return Status::ok;
    }
    Status rollback_to_savepoint() override {
      undo(savepoint_);
      return Status::ok;
    }
    Status commit() override {
      alone_ = {};
      return Status::ok;
    }
    void rollback() override {
      if (!alone_.owns_lock()) return;
      undo(0);
      alone_ = {};
    }
    void interrupt() override {}
    [[nodiscard]] const std::string& error() const override { return error_; }

   private:
    struct Before {
      std::size_t table;
      Row key;
      Row value;
      bool existed;
    };

    void keep(std::size_t table, Bytes key) {
      const auto found = store_.tables_[table].find(copy(key));
      const bool existed = found != store_.tables_[table].end();
      before_.push_back({table, copy(key), existed ? found->second : Row{}, existed});
    }
    void undo(std::size_t from) {
      for (; before_.size() > from; before_.pop_back()) {
        const Before& change = before_.back();
        store_.tables_[change.table].erase(change.key);
        if (change.existed) store_.tables_[change.table][change.key] = change.value;
      }
    }

    MapStore& store_;
    std::unique_lock<std::mutex> alone_;
    std::vector<Before> before_;  ///< what the transaction has overwritten
    std::size_t savepoint_ = 0;
    std::string error_;
  };

  std::mutex mutex_;  ///< held by the transaction that runs
  std::vector<Table> tables_;
};

/// Passes every call on.
class Forwarding : public Connection {
 public:
  explicit Forwarding(std::unique_ptr<Connection> inner) : inner_(std::move(inner)) {}

  Status begin(Access access) override { return inner_->begin(access); }
  Status get(std::size_t table, Bytes key, RowLock lock, std::span<std::byte> out) override {
    return inner_->get(table, key, lock, out);
  }
  Status put(std::size_t table, Bytes key, Bytes value, Put how) override {
    return inner_->put(table, key, value, how);
  }
  Status erase(std::size_t table, Bytes key) override { return inner_->erase(table, key); }
  Status scan(std::size_t table, Bytes lo, Bytes hi, Direction direction, std::size_t expected,
              RowLock lock, Visit visit) override {
    return inner_->scan(table, lo, hi, direction, expected, lock, visit);
  }
  Status savepoint() override { return inner_->savepoint(); }
  Status rollback_to_savepoint() override { return inner_->rollback_to_savepoint(); }
  Status commit() override { return inner_->commit(); }
  void rollback() override { inner_->rollback(); }
  void interrupt() override { inner_->interrupt(); }
  [[nodiscard]] const std::string& error() const override { return inner_->error(); }

 protected:
  Connection& inner() { return *inner_; }

 private:
  std::unique_ptr<Connection> inner_;
};

/// A store whose connections are wrapped by `Wrapper`.
template <class Wrapper>
class Wrapped final : public Store {
 public:
  explicit Wrapped(std::unique_ptr<Store> inner) : inner_(std::move(inner)) {}

  std::unique_ptr<Filler> fill() override { return inner_->fill(); }
  std::unique_ptr<Connection> connect() override {
    return std::make_unique<Wrapper>(inner_->connect());
  }
  void wake() override { inner_->wake(); }
  [[nodiscard]] std::uint64_t syncs() const override { return inner_->syncs(); }

 private:
  std::unique_ptr<Store> inner_;
};

/// A store that gains from reads that are made together.
template <class Base>
class ReadsTogether final : public Base {
 public:
  using Base::Base;
  [[nodiscard]] bool reads_faster_together() const override { return true; }
};

/// A seeded fault: every read is a transaction of its own, and the writes are another one, so that
/// updates are lost.
class ReadsOutside : public Forwarding {
 public:
  using Forwarding::Forwarding;

  Status begin(Access /*access*/) override {
    writes_ = false;
    return Status::ok;
  }
  Status get(std::size_t table, Bytes key, RowLock lock, std::span<std::byte> out) override {
    if (const Status begun = inner().begin(Access::read_only); begun != Status::ok) return begun;
    const Status status = inner().get(table, key, lock, out);
    const Status ended = inner().commit();
    return ended == Status::ok ? status : ended;
  }
  Status scan(std::size_t table, Bytes lo, Bytes hi, Direction direction, std::size_t expected,
              RowLock lock, Visit visit) override {
    // What the visit does must not begin another transaction meanwhile.
    std::vector<std::pair<std::vector<std::byte>, std::vector<std::byte>>> rows;
    if (const Status begun = inner().begin(Access::read_only); begun != Status::ok) return begun;
    const Status status =
        inner().scan(table, lo, hi, direction, expected, lock, [&rows](Bytes key, Bytes value) {
          rows.emplace_back(std::vector(key.begin(), key.end()),
                            std::vector(value.begin(), value.end()));
          return true;
        });
    if (const Status ended = inner().commit(); ended != Status::ok) return ended;
    for (const auto& [key, value] : rows) {
      if (!visit(key, value)) break;
    }
    return status;
  }
  Status put(std::size_t table, Bytes key, Bytes value, Put how) override {
    const Status begun = begin_writing();
    return begun == Status::ok ? inner().put(table, key, value, how) : begun;
  }
  Status erase(std::size_t table, Bytes key) override {
    const Status begun = begin_writing();
    return begun == Status::ok ? inner().erase(table, key) : begun;
  }
  Status commit() override { return writes_ ? inner().commit() : Status::ok; }

 private:
  Status begin_writing() {
    if (writes_) return Status::ok;
    writes_ = true;
    return inner().begin(Access::read_write);
  }

  bool writes_ = false;
};

}  // namespace heddle::store::test
