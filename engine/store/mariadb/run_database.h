#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "store/mariadb/address.h"
#include "store/mariadb/handle.h"
#include "store/store.h"

namespace heddle::store {

/// A database of its own for a run, with its tables, dropped when this is destroyed.
///
/// Its owner holds a lock of the server (GET_LOCK). A process that was killed holds none, so that
/// the next run on the same server drops the database that is left over. Nothing else there is
/// touched.
class RunDatabase {
 public:
  /// @throws std::runtime_error naming the server and the cure
  RunDatabase(const MariadbAddress& address, ServerWaits& waits);
  RunDatabase(const RunDatabase&) = delete;
  RunDatabase& operator=(const RunDatabase&) = delete;
  ~RunDatabase();

  [[nodiscard]] const MariadbAddress& address() const { return address_; }
  [[nodiscard]] ServerWaits& waits() const { return waits_; }
  /// Opens a session in the database. From any thread.
  /// @throws std::runtime_error naming the server and the cure
  [[nodiscard]] MariadbClient connect() const;

  /// @param connections as many are needed at the same time, in addition to this one's
  /// @throws std::runtime_error if the server accepts fewer
  void require_connections(std::size_t connections);
  /// @throws std::runtime_error if a commit of the server waits for the disk more or less often
  void require_durability(Durability durability);
  /// How often the server has waited until its files were on disk; 0 if it does not say. It counts
  /// for all its databases. From any thread.
  [[nodiscard]] std::uint64_t syncs();
  /// Ends what the server executes for a session. From any thread.
  void end_statement_of(unsigned long session);

 private:
  void require_version();
  void sweep();
  [[nodiscard]] bool lock(const std::string& name);
  [[nodiscard]] std::string value_of(const std::string& expression);

  [[nodiscard]] MariadbCaller caller() { return {client_.get(), address_, waits_}; }

  MariadbAddress address_;
  ServerWaits& waits_;
  std::mutex mutex_;  ///< one statement at a time
  MariadbClient client_;
  std::string name_;
};

}  // namespace heddle::store
