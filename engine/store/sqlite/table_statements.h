#pragma once

#include <string>
#include <utility>
#include <vector>

#include "store/connection.h"
#include "store/sql_name.h"
#include "store/sqlite/handle.h"

namespace heddle::store {

/// The prepared statements of a connection on one table: each is prepared when it is first used.
class TableStatements {
 public:
  TableStatements(sqlite3* database, const std::string& table)
      : database_(database), table_(in_quotes(table)) {}

  sqlite3_stmt* get() { return ready(get_, "SELECT v FROM " + table_ + " WHERE k = ?1"); }
  sqlite3_stmt* put(Put how) {
    if (how == Put::fresh) return ready(insert_, "INSERT INTO " + table_ + " VALUES (?1, ?2)");
    return ready(update_, "UPDATE " + table_ + " SET v = ?2 WHERE k = ?1");
  }
  sqlite3_stmt* erase() { return ready(erase_, "DELETE FROM " + table_ + " WHERE k = ?1"); }

  /// A statement that scans, and returns for others to use. A scan that begins while another is in
  /// progress has a statement of its own.
  class Scan {
   public:
    explicit Scan(TableStatements& owner, Direction direction)
        : idle_(owner.scans_[direction == Direction::ascending ? 0 : 1]),
          statement_(owner.take_scan(direction)) {}
    Scan(const Scan&) = delete;
    Scan& operator=(const Scan&) = delete;
    ~Scan() {
      sqlite3_reset(statement_.get());
      idle_.push_back(std::move(statement_));
    }
    [[nodiscard]] sqlite3_stmt* get() const { return statement_.get(); }

   private:
    std::vector<Statement>& idle_;
    Statement statement_;
  };

 private:
  sqlite3_stmt* ready(Statement& statement, const std::string& sql) {
    if (statement == nullptr) statement = prepare(database_, sql);
    return statement.get();
  }

  Statement take_scan(Direction direction) {
    const bool ascending = direction == Direction::ascending;
    std::vector<Statement>& idle = scans_[ascending ? 0 : 1];
    if (idle.empty()) {
      return prepare(database_, "SELECT k, v FROM " + table_ + " WHERE k BETWEEN ?1 AND ?2 " +
                                    "ORDER BY k " + (ascending ? "ASC" : "DESC"));
    }
    Statement statement = std::move(idle.back());
    idle.pop_back();
    return statement;
  }

  sqlite3* database_;
  std::string table_;
  Statement get_, insert_, update_, erase_;
  std::vector<Statement> scans_[2];
};

}  // namespace heddle::store
