#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "store/connection.h"

namespace heddle::store {

/// What a session prepares for a table. Its parameters are keys or a value and a key; a scan has
/// the most rows in addition. Those `to_write` lock the rows that they find.
enum class MariadbOperation : std::uint8_t {
  get,
  get_to_write,
  insert,
  update,
  erase,
  scan_up,
  scan_down,
  scan_up_to_write,
  scan_down_to_write,
  count_,
};

/// The prepared statements of a session on one table: their SQL, and which the server has.
class MariadbStatements {
 public:
  /// @param table its name in SQL
  /// @param number of the table; it distinguishes the names of the statements
  MariadbStatements(std::string table, std::size_t number)
      : table_(std::move(table)), number_(number) {}

  [[nodiscard]] std::string name(MariadbOperation operation) const {
    return "t" + std::to_string(number_) + "_" + std::to_string(static_cast<int>(operation));
  }
  [[nodiscard]] bool& prepared(MariadbOperation operation) {
    return prepared_[static_cast<std::size_t>(operation)];
  }

  [[nodiscard]] std::string sql(MariadbOperation operation) const {
    switch (operation) {
      case MariadbOperation::get: return "SELECT v FROM " + table_ + " WHERE k = ?";
      case MariadbOperation::get_to_write: return sql(MariadbOperation::get) + " FOR UPDATE";
      case MariadbOperation::insert: return "INSERT INTO " + table_ + " (v, k) VALUES (?, ?)";
      case MariadbOperation::update: return "UPDATE " + table_ + " SET v = ? WHERE k = ?";
      case MariadbOperation::erase: return "DELETE FROM " + table_ + " WHERE k = ?";
      case MariadbOperation::scan_up: return scan("k >= ? AND k <= ? ORDER BY k");
      case MariadbOperation::scan_down: return scan("k >= ? AND k < ? ORDER BY k DESC");
      case MariadbOperation::scan_up_to_write:
        return sql(MariadbOperation::scan_up) + " FOR UPDATE";
      case MariadbOperation::scan_down_to_write:
        return sql(MariadbOperation::scan_down) + " FOR UPDATE";
      case MariadbOperation::count_: break;
    }
    return "";
  }

  [[nodiscard]] static MariadbOperation get(bool to_write) {
    return to_write ? MariadbOperation::get_to_write : MariadbOperation::get;
  }
  [[nodiscard]] static MariadbOperation scan(Direction direction, bool to_write) {
    if (direction == Direction::ascending) {
      return to_write ? MariadbOperation::scan_up_to_write : MariadbOperation::scan_up;
    }
    return to_write ? MariadbOperation::scan_down_to_write : MariadbOperation::scan_down;
  }

 private:
  /// By the key: a scan of the whole table would lock rows that the transaction does not need.
  [[nodiscard]] std::string scan(const std::string& range) const {
    return "SELECT k, v FROM " + table_ + " FORCE INDEX (PRIMARY) WHERE " + range + " LIMIT ?";
  }

  std::string table_;
  std::size_t number_;
  std::array<bool, static_cast<std::size_t>(MariadbOperation::count_)> prepared_{};
};

}  // namespace heddle::store
