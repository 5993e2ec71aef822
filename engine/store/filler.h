#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>

#include "store/connection.h"

namespace heddle::store {

/// Writes the first rows of a store, in one transaction.
class Filler {
 public:
  Filler() = default;
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;
  virtual ~Filler() = default;

  /// Adds a row. The rows of a table follow each other.
  /// @throws std::runtime_error naming what is wrong with the store
  virtual void put(std::size_t table, Bytes key, Bytes value) = 0;
  /// Ends it. Without a call the store is of no use.
  /// @throws std::runtime_error naming what is wrong with the store
  virtual void commit() = 0;
};

/// @throws std::runtime_error if an operation of the set-up did not succeed
inline void require(const Connection& connection, Status status) {
  if (status == Status::ok) return;
  throw std::runtime_error(status == Status::lost
                               ? connection.error()
                               : "store: another program uses the database of this run");
}

/// Fills a store through a connection.
class ConnectionFiller final : public Filler {
 public:
  explicit ConnectionFiller(std::unique_ptr<Connection> connection)
      : connection_(std::move(connection)) {
    require(*connection_, connection_->begin(Access::read_write));
  }

  void put(std::size_t table, Bytes key, Bytes value) override {
    require(*connection_, connection_->put(table, key, value, Put::fresh));
  }
  void commit() override { require(*connection_, connection_->commit()); }

 private:
  std::unique_ptr<Connection> connection_;
};

}  // namespace heddle::store
