#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/filler.h"
#include "store/mariadb/run_database.h"
#include "store/store.h"

namespace heddle::store {

/// Creates the tables and fills them with inserts of many rows, in one transaction.
class InsertFiller final : public Filler {
 public:
  /// @throws std::runtime_error naming the server and the cure
  InsertFiller(const StoreSetup& setup, const RunDatabase& database);

  void put(std::size_t table, Bytes key, Bytes value) override;
  void commit() override;

 private:
  void flush();

  [[nodiscard]] MariadbCaller caller() { return {client_.get(), address_, waits_}; }

  MariadbAddress address_;
  ServerWaits& waits_;
  MariadbClient client_;
  std::vector<std::string> tables_;  ///< in SQL
  std::size_t table_;                ///< of the rows in `sql_`
  std::string sql_;                  ///< an insert; empty: there are no rows
};

}  // namespace heddle::store
