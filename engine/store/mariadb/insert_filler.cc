#include "store/mariadb/insert_filler.h"

#include "store/mariadb/sql_literal.h"
#include "store/sql_name.h"

namespace heddle::store {

namespace {

/// The type of a column of bytes. Those of a VARBINARY are in the row as far as they fit.
std::string type_of(std::size_t bytes) {
  constexpr std::size_t kMostInARow = 60'000;
  return bytes <= kMostInARow ? "VARBINARY(" + std::to_string(bytes) + ")" : "LONGBLOB";
}

}  // namespace

InsertFiller::InsertFiller(const StoreSetup& setup, const RunDatabase& database)
    : address_(database.address()),
      waits_(database.waits()),
      client_(database.connect()),
      table_(0) {
  std::string sql;
  for (const TableSpec& table : setup.tables) {
    tables_.push_back(in_quotes(table.name));
    // Statistics that are kept would be updated while the workers run.
    sql += "CREATE TABLE " + tables_.back() + " (k " + type_of(table.key_bytes) +
           " NOT NULL PRIMARY KEY, v " + type_of(table.value_bytes) +
           " NOT NULL) ENGINE = InnoDB ROW_FORMAT = DYNAMIC STATS_PERSISTENT = 0;";
  }
  (void)execute(caller(), sql + "SET SESSION autocommit = 0");
}

void InsertFiller::put(std::size_t table, Bytes key, Bytes value) {
  constexpr std::size_t kFull = 1 << 18;  // less than any server refuses
  if (table != table_ || sql_.size() >= kFull) flush();
  table_ = table;
  sql_ += sql_.empty() ? "INSERT INTO " + tables_[table] + " VALUES (" : "),(";
  append_literal(sql_, key);
  sql_ += ',';
  append_literal(sql_, value);
}

void InsertFiller::commit() {
  flush();
  (void)execute(caller(), "COMMIT", ServerWaits::For::bulk);
}

void InsertFiller::flush() {
  if (sql_.empty()) return;
  (void)execute(caller(), sql_ + ")");
  sql_.clear();
}

}  // namespace heddle::store
