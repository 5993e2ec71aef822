#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "protocol/outcome.h"

namespace heddle::test {

/// For tests that damage a database and check which conditions of its workload detect it.
template <template <class> class W>
class Damage : public testing::Test {
 protected:
  using Names = std::vector<std::string>;

  /// @param database used from the first test on, not before
  explicit Damage(Alone<W>& database) : database_(database) {}

  auto& tables() { return database_.workload().tables(); }

  /// Changes one row outside any transaction.
  template <class T>
  void damage(T& table, const typename T::KeyType& key,
              const std::function<void(typename T::ValueType&)>& change) {
    ASSERT_EQ(database_.transact([&](auto& txn) {
      const auto row = txn.read(kNoState, table, key);
      return row && txn.update(kNoState, table, row, change) ? Outcome::commit : txn.stop();
    }),
              Outcome::commit);
  }
  template <class T>
  void remove(T& table, const typename T::KeyType& key) {
    ASSERT_EQ(database_.transact([&](auto& txn) {
      const auto row = txn.read(kNoState, table, key);
      return row && txn.remove(kNoState, table, row) ? Outcome::commit : txn.stop();
    }),
              Outcome::commit);
  }
  template <class T>
  void insert(T& table, const typename T::KeyType& key, const typename T::ValueType& value) {
    ASSERT_EQ(database_.transact([&](auto& txn) {
      return txn.insert(kNoState, table, key, value) ? Outcome::commit : txn.stop();
    }),
              Outcome::commit);
  }

  /// The conditions that are violated, each once, sorted.
  Names violated() {
    Names conditions;
    for (const std::string& line : database_.workload().check()) {
      conditions.push_back(line.substr(0, line.find(':')));
    }
    std::sort(conditions.begin(), conditions.end());
    conditions.erase(std::unique(conditions.begin(), conditions.end()), conditions.end());
    return conditions;
  }

 private:
  Alone<W>& database_;
};

}  // namespace heddle::test
