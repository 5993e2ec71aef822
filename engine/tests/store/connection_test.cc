#include "store/connection.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/opened_stores.h"
#include "store/store.h"
#include "store/store_fixture.h"

/// What every store must do, what those do that are libraries, and what SQLite does in addition.
namespace heddle::store::test {
namespace {

class StoreTest : public StoreFixture, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    add_test_stores();
    if (const auto why = why_missing(store_of(GetParam()))) GTEST_SKIP() << *why;
    open({});
  }
  void open(StoreSetup setup) {
    setup.conflicts = conflicts_of(GetParam());
    StoreFixture::open(store_of(GetParam()), setup);
  }
};

TEST_P(StoreTest, ReadsAndScansInOrder) {
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_only), Status::ok);
  EXPECT_EQ(get(*client, 20), 200U);
  EXPECT_EQ(get(*client, 21), 0U);
  EXPECT_EQ(scan(*client, 10, 30), (Keys{10, 20, 30}));
  EXPECT_EQ(scan(*client, 11, ~std::uint64_t{0}, Direction::descending), (Keys{30, 20}));
  EXPECT_EQ(scan(*client, 11, 19), Keys{});
  Keys first;
  const auto take_one = [&first](Bytes key, Bytes) {
    first.push_back(number_of(key));
    return false;
  };
  EXPECT_EQ(client->scan(kTable, bytes_of(0), bytes_of(99), Direction::ascending, 1,
                         RowLock::shared, take_one),
            Status::ok);
  EXPECT_EQ(first, Keys{10});
  EXPECT_EQ(client->commit(), Status::ok);
}

/// Those of several tables, those that are absent, and what the transaction has written.
TEST_P(StoreTest, ReadsRowsTogetherAsOneByOne) {
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  EXPECT_EQ(client->get_all({}), Status::ok);
  EXPECT_EQ(put(*client, 20, 5, Put::replace), Status::ok);
  EXPECT_EQ(erase(*client, 30), Status::ok);
  EXPECT_EQ(put(*client, 40, 7, Put::fresh), Status::ok);
  EXPECT_EQ(client->put(kEmpty, bytes_of(3), bytes_of(33), Put::fresh), Status::ok);
  const std::vector<std::pair<std::size_t, std::uint64_t>> asked{
      {kEmpty, 2},  {kEmpty, 3},  {kTable, 5},  {kTable, 10},
      {kTable, 20}, {kTable, 30}, {kTable, 40}, {kTable, ~std::uint64_t{0}}};
  constexpr std::uint64_t kUnchanged = 99;
  std::vector<std::array<std::byte, 8>> keys, values(asked.size(), bytes_of(kUnchanged));
  for (const auto& [table, key] : asked) keys.push_back(bytes_of(key));
  std::vector<RowToRead> rows;
  for (std::size_t at = 0; at < asked.size(); ++at) {
    rows.push_back(
        {.table = asked[at].first, .key = keys[at], .lock = RowLock::shared, .out = values[at]});
  }
  EXPECT_EQ(client->get_all(rows), Status::ok);
  Keys found;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    EXPECT_EQ(rows[at].found, number_of(values[at]) != kUnchanged);
    found.push_back(rows[at].found ? number_of(values[at]) : 0);
  }
  EXPECT_EQ(found, (Keys{0, 33, 0, 100, 5, 0, 7, 0}));
  EXPECT_EQ(get(*client, 10), 100U) << "reads one by one follow";
  EXPECT_EQ(client->commit(), Status::ok);
}

TEST_P(StoreTest, ScansWhileItScans) {
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_only), Status::ok);
  std::size_t inner = 0;
  const auto visit = [&](Bytes key, Bytes) {
    inner += scan(*client, 10, 30).size();
    return get(*client, number_of(key)) != 0;
  };
  EXPECT_EQ(client->scan(kTable, bytes_of(0), bytes_of(99), Direction::ascending, 0,
                         RowLock::shared, visit),
            Status::ok);
  EXPECT_EQ(inner, 9U);
  EXPECT_EQ(client->commit(), Status::ok);
}

