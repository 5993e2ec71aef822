#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/connection.h"
#include "store/filler.h"

namespace heddle::store {

struct TableSpec {
  std::string name;
  std::size_t key_bytes;
  std::size_t value_bytes;
};

/// What survives a failure of the machine.
enum class Durability : std::uint8_t {
  full,    ///< a commit returns when it is on disk
  normal,  ///< after a power failure the last commits may be missing
  off,     ///< after a power failure the store may be damaged
};

/// What transactions that run at the same time may see of each other, as in SQL.
enum class Isolation : std::uint8_t { serializable, repeatable_read, read_committed };

/// When a transaction that may write takes the store's write lock.
enum class Begin : std::uint8_t {
  immediate,  ///< at its begin: it waits, and has no conflicts
  deferred,   ///< at its first write: it aborts if another has committed since its first read
};

/// How a store that offers both prevents conflicts.
enum class Conflicts : std::uint8_t {
  optimistic,  ///< what a transaction has read is validated when it commits
  locking,     ///< a transaction locks what it accesses, until it has committed
};

/// What a store receives when a run starts.
struct StoreSetup {
  std::vector<TableSpec> tables = {};
  /// An empty folder that belongs to the run and is removed after it.
  std::string folder = {};
  Durability durability = Durability::full;
  Begin begin = Begin::immediate;
  Isolation isolation = Isolation::serializable;
  Conflicts conflicts = Conflicts::optimistic;
  std::string dsn = {};         ///< a server that is there already; empty: the store starts its own
  std::size_t connections = 1;  ///< as many are open at the same time, one for each worker
  double simulated_sync_us = 0;  ///< a wait for the disk takes so long instead; 0: its own time
  /// How long a server may take to answer a statement of the set-up; on all rows ten times as long.
  double silence_s = 60;
  /// Whether the thread that opens the store is to give up, which it asks every few milliseconds
  /// while it waits for a server; empty: never.
  std::function<bool()> interrupted = {};
  /// The stop word: nonzero: every wait must end. Never nullptr.
  const std::atomic<std::uint64_t>* stop = nullptr;
};

/// A database with empty tables that outlives its connections.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// Begins to fill the tables, before any connection exists.
  /// @throws std::runtime_error if the store refuses it
  [[nodiscard]] virtual std::unique_ptr<Filler> fill() = 0;
  /// From any thread; the connection belongs to the calling one.
  /// @throws std::runtime_error if the store refuses it
  [[nodiscard]] virtual std::unique_ptr<Connection> connect() = 0;
  /// Ends the waits of all connections, after `StoreSetup::stop` has been set; from any thread.
  virtual void wake() = 0;
  /// How often the store has waited until data was on disk.
  [[nodiscard]] virtual std::uint64_t syncs() const = 0;
  /// How often a connection has waited for an answer of the server; empty: there is no server.
  [[nodiscard]] virtual std::optional<std::uint64_t> round_trips() const { return {}; }
};

}  // namespace heddle::store
