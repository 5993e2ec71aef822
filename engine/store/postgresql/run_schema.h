#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "store/postgresql/address.h"
#include "store/postgresql/handle.h"

namespace heddle::store {

/// A schema of its own for a run, with its tables, dropped when this is destroyed.
///
/// Its owner holds an advisory lock of the database. A process that was killed holds none, so that
/// the next run in the same database drops the schema that is left over. Nothing else there is
/// touched.
class RunSchema {
 public:
  /// @throws std::runtime_error naming the server and the cure
  RunSchema(const Address& address, ServerWaits& waits);
  RunSchema(const RunSchema&) = delete;
  RunSchema& operator=(const RunSchema&) = delete;
  ~RunSchema();

  /// In SQL.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// @param connections as many are needed at the same time, in addition to this one's
  /// @throws std::runtime_error if the server accepts fewer
  void require_connections(std::size_t connections);
  /// How often the server has waited until its log was on disk; 0 if it does not say. It counts for
  /// all its databases. From any thread.
  [[nodiscard]] std::uint64_t syncs();
  /// Ends what the server executes for a session. From any thread.
  /// @param session the number of its process
  void end_statement_of(int session);

 private:
  [[nodiscard]] Caller caller() { return {client_.get(), address_, waits_}; }
  void sweep();
  [[nodiscard]] bool lock(const std::string& name);

  Address address_;
  ServerWaits& waits_;
  std::mutex mutex_;  ///< one command at a time
  Client client_;
  std::string name_;
};

}  // namespace heddle::store