TEST_P(StoreTest, WritesWhatIsCommittedAndNothingElse) {
  const auto client = store_->connect();
  for (const bool commits : {false, true}) {
    ASSERT_EQ(client->begin(Access::read_write), Status::ok);
    EXPECT_EQ(put(*client, 20, 5, Put::replace), Status::ok);
    EXPECT_EQ(put(*client, 40, 7, Put::fresh), Status::ok);
    EXPECT_EQ(erase(*client, 10), Status::ok);
    EXPECT_EQ(get(*client, 20), 5U) << "its own write";
    if (commits) {
      EXPECT_EQ(client->commit(), Status::ok);
    } else {
      client->rollback();
    }
    EXPECT_EQ(committed(20), commits ? 5U : 200U);
    EXPECT_EQ(committed(40), commits ? 7U : 0U);
    EXPECT_EQ(committed(10), commits ? 0U : 100U);
  }
  client->rollback();  // without a transaction
}

/// At once, or when it commits.
TEST_P(StoreTest, RefusesARowThatIsThereAndKeepsNothing) {
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  EXPECT_EQ(put(*client, 10, 1, Put::replace), Status::ok);
  const Status status = put(*client, 20, 1, Put::fresh);
  EXPECT_EQ(status == Status::ok ? client->commit() : status,
            status == Status::ok ? Status::conflict : Status::exists);
  client->rollback();
  EXPECT_EQ(committed(10), 100U);
  EXPECT_EQ(committed(20), 200U);
}

TEST_P(StoreTest, GoesBackToTheSavepoint) {
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  EXPECT_EQ(put(*client, 10, 1, Put::replace), Status::ok);
  EXPECT_EQ(client->savepoint(), Status::ok);
  EXPECT_EQ(put(*client, 20, 2, Put::replace), Status::ok);
  EXPECT_EQ(client->savepoint(), Status::ok);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(put(*client, 30, 3, Put::replace), Status::ok);
    EXPECT_EQ(client->rollback_to_savepoint(), Status::ok);
  }
  EXPECT_EQ(client->commit(), Status::ok);
  EXPECT_EQ(committed(10), 1U);
  EXPECT_EQ(committed(20), 2U);
  EXPECT_EQ(committed(30), 300U);
}

