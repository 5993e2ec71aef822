#include "store/store.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "store/fair_semaphore.h"
#include "store/filler.h"
#include "store/module.h"
#include "store/sql_name.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/counting_vfs.h"
#include "store/sqlite/handle.h"

namespace heddle::store {

namespace {

/// A database in one file, with a table of two columns for each of the engine's: key and value.
class SqliteStore final : public Store {
 public:
  explicit SqliteStore(const StoreSetup& setup)
      : setup_(setup),
        file_(setup.folder + "/database.sqlite"),
        files_(setup.simulated_sync_us),
        writer_(setup.stop) {}

  std::unique_ptr<Filler> fill() override {
    // Without a journal: what fails here is thrown away as a whole.
    std::string sql = synchronous(Durability::normal) + "PRAGMA journal_mode = OFF;";
    for (const TableSpec& table : setup_.tables) {
      // Rows in the order of their keys, without a second tree for row numbers.
      sql += "CREATE TABLE " + in_quotes(table.name) +
             " (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;";
    }
    return std::make_unique<ConnectionFiller>(
        std::make_unique<SqliteConnection>(setup_, file_, files_.name(), writer_, sql));
  }

  std::unique_ptr<Connection> connect() override {
    // The first one changes the journal, for which it must be alone.
    const std::lock_guard one_at_a_time(connecting_);
    return std::make_unique<SqliteConnection>(
        setup_, file_, files_.name(), writer_,
        synchronous(setup_.durability) + "PRAGMA journal_mode = WAL;");
  }

  void wake() override { writer_.wake(); }
  [[nodiscard]] std::uint64_t syncs() const override { return files_.syncs(); }

 private:
  [[nodiscard]] std::string synchronous(Durability wanted) const {
    switch (setup_.durability == Durability::off ? Durability::off : wanted) {
      case Durability::full: return "PRAGMA synchronous = FULL;";
      case Durability::normal: return "PRAGMA synchronous = NORMAL;";
      case Durability::off: return "PRAGMA synchronous = OFF;";
    }
    return "";
  }

  StoreSetup setup_;
  std::string file_;
  CountingVfs files_;
  /// SQLite lets one transaction write, and others poll for its lock, a millisecond or more apart.
  /// Here a writer wakes when the one before it ends.
  FairSemaphore writer_;
  std::mutex connecting_;
};

std::unique_ptr<Store> open(const StoreSetup& setup) {
  return std::make_unique<SqliteStore>(setup);
}

}  // namespace

}  // namespace heddle::store

extern "C" [[gnu::visibility("default")]] const heddle::store::Module* heddle_store_module() {
  static const heddle::store::Module module{HEDDLE_VERSION, heddle::store::kInterface,
                                            &heddle::store::open, nullptr, nullptr};
  return &module;
}
