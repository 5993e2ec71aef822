#include "store/store.h"

#include <cstdint>
#include <filesystem>
#include <memory>

#include "store/mariadb/address.h"
#include "store/mariadb/connection.h"
#include "store/mariadb/insert_filler.h"
#include "store/mariadb/run_database.h"
#include "store/mariadb/server.h"
#include "store/mariadb/server_command.h"
#include "store/module.h"
#include "store/server/account.h"
#include "store/server/private_server.h"

namespace heddle::store {

namespace {

/// A database in a MariaDB server, with an InnoDB table of two columns for each of the engine's:
/// key and value.
class MariadbStore final : public Store {
 public:
  explicit MariadbStore(const StoreSetup& setup)
      : setup_(setup),
        server_(setup.dsn.empty() ? PrivateServer::of_process(kMariadbServer, settings(setup))
                                  : nullptr),
        waits_(kMariadbServer.store, setup),
        database_(
            server_ == nullptr ? MariadbAddress::parse(setup.dsn) : mariadb_in(server_->folder()),
            waits_) {
    database_.require_connections(setup.connections);
    database_.require_durability(setup.durability);
  }

  std::unique_ptr<Filler> fill() override {
    return std::make_unique<InsertFiller>(setup_, database_);
  }
  std::unique_ptr<Connection> connect() override {
    return std::make_unique<MariadbConnection>(setup_, database_);
  }
  /// A wait in the server ends when its connection is interrupted.
  void wake() override {}
  [[nodiscard]] std::uint64_t syncs() const override { return database_.syncs(); }

 private:
  /// The server's folder is next to that of the run, which ends earlier.
  static PrivateServer::Settings settings(const StoreSetup& setup) {
    return {.place = std::filesystem::path(setup.folder).parent_path(),
            .durability = setup.durability,
            .connections = setup.connections,
            .interrupted = setup.interrupted};
  }

  StoreSetup setup_;
  std::shared_ptr<PrivateServer> server_;  ///< nullptr: it is the user's
  ServerWaits waits_;
  mutable RunDatabase database_;  ///< its connection serves a reader of statistics too
};

std::unique_ptr<Store> open_store(const StoreSetup& setup) {
  return std::make_unique<MariadbStore>(setup);
}

void check_setup(const StoreSetup& setup) {
  if (setup.dsn.empty()) {
    (void)mariadb_programs();
    (void)server_account(kMariadbServer.store, kMariadbServer.user);
  } else {
    (void)MariadbAddress::parse(setup.dsn);
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
