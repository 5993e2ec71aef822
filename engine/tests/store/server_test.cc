#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "store/server_fixture.h"
#include "store/store.h"

/// What every store with a server does in addition to what every store does.
#if !defined(__SANITIZE_THREAD__)  // see tested_stores()
namespace heddle::store::test {
namespace {

class ServerTest : public ServerFixture, public testing::WithParamInterface<TestedServer> {
 protected:
  ServerTest() : ServerFixture(GetParam()) {}
};

class OwnServerTest : public OwnServerFixture, public testing::WithParamInterface<TestedServer> {
 protected:
  OwnServerTest() : OwnServerFixture(GetParam()) {}
};

/// Nor does it commit what was sent with a write that finds no row.
TEST_P(ServerTest, RefusesToWriteARowThatIsGone) {
  for (const bool erases : {false, true}) {
    open({.durability = Durability::off, .isolation = Isolation::read_committed});
    const auto [one, other] = begin_two();
    EXPECT_EQ(erase(*one, 20), Status::ok);
    EXPECT_EQ(one->commit(), Status::ok);
    EXPECT_EQ(put(*other, 10, 1, Put::replace), Status::ok);
    EXPECT_EQ(erases ? erase(*other, 20) : put(*other, 20, 1, Put::replace), Status::ok);
    EXPECT_EQ(other->commit(), Status::conflict);
    other->rollback();
    EXPECT_EQ(committed(10), 100U);
    EXPECT_EQ(committed(20), 0U);
  }
}

TEST_P(ServerTest, ReportsAWriteThatFailsWithTheNextRead) {
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  EXPECT_EQ(put(*client, 20, 1, Put::fresh), Status::ok);
  std::array<std::byte, 8> value{};
  EXPECT_EQ(client->get(kTable, bytes_of(10), RowLock::shared, value), Status::conflict);
  client->rollback();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  EXPECT_EQ(get(*client, 20), 200U) << "the next transaction is another one";
  client->rollback();
}

TEST_P(ServerTest, ScansMoreRowsThanItFetchesAtOnce) {
  constexpr std::uint64_t kRows = 300;
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  for (std::uint64_t key = 1000; key < 1000 + kRows; ++key) {
    EXPECT_EQ(put(*client, key, 10 * key, Put::fresh), Status::ok);
  }
  for (const std::size_t expected : {0, 1, 7, 300, 1000}) {
    for (const Direction direction : {Direction::ascending, Direction::descending}) {
      Keys keys = scan(*client, 1000, 1000 + kRows - 2, direction, expected);
      if (direction == Direction::descending) std::reverse(keys.begin(), keys.end());
      ASSERT_EQ(keys.size(), kRows - 1);
      for (std::size_t at = 0; at < keys.size(); ++at) EXPECT_EQ(keys[at], 1000 + at);
    }
  }
  client->rollback();
}

TEST_P(OwnServerTest, NamesTheServerThatIsGone) {
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  EXPECT_EQ(get(*client, 10), 100U);
  stop_server();
  std::array<std::byte, 8> value{};
  EXPECT_EQ(client->get(kTable, bytes_of(10), RowLock::shared, value), Status::lost);
  EXPECT_NE(client->error().find(server_.string()), std::string::npos) << client->error();
  EXPECT_EQ(client->error().find('\n'), std::string::npos) << client->error();
  client->rollback();
  EXPECT_EQ(client->begin(Access::read_write) == Status::ok &&
                client->get(kTable, bytes_of(10), RowLock::shared, value) == Status::ok,
            false);
}

TEST_P(OwnServerTest, StartsAnotherServerAfterOneThatIsGone) {
  stop_server();
  open({.durability = Durability::off}, place_);
  EXPECT_EQ(committed(10), 100U);
}

/// Its processes are stopped: the connections stay open, and nothing is answered.
class SilentServerTest : public OwnServerTest {
 protected:
  static constexpr double kSilenceS = 3;  // on a busy machine the set-up takes a second

  void TearDown() override {
    if (!server_.empty()) continue_server();
    OwnServerTest::TearDown();
  }
  [[nodiscard]] static StoreSetup impatient() {
    return {.durability = Durability::off, .silence_s = kSilenceS};
  }
  static void expect_silence(const std::string& error, const std::string& operation) {
    EXPECT_NE(error.find(": the server has not answered for "), std::string::npos) << error;
    EXPECT_NE(error.find(" s to " + operation + " ("), std::string::npos) << error;
    EXPECT_NE(error.find("check that it is not stopped"), std::string::npos) << error;
  }
};

TEST_P(SilentServerTest, EndsTheTransactionsOfARunThatIsOver) {
  open(impatient(), place_);
  const auto one = store_->connect();
  ASSERT_EQ(one->begin(Access::read_write), Status::ok);
  EXPECT_EQ(get(*one, 10), 100U);
  EXPECT_EQ(put(*one, 10, 1, Put::replace), Status::ok);
  silence_server();
  std::thread monitor([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop_ = 1;
  });
  EXPECT_EQ(one->commit(), Status::lost);
  monitor.join();
  expect_silence(one->error(), "a commit");
  EXPECT_NE(one->error().find(server_.string()), std::string::npos) << one->error();
  one->rollback();
  EXPECT_EQ(store_->syncs(), 0U) << "it returns";
}

TEST_P(SilentServerTest, EndsTheReadsAfterTheRun) {
  open(impatient(), place_);
  stop_ = 1;
  const auto reader = store_->connect();
  ASSERT_EQ(reader->begin(Access::read_only), Status::ok);
  EXPECT_EQ(get(*reader, 10), 100U);
  silence_server();
  std::array<std::byte, 8> value{};
  EXPECT_EQ(reader->get(kTable, bytes_of(10), RowLock::shared, value), Status::lost);
  expect_silence(reader->error(), "a statement");
}

TEST_P(SilentServerTest, EndsTheFilling) {
  StoreSetup setup = impatient();
  setup.tables = {{"EMPTY", 8, 8}};
  setup.folder = folder_->path().string();
  setup.stop = &stop_;
  const auto store = find_store(tested_.store)(setup);
  const auto filler = store->fill();
  silence_server();
  std::string error;
  try {
    // More than the sockets hold.
    for (std::uint64_t key = 0; key < 1'000'000; ++key) {
      filler->put(kEmpty, bytes_of(key), bytes_of(key));
    }
    filler->commit();
  } catch (const std::exception& refused) {
    error = refused.what();
  }
  expect_silence(error, "a statement");
}

const auto kServers = testing::Values(kPostgresql, kMariadb);
const auto name_of = [](const auto& test) { return test.param.store; };
INSTANTIATE_TEST_SUITE_P(Stores, ServerTest, kServers, name_of);
INSTANTIATE_TEST_SUITE_P(Stores, OwnServerTest, kServers, name_of);
INSTANTIATE_TEST_SUITE_P(Stores, SilentServerTest, kServers, name_of);

}  // namespace
}  // namespace heddle::store::test
#endif
