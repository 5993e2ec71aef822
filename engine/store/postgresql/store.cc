#include "store/store.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "store/module.h"
#include "store/postgresql/address.h"
#include "store/postgresql/connection.h"
#include "store/postgresql/copy_filler.h"
#include "store/postgresql/run_schema.h"
#include "store/postgresql/server.h"
#include "store/server/account.h"
#include "store/server/private_server.h"

namespace heddle::store {

namespace {

/// A schema in a PostgreSQL server, with a table of two columns for each of the engine's: key and
/// value.
class PostgresqlStore final : public Store {
 public:
  explicit PostgresqlStore(const StoreSetup& setup)
      : setup_(setup),
        server_(setup.dsn.empty() ? PrivateServer::of_process(kPostgresqlServer, settings(setup))
                                  : nullptr),
        address_(server_ == nullptr ? Address::of_user(setup.dsn) : address_in(server_->folder())),
        waits_(kPostgresqlServer.store, setup),
        schema_(address_, waits_) {
    schema_.require_connections(setup.connections);
  }

  std::unique_ptr<Filler> fill() override {
    return std::make_unique<CopyFiller>(setup_, address_, waits_, schema_.name());
  }
  std::unique_ptr<Connection> connect() override {
    return std::make_unique<PostgresqlConnection>(setup_, address_, schema_, waits_, round_trips_);
  }
  /// A wait in the server ends when its connection is interrupted.
  void wake() override {}
  [[nodiscard]] std::uint64_t syncs() const override { return schema_.syncs(); }
  [[nodiscard]] std::optional<std::uint64_t> round_trips() const override {
    return round_trips_.load(std::memory_order_relaxed);  // relaxed: only counted
  }

 private:
  /// The server's folder is next to that of the run, which ends earlier.
  static PrivateServer::Settings settings(const StoreSetup& setup) {
    return {.place = std::filesystem::path(setup.folder).parent_path(),
            // It is a setting of the session otherwise.
            .durability = setup.durability == Durability::off ? Durability::off : Durability::full,
            .connections = setup.connections,
            .interrupted = setup.interrupted};
  }

  StoreSetup setup_;
  std::atomic<std::uint64_t> round_trips_ = 0;  ///< of all connections
  std::shared_ptr<PrivateServer> server_;       ///< nullptr: it is the user's
  Address address_;
  ServerWaits waits_;
  mutable RunSchema schema_;  ///< its connection serves a reader of statistics too
};

std::unique_ptr<Store> open_store(const StoreSetup& setup) {
  return std::make_unique<PostgresqlStore>(setup);
}

void check_setup(const StoreSetup& setup) {
  if (setup.dsn.empty()) {
    (void)postgresql_programs();
    (void)server_account(kPostgresqlServer.store, kPostgresqlServer.user);
  } else {
    (void)Address::of_user(setup.dsn);
  }
}

}  // namespace

}  // namespace heddle::store

extern "C" [[gnu::visibility("default")]] const heddle::store::Module* heddle_store_module() {
  static const heddle::store::Module module{HEDDLE_VERSION, heddle::store::kInterface,
                                            &heddle::store::open_store, &heddle::store::check_setup,
                                            &heddle::store::PrivateServer::end_all};
  return &module;
}
