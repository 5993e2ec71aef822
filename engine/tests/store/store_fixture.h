#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/connection.h"
#include "store/filler.h"
#include "store/private_folder.h"
#include "store/store.h"
#include "store/stores.h"

namespace heddle::store::test {

inline constexpr std::size_t kEmpty = 0;
inline constexpr std::size_t kTable = 1;

using Keys = std::vector<std::uint64_t>;

/// A key or a value of eight bytes, in key order.
inline std::array<std::byte, 8> bytes_of(std::uint64_t number) {
  std::array<std::byte, 8> bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[bytes.size() - 1 - at] = static_cast<std::byte>(number >> (8 * at));
  }
  return bytes;
}
inline std::uint64_t number_of(Bytes bytes) {
  std::uint64_t number = 0;
  for (const std::byte one : bytes) number = number << 8 | static_cast<std::uint64_t>(one);
  return number;
}

/// A store with two tables; the second has the rows 10, 20, 30 with values ten times as high.
class StoreFixture : public testing::Test {
 protected:
  void open(const std::string& name, StoreSetup setup, const std::string& place = "") {
    store_.reset();
    folder_ = std::make_unique<PrivateFolder>(place);
    setup.tables = {{"EMPTY", 8, 8}, {"order", 8, 8}};  // a name that SQL reserves
    setup.folder = folder_->path().string();
    setup.stop = &stop_;
    store_ = find_store(name)(setup);
    const auto filler = store_->fill();
    for (const std::uint64_t key : {30, 10, 20}) {
      filler->put(kTable, bytes_of(key), bytes_of(10 * key));
    }
    filler->commit();
  }

  static Status put(Connection& client, std::uint64_t key, std::uint64_t value, Put how) {
    return client.put(kTable, bytes_of(key), bytes_of(value), how);
  }
  static Status erase(Connection& client, std::uint64_t key) {
    return client.erase(kTable, bytes_of(key));
  }
  /// The row's value; 0: there is none.
  static std::uint64_t get(Connection& client, std::uint64_t key) {
    std::array<std::byte, 8> value{};
    const Status status = client.get(kTable, bytes_of(key), RowLock::shared, value);
    EXPECT_TRUE(status == Status::ok || status == Status::absent);
    return status == Status::ok ? number_of(value) : 0;
  }
  static Keys scan(Connection& client, std::uint64_t lo, std::uint64_t hi,
                   Direction direction = Direction::ascending, std::size_t expected = 0) {
    Keys keys;
    const auto visit = [&keys](Bytes key, Bytes value) {
      EXPECT_EQ(number_of(value) % 10, 0U);
      keys.push_back(number_of(key));
      return true;
    };
    EXPECT_EQ(client.scan(kTable, bytes_of(lo), bytes_of(hi), direction, expected, RowLock::shared,
                          visit),
              Status::ok);
    return keys;
  }
  /// What another connection reads.
  std::uint64_t committed(std::uint64_t key) {
    const auto client = store_->connect();
    EXPECT_EQ(client->begin(Access::read_only), Status::ok);
    const std::uint64_t value = get(*client, key);
    EXPECT_EQ(client->commit(), Status::ok);
    return value;
  }

  std::atomic<std::uint64_t> stop_{0};
  std::unique_ptr<PrivateFolder> folder_;
  std::unique_ptr<Store> store_;
};

}  // namespace heddle::store::test
