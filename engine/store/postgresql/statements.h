#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "store/postgresql/handle.h"
#include "store/store.h"

namespace heddle::store {

/// What a connection prepares for a table. $1 and $2 are keys or a key and a value; of get_all $1
/// is an array of keys; of a scan $3 is the most rows.
enum class Operation : std::uint8_t {
  get,
  get_all,
  insert,
  update,
  erase,
  scan_up,
  scan_down,
  count_
};

/// The prepared statements of a connection on one table: their SQL, and which the server has.
class Statements {
 public:
  /// @param table its name in SQL
  /// @param number of the table; it distinguishes the names of the statements
  /// @param guarded whether a write that finds no row is an error, which stops the COMMIT behind it
  Statements(std::string table, std::size_t number, bool guarded)
      : table_(std::move(table)), number_(number), guarded_(guarded) {}

  [[nodiscard]] std::string name(Operation operation) const {
    return "t" + std::to_string(number_) + "_" + std::to_string(static_cast<int>(operation));
  }
  /// Whether the server has it. It changes when the answer is read.
  [[nodiscard]] bool& prepared(Operation operation) {
    return prepared_[static_cast<std::size_t>(operation)];
  }

  [[nodiscard]] std::string sql(Operation operation) const {
    switch (operation) {
      case Operation::get: return "SELECT v FROM " + table_ + " WHERE k = $1";
      case Operation::get_all: return "SELECT k, v FROM " + table_ + " WHERE k = ANY($1)";
      case Operation::insert: return "INSERT INTO " + table_ + " VALUES ($1, $2)";
      case Operation::update: return guard("UPDATE " + table_ + " SET v = $2 WHERE k = $1");
      case Operation::erase: return guard("DELETE FROM " + table_ + " WHERE k = $1");
      case Operation::scan_up:
        return "SELECT k, v FROM " + table_ + " WHERE k >= $1 AND k <= $2 ORDER BY k LIMIT $3";
      case Operation::scan_down:
        return "SELECT k, v FROM " + table_ + " WHERE k >= $1 AND k < $2 ORDER BY k DESC LIMIT $3";
      case Operation::count_: break;
    }
    return "";
  }

 private:
  /// Divides by the number of rows. Below a snapshot level a row may be gone that the transaction
  /// has read. It costs 25 µs a write.
  [[nodiscard]] std::string guard(const std::string& sql) const {
    if (!guarded_) return sql;
    return "WITH written AS (" + sql + " RETURNING 1) SELECT 1 / count(*) FROM written";
  }

  std::string table_;
  std::size_t number_;
  bool guarded_;
  std::array<bool, static_cast<std::size_t>(Operation::count_)> prepared_{};
};

}  // namespace heddle::store
