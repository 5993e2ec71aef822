#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "store/server_fixture.h"
#include "store/store.h"

/// What the MariaDB store does in addition to what every store does.
#if !defined(__SANITIZE_THREAD__)  // see tested_stores()
namespace heddle::store::test {
namespace {

class MariadbTest : public ServerFixture {
 protected:
  MariadbTest() : ServerFixture(kMariadb) {}
};

TEST_F(MariadbTest, LosesUpdatesBelowSerializable) {
  for (const Isolation isolation : {Isolation::repeatable_read, Isolation::read_committed}) {
    open({.durability = Durability::off, .isolation = isolation});
    const auto [one, other] = begin_two();
    EXPECT_EQ(put(*one, 10, 1, Put::replace), Status::ok);
    EXPECT_EQ(one->commit(), Status::ok);
    EXPECT_EQ(get(*other, 10), isolation == Isolation::repeatable_read ? 100U : 1U);
    EXPECT_EQ(put(*other, 10, 2, Put::replace), Status::ok);
    EXPECT_EQ(other->commit(), Status::ok);
    EXPECT_EQ(committed(10), 2U);
  }
}

/// Rows that are read to be written are locked at once, so that there is no upgrade.
TEST_F(MariadbTest, HasADeadlockOfUpgradesOnlyWithSharedLocks) {
  for (const RowLock lock : {RowLock::shared, RowLock::exclusive}) {
    open({.durability = Durability::off});
    std::atomic<int> readers{0};
    std::array<Status, 2> ends{};
    std::array<std::thread, 2> threads;
    for (std::size_t at = 0; at < threads.size(); ++at) {
      threads[at] = std::thread([&, at] {
        const auto client = store_->connect();
        std::array<std::byte, 8> value{};
        EXPECT_EQ(client->begin(Access::read_write), Status::ok);
        Status status = client->get(kTable, bytes_of(10), lock, value);
        // With shared locks both have read before one writes.
        ++readers;
        while (lock == RowLock::shared && readers < 2) std::this_thread::yield();
        if (status == Status::ok) status = put(*client, 10, number_of(value) + 1, Put::replace);
        if (status == Status::ok) status = client->commit();
        if (status != Status::ok) client->rollback();
        ends[at] = status;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::count(ends.begin(), ends.end(), Status::deadlock),
              lock == RowLock::shared ? 1 : 0);
    EXPECT_EQ(committed(10), lock == RowLock::shared ? 101U : 102U);
  }
}

/// The gap where a row is not there is locked too.
TEST_F(MariadbTest, AdmitsNoPhantom) {
  const auto reader = store_->connect();
  ASSERT_EQ(reader->begin(Access::read_only), Status::ok);
  EXPECT_EQ(scan(*reader, 10, 25), (Keys{10, 20}));
  std::atomic<bool> inserted{false};
  std::thread inserts([&] {
    const auto client = store_->connect();
    EXPECT_EQ(client->begin(Access::read_write), Status::ok);
    EXPECT_EQ(put(*client, 15, 150, Put::fresh), Status::ok);
    EXPECT_EQ(client->commit(), Status::ok);
    inserted = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(inserted);
  EXPECT_EQ(scan(*reader, 10, 25), (Keys{10, 20}));
  EXPECT_EQ(reader->commit(), Status::ok);
  inserts.join();
  EXPECT_EQ(committed(15), 150U);
}

/// What ends a string in SQL, and what is no character in UTF-8.
TEST_F(MariadbTest, KeepsAllBytes) {
  constexpr unsigned kValues = 256;
  constexpr unsigned kBytes = 8;
  for (const unsigned step : {1U, 37U}) {
    const auto client = store_->connect();
    ASSERT_EQ(client->begin(Access::read_write), Status::ok);
    std::array<std::byte, kBytes> bytes{};
    for (unsigned first = 0; first < kValues; ++first) {
      for (unsigned at = 0; at < kBytes; ++at) {
        bytes[at] = static_cast<std::byte>(first + at * step);
      }
      ASSERT_EQ(client->put(0, bytes, bytes, Put::fresh), Status::ok);
    }
    for (unsigned first = 0; first < kValues; ++first) {
      for (unsigned at = 0; at < kBytes; ++at) {
        bytes[at] = static_cast<std::byte>(first + at * step);
      }
      std::array<std::byte, kBytes> read{};
      ASSERT_EQ(client->get(0, bytes, RowLock::shared, read), Status::ok) << first;
      EXPECT_EQ(read, bytes);
    }
    client->rollback();
  }
}

TEST_F(MariadbTest, SendsManyWritesInSeveralMessages) {
  constexpr std::uint64_t kRows = 20'000;  // more than a message may have
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  for (std::uint64_t key = 1000; key < 1000 + kRows; ++key) {
    ASSERT_EQ(put(*client, key, 10 * key, Put::fresh), Status::ok);
  }
  EXPECT_EQ(client->commit(), Status::ok);
  EXPECT_EQ(committed(1000 + kRows - 1), 10 * (1000 + kRows - 1));
}

/// InnoDB undoes the statement only, and the transaction keeps its locks until it rolls back.
TEST_F(MariadbTest, GivesUpALongWaitForALock) {
  const auto [one, other] = begin_two();
  EXPECT_EQ(put(*other, 40, 4, Put::fresh), Status::ok);
  EXPECT_EQ(put(*other, 10, 2, Put::replace), Status::ok);
  EXPECT_EQ(other->commit(), Status::busy);
  other->rollback();
  EXPECT_EQ(put(*one, 20, 1, Put::replace), Status::ok);
  EXPECT_EQ(one->commit(), Status::ok) << "the other one has released its locks";
  EXPECT_EQ(committed(40), 0U);
}

TEST_F(MariadbTest, EndsAWaitForARowWithTheRun) {
  auto [one, other] = begin_two();
  std::atomic<bool> waits{false};
  Status status = Status::ok;
  std::thread waiting([&, client = other.get()] {
    EXPECT_EQ(put(*client, 10, 2, Put::replace), Status::ok);
    waits = true;
    status = client->commit();
    client->rollback();
  });
  while (!waits) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto asked = std::chrono::steady_clock::now();
  stop_ = 1;
  other->interrupt();
  waiting.join();
  EXPECT_EQ(status, Status::stopped);
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(3))
      << "it was ended, and has not given up";
  EXPECT_EQ(one->commit(), Status::ok) << "what is under way may end";
}

/// The rows are copied back when the run is over.
TEST_F(MariadbTest, WaitsAfterTheRunToo) {
  auto [one, other] = begin_two();
  other->rollback();
  EXPECT_EQ(put(*one, 10, 1, Put::replace), Status::ok);
  EXPECT_EQ(get(*one, 10), 1U) << "which sends the write";
  stop_ = 1;
  std::uint64_t read = 0;
  std::thread reader([&] { read = committed(10); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(one->commit(), Status::ok);
  reader.join();
  EXPECT_EQ(read, 1U);
}

TEST_F(MariadbTest, WaitsForTheDiskAsItsDurabilitySays) {
  constexpr std::uint64_t kCommits = 20;
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
    if (durability == Durability::full) {
      EXPECT_GE(syncs, kCommits);
    } else {
      EXPECT_LT(syncs, kCommits) << "at most what the server does now and then";
    }
  }
}

class MariadbServerTest : public OwnServerFixture {
 protected:
  MariadbServerTest() : OwnServerFixture(kMariadb) {}

  [[nodiscard]] std::string dsn() const {
    return "mariadb://me@localhost?socket=" + (server_ / "mariadb.sock").string();
  }
};

TEST_F(MariadbServerTest, UsesAServerThatIsNamed) {
  const std::string named = dsn();
  open({.durability = Durability::off, .dsn = named});
  EXPECT_EQ(committed(10), 100U);
  EXPECT_NE(
      error_of({.durability = Durability::off, .dsn = named, .connections = 1'000, .stop = &stop_})
          .find("connections, and the run needs 1001"),
      std::string::npos);
  const std::string error =
      error_of({.durability = Durability::full, .dsn = named, .stop = &stop_});
  EXPECT_NE(error.find("innodb_flush_log_at_trx_commit of the server is 0, and this durability= "
                       "needs 1"),
            std::string::npos)
      << error;
}

TEST_F(MariadbTest, ShowsNoPassword) {
  for (const char* dsn :
       {"mariadb://me:abracadabra@db", "mariadb://me:abracadabra@db:port", "db/abracadabra",
        "mariadb://me@db/abracadabra", "mariadb://me@db?password=abracadabra"}) {
    const std::string error = error_of({.dsn = dsn, .stop = &stop_});
    EXPECT_NE(error.find("dsn="), std::string::npos) << error;
    EXPECT_EQ(error.find("abracadabra"), std::string::npos) << error;
  }
}

TEST_F(MariadbTest, NamesAServerThatDoesNotAnswer) {
  const std::string error =
      error_of({.dsn = "mariadb://me@localhost?socket=/nonexistent/s%41", .stop = &stop_});
  EXPECT_NE(error.find("(socket /nonexistent/sA)"), std::string::npos) << error;
  EXPECT_NE(error.find("check that the server runs"), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

}  // namespace
}  // namespace heddle::store::test
#endif
