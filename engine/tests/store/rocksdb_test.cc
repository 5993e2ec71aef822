#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "store/opened_stores.h"
#include "store/store.h"
#include "store/store_fixture.h"

/// What the RocksDB store does in addition to what every store does.
#if !defined(__SANITIZE_THREAD__)  // see tested_stores()
namespace heddle::store::test {
namespace {

class RocksdbTest : public StoreFixture {
 protected:
  void SetUp() override {
    if (const auto why = why_missing("rocksdb")) GTEST_SKIP() << *why;
  }
  void open(Conflicts conflicts, StoreSetup setup = {.durability = Durability::off}) {
    setup.conflicts = conflicts;
    StoreFixture::open("rocksdb", setup);
  }
  std::unique_ptr<Connection> begin(Access access = Access::read_write) {
    auto client = store_->connect();
    EXPECT_EQ(client->begin(access), Status::ok);
    return client;
  }
  /// A row, as another transaction.
  void insert(std::uint64_t key) {
    const auto writer = begin();
    EXPECT_EQ(put(*writer, key, 10 * key, Put::fresh), Status::ok);
    EXPECT_EQ(writer->commit(), Status::ok);
  }
  /// The first row of a scan that ends there.
  static std::uint64_t scan_first(Connection& client, Direction direction) {
    std::uint64_t first = 0;
    const auto take_one = [&first](Bytes key, Bytes /*value*/) {
      first = number_of(key);
      return false;
    };
    EXPECT_EQ(
        client.scan(kTable, bytes_of(0), bytes_of(99), direction, 1, RowLock::shared, take_one),
        Status::ok);
    return first;
  }
  static Status lock(Connection& client, std::uint64_t key, RowLock lock) {
    std::array<std::byte, 8> value{};
    return client.get(kTable, bytes_of(key), lock, value);
  }
};

/// Both kinds of transactions.
class RocksdbKindsTest : public RocksdbTest, public testing::WithParamInterface<Conflicts> {
 protected:
  void SetUp() override {
    RocksdbTest::SetUp();
    if (!IsSkipped()) open(GetParam());
  }
};

TEST_P(RocksdbKindsTest, RefusesARangeIntoWhichAnotherHasInserted) {
  for (const std::uint64_t inserted : {15, 25}) {
    open(GetParam());
    const auto reader = begin();
    EXPECT_EQ(scan(*reader, 11, 29), Keys{20});
    insert(inserted);
    EXPECT_EQ(put(*reader, 30, 1, Put::replace), Status::ok);
    EXPECT_EQ(reader->commit(), Status::conflict);
    reader->rollback();
    EXPECT_EQ(committed(30), 300U);
    EXPECT_EQ(committed(inserted), 10 * inserted);
  }
}

/// Also outside of what a scan has visited before it ended.
TEST_P(RocksdbKindsTest, AcceptsARangeThatOthersDoNotInsertInto) {
  for (const Direction direction : {Direction::ascending, Direction::descending}) {
    open(GetParam());
    const bool ascending = direction == Direction::ascending;
    const auto reader = begin();
    EXPECT_EQ(scan_first(*reader, direction), ascending ? 10U : 30U);
    insert(ascending ? 11 : 29);
    EXPECT_EQ(put(*reader, 20, 1, Put::replace), Status::ok);
    EXPECT_EQ(reader->commit(), Status::ok);
    const auto later = begin();
    EXPECT_EQ(scan_first(*later, direction), ascending ? 10U : 30U);
    insert(ascending ? 5 : 35);
    EXPECT_EQ(later->commit(), Status::conflict) << "it only reads, and is validated all the same";
    later->rollback();
  }
}

TEST_P(RocksdbKindsTest, ScansItsOwnWrites) {
  const auto client = begin();
  EXPECT_EQ(put(*client, 15, 150, Put::fresh), Status::ok);
  EXPECT_EQ(erase(*client, 20), Status::ok);
  EXPECT_EQ(scan(*client, 0, 99), (Keys{10, 15, 30}));
  EXPECT_EQ(put(*client, 17, 170, Put::fresh), Status::ok);
  EXPECT_EQ(client->commit(), Status::ok) << "its own insert";
  EXPECT_EQ(committed(17), 170U);
}

/// What is undone to a savepoint are writes: reads are validated still.
TEST_P(RocksdbKindsTest, ProtectsWhatItHasReadBeforeItWentBack) {
  const auto client = begin();
  EXPECT_EQ(client->savepoint(), Status::ok);
  EXPECT_EQ(get(*client, 10), 100U);
  EXPECT_EQ(put(*client, 25, 250, Put::fresh), Status::ok);
  EXPECT_EQ(client->rollback_to_savepoint(), Status::ok);
  const auto other = begin();
  const bool written = put(*other, 10, 1, Put::replace) == Status::ok;
  EXPECT_EQ(written, GetParam() == Conflicts::optimistic);
  EXPECT_EQ(written ? other->commit() : Status::busy, written ? Status::ok : Status::busy);
  other->rollback();
  EXPECT_EQ(client->commit(), written ? Status::conflict : Status::ok);
  client->rollback();
  EXPECT_EQ(committed(25), 0U);
}

TEST_P(RocksdbKindsTest, RefusesWriteSkew) {
  auto one = begin();
  auto other = begin();
  for (Connection* client : {one.get(), other.get()}) {
    EXPECT_EQ(get(*client, 10), 100U);
    EXPECT_EQ(get(*client, 21), 0U) << "absent";
  }
  const auto finish = [](Connection& client, std::uint64_t key, Put how) {
    Status status = put(client, key, 1, how);
    if (status == Status::ok) status = client.commit();
    client.rollback();
    return status;
  };
  Status first = Status::ok;
  std::thread waiting([&] { first = finish(*one, 10, Put::replace); });
  const Status second = finish(*other, 21, Put::fresh);
  waiting.join();
  const Status expected = GetParam() == Conflicts::locking ? Status::deadlock : Status::conflict;
  EXPECT_TRUE((first == Status::ok) != (second == Status::ok));
  EXPECT_TRUE(first == expected || second == expected);
}

TEST_P(RocksdbKindsTest, NamesTheFolderThatCannotBeWritten) {
  open(GetParam(), {.durability = Durability::full});
  const auto client = begin();
  EXPECT_EQ(put(*client, 10, 1, Put::replace), Status::ok);
  // A file that may not grow fails as a full disk does.
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit nothing{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &nothing), 0);
  const Status status = client->commit();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status, Status::lost);
  EXPECT_NE(client->error().find(folder_->path().string()), std::string::npos) << client->error();
  EXPECT_NE(client->error().find("folder="), std::string::npos) << client->error();
  EXPECT_EQ(client->error().find('\n'), std::string::npos) << client->error();
  client->rollback();
  // Others do not wait for its locks.
  const auto other = begin();
  EXPECT_EQ(get(*other, 10), 100U);
  other->rollback();
}