/// Increments of one row by several threads.
TEST_P(StoreTest, LosesNoUpdate) {
  constexpr int kThreads = 3;
  constexpr int kEach = 40;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this] {
      const auto client = store_->connect();
      for (int done = 0; done < kEach;) {
        const bool ok = client->begin(Access::read_write) == Status::ok &&
                        put(*client, 10, get(*client, 10) + 1, Put::replace) == Status::ok &&
                        client->commit() == Status::ok;
        if (!ok) client->rollback();
        done += ok ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(committed(10), 100U + kThreads * kEach);
}

class EmbeddedTest : public StoreTest {};

class SqliteTest : public StoreTest {};

TEST_P(SqliteTest, SaysWhatIsNotThere) {
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  EXPECT_EQ(put(*client, 21, 1, Put::replace), Status::absent);
  EXPECT_EQ(erase(*client, 21), Status::absent);
  client->rollback();
}

TEST_P(EmbeddedTest, ReadsASnapshot) {
  const auto reader = store_->connect();
  const auto writer = store_->connect();
  ASSERT_EQ(reader->begin(Access::read_only), Status::ok);
  EXPECT_EQ(get(*reader, 10), 100U);
  ASSERT_EQ(writer->begin(Access::read_write), Status::ok);
  EXPECT_EQ(put(*writer, 20, 2, Put::replace), Status::ok);
  EXPECT_EQ(writer->commit(), Status::ok);
  EXPECT_EQ(get(*reader, 20), 200U);
  EXPECT_EQ(reader->commit(), Status::ok);
  EXPECT_EQ(committed(20), 2U);
}

TEST_P(SqliteTest, RefusesADeferredWriteAfterAnotherCommit) {
  open({.begin = Begin::deferred});
  const auto one = store_->connect();
  const auto other = store_->connect();
  ASSERT_EQ(one->begin(Access::read_write), Status::ok);
  ASSERT_EQ(other->begin(Access::read_write), Status::ok);
  EXPECT_EQ(get(*one, 10), 100U);
  EXPECT_EQ(get(*other, 10), 100U);
  EXPECT_EQ(put(*one, 10, 1, Put::replace), Status::ok);
  EXPECT_EQ(put(*other, 20, 2, Put::replace), Status::busy);
  other->rollback();
  ASSERT_EQ(other->begin(Access::read_write), Status::ok);
  EXPECT_EQ(get(*other, 10), 100U);
  EXPECT_EQ(one->commit(), Status::ok);
  EXPECT_EQ(put(*other, 20, 2, Put::replace), Status::conflict);
  other->rollback();
}

TEST_P(SqliteTest, EndsTheWaitForTheWriterWithTheRun) {
  const auto writer = store_->connect();
  ASSERT_EQ(writer->begin(Access::read_write), Status::ok);
  std::atomic<bool> begins{false};
  Status status = Status::ok;
  std::thread waiting([&] {
    const auto client = store_->connect();
    begins = true;
    status = client->begin(Access::read_write);
    client->rollback();
  });
  while (!begins) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  stop_ = 1;
  store_->wake();
  waiting.join();
  EXPECT_EQ(status, Status::stopped);
  EXPECT_EQ(writer->commit(), Status::ok) << "what is under way may end";
}

TEST_P(EmbeddedTest, WaitsForTheDiskAsItsDurabilitySays) {
  constexpr std::uint64_t kCommits = 5;
  for (const Durability durability : {Durability::full, Durability::normal, Durability::off}) {
    open({.durability = durability});
    const auto client = store_->connect();
    const std::uint64_t before = store_->syncs();
    for (std::uint64_t commit = 0; commit < kCommits; ++commit) {
      ASSERT_EQ(client->begin(Access::read_write), Status::ok);
      EXPECT_EQ(put(*client, 10, commit, Put::replace), Status::ok);
      EXPECT_EQ(client->commit(), Status::ok);
    }
    const std::uint64_t syncs = store_->syncs() - before;
    // The first commit of SQLite writes the header of the journal too, and that of RocksDB syncs
    // the folder.
    EXPECT_GE(syncs, durability == Durability::full ? kCommits : 0);
    EXPECT_LE(syncs, durability == Durability::full ? kCommits + 1 : 1);
  }
}

TEST_P(EmbeddedTest, InterruptsAScan) {
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_only), Status::ok);
  const auto visit = [&client](Bytes, Bytes) {
    client->interrupt();
    return true;
  };
  EXPECT_EQ(client->scan(kTable, bytes_of(0), bytes_of(99), Direction::ascending, 0,
                         RowLock::shared, visit),
            Status::stopped);
  client->rollback();
  ASSERT_EQ(client->begin(Access::read_only), Status::ok);
  EXPECT_EQ(get(*client, 10), 100U) << "it ends what was in progress only";
  client->rollback();
}

/// It prepares a statement when it is first used, and an interrupt may come just then.
TEST_P(SqliteTest, InterruptsWhatItPrepares) {
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_only), Status::ok);
  Status read = Status::ok;
  (void)client->scan(kTable, bytes_of(0), bytes_of(100), Direction::ascending, 0, RowLock::shared,
                     [&client, &read](Bytes key, Bytes /*value*/) {
                       client->interrupt();
                       std::array<std::byte, 8> value{};
                       read = client->get(kTable, key, RowLock::shared, value);
                       return false;
                     });
  EXPECT_EQ(read, Status::stopped);
  client->rollback();
}

TEST_P(SqliteTest, NamesTheFolderThatIsGone) {
  open({});
  const auto path = folder_->path();
  folder_.reset();
  try {
    (void)store_->connect();
    ADD_FAILURE() << "it was opened";
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(path.string()), std::string::npos) << text;
    EXPECT_NE(text.find("folder="), std::string::npos) << text;
  }
}

#if !defined(__SANITIZE_THREAD__)  // see tested_stores()
INSTANTIATE_TEST_SUITE_P(Stores, EmbeddedTest, testing::ValuesIn(embedded_stores()),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Stores, SqliteTest, testing::Values("sqlite"),
                         [](const auto& test) { return test.param; });
#else
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EmbeddedTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SqliteTest);
#endif
INSTANTIATE_TEST_SUITE_P(Stores, StoreTest, testing::ValuesIn(tested_stores()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace heddle::store::test
