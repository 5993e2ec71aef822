#include "store/store.h"

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "store/filler.h"
#include "store/module.h"
#include "store/rocksdb/batch_filler.h"
#include "store/rocksdb/connection.h"
#include "store/rocksdb/database.h"

namespace heddle::store {

namespace {

class RocksdbStore final : public Store {
 public:
  explicit RocksdbStore(const StoreSetup& setup) : setup_(setup), database_(setup) {}

  std::unique_ptr<Filler> fill() override { return std::make_unique<BatchFiller>(database_); }
  std::unique_ptr<Connection> connect() override {
    return std::make_unique<RocksdbConnection>(setup_, database_);
  }
  void wake() override { database_.wake(); }
  [[nodiscard]] std::uint64_t syncs() const override { return database_.syncs(); }

 private:
  StoreSetup setup_;
  RocksdbDatabase database_;
};

void check(const StoreSetup& setup) {
  if (setup.isolation != Isolation::repeatable_read) return;
  throw std::invalid_argument(
      "store rocksdb: it has no isolation=repeatable_read; use serializable or read_committed");
}

std::unique_ptr<Store> open(const StoreSetup& setup) {
  return std::make_unique<RocksdbStore>(setup);
}

}  // namespace

}  // namespace heddle::store

extern "C" [[gnu::visibility("default")]] const heddle::store::Module* heddle_store_module() {
  static const heddle::store::Module module{HEDDLE_VERSION, heddle::store::kInterface,
                                            &heddle::store::open, &heddle::store::check, nullptr};
  return &module;
}