TEST_P(RocksdbKindsTest, RefusesToWriteInATransactionThatOnlyReads) {
  const auto client = begin(Access::read_only);
  EXPECT_EQ(put(*client, 10, 1, Put::replace), Status::lost);
  EXPECT_EQ(erase(*client, 10), Status::lost);
  EXPECT_NE(client->error().find("signature"), std::string::npos) << client->error();
}

TEST_P(RocksdbKindsTest, SimulatesTheDisk) {
  open(GetParam(), {.durability = Durability::full, .simulated_sync_us = 2000});
  const std::uint64_t before = store_->syncs();
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t commit = 0; commit < 5; ++commit) {
    const auto client = begin();
    EXPECT_EQ(put(*client, 10, commit, Put::replace), Status::ok);
    EXPECT_EQ(client->commit(), Status::ok);
  }
  EXPECT_GE(store_->syncs() - before, 5U);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(10));
  const std::uint64_t written = store_->syncs();
  const auto reader = begin();
  EXPECT_EQ(get(*reader, 10), 4U);
  EXPECT_EQ(reader->commit(), Status::ok);
  EXPECT_EQ(store_->syncs(), written) << "it has written nothing";
}

INSTANTIATE_TEST_SUITE_P(Kinds, RocksdbKindsTest,
                         testing::Values(Conflicts::optimistic, Conflicts::locking),
                         [](const auto& test) {
                           return test.param == Conflicts::locking ? "locking" : "optimistic";
                         });

TEST_F(RocksdbTest, LocksRowsForWhatTheTransactionIsGoingToDo) {
  open(Conflicts::locking);
  const auto one = begin();
  EXPECT_EQ(lock(*one, 10, RowLock::shared), Status::ok);
  EXPECT_EQ(lock(*one, 20, RowLock::exclusive), Status::ok);
  EXPECT_EQ(lock(*one, 21, RowLock::exclusive), Status::absent);
  const auto other = begin();
  EXPECT_EQ(lock(*other, 10, RowLock::shared), Status::ok);
  EXPECT_EQ(lock(*other, 20, RowLock::shared), Status::busy) << "a wait takes a second at most";
  other->rollback();
  EXPECT_EQ(committed(20), 200U) << "what only reads waits for no lock";
  EXPECT_EQ(one->commit(), Status::ok);
  const auto next = begin();
  EXPECT_EQ(lock(*next, 20, RowLock::exclusive), Status::ok);
}

TEST_F(RocksdbTest, EndsTheWaitForALockWithTheRun) {
  open(Conflicts::locking);
  const auto one = begin();
  EXPECT_EQ(put(*one, 10, 1, Put::replace), Status::ok);
  std::atomic<bool> waits{false};
  Status status = Status::ok;
  std::chrono::nanoseconds waited{};
  std::thread waiting([&] {
    const auto other = begin();
    const auto start = std::chrono::steady_clock::now();
    waits = true;
    status = lock(*other, 10, RowLock::shared);
    waited = std::chrono::steady_clock::now() - start;
    other->rollback();
  });
  while (!waits) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  stop_ = 1;
  store_->wake();
  waiting.join();
  EXPECT_EQ(status, Status::stopped);
  EXPECT_LT(waited, std::chrono::milliseconds(900)) << "the lock was to be waited for for a second";
  EXPECT_EQ(one->commit(), Status::ok) << "what is under way may end";
}

}  // namespace
}  // namespace heddle::store::test
#endif
