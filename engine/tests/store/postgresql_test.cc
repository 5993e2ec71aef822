#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/server_fixture.h"
#include "store/store.h"

/// What the PostgreSQL store does in addition to what every store does.
#if !defined(__SANITIZE_THREAD__)  // see tested_stores()
namespace heddle::store::test {
namespace {

class PostgresqlTest : public ServerFixture {
 protected:
  PostgresqlTest() : ServerFixture(kPostgresql) {}
};

TEST_F(PostgresqlTest, RefusesAnUpdateOfARowThatHasChanged) {
  for (const Isolation isolation : {Isolation::serializable, Isolation::repeatable_read}) {
    open({.durability = Durability::off, .isolation = isolation});
    const auto [one, other] = begin_two();
    EXPECT_EQ(put(*one, 10, 1, Put::replace), Status::ok);
    EXPECT_EQ(one->commit(), Status::ok);
    EXPECT_EQ(put(*other, 10, 2, Put::replace), Status::ok) << "it is not sent yet";
    EXPECT_EQ(other->commit(), Status::conflict);
    other->rollback();
    EXPECT_EQ(committed(10), 1U);
  }
}

TEST_F(PostgresqlTest, LosesUpdatesAtReadCommitted) {
  open({.durability = Durability::off, .isolation = Isolation::read_committed});
  const auto [one, other] = begin_two();
  EXPECT_EQ(put(*one, 10, 1, Put::replace), Status::ok);
  EXPECT_EQ(one->commit(), Status::ok);
  EXPECT_EQ(put(*other, 10, 2, Put::replace), Status::ok);
  EXPECT_EQ(other->commit(), Status::ok);
  EXPECT_EQ(committed(10), 2U);
}

TEST_F(PostgresqlTest, RefusesWriteSkewAtSerializableOnly) {
  for (const Isolation isolation : {Isolation::serializable, Isolation::repeatable_read}) {
    open({.durability = Durability::off, .isolation = isolation});
    const auto [one, other] = begin_two();
    EXPECT_EQ(put(*one, 10, 1, Put::replace), Status::ok);
    EXPECT_EQ(put(*other, 20, 2, Put::replace), Status::ok);
    EXPECT_EQ(one->commit(), Status::ok);
    EXPECT_EQ(other->commit(),
              isolation == Isolation::serializable ? Status::conflict : Status::ok);
    other->rollback();
  }
}

TEST_F(PostgresqlTest, ReportsAWriteThatFailsWithRowsReadTogether) {
  const auto client = store_->connect();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  EXPECT_EQ(put(*client, 20, 1, Put::fresh), Status::ok);
  const auto key = bytes_of(10);
  std::array<std::byte, 8> value{};
  std::array<RowToRead, 2> rows{
      {{.table = kEmpty, .key = key, .lock = RowLock::shared, .out = value},
       {.table = kTable, .key = key, .lock = RowLock::shared, .out = value}}};
  EXPECT_EQ(client->get_all(rows), Status::conflict);
  client->rollback();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  EXPECT_EQ(client->get_all(rows), Status::ok);
  EXPECT_FALSE(rows[0].found);
  EXPECT_TRUE(rows[1].found);
  EXPECT_EQ(number_of(value), 100U);
  client->rollback();
}

/// The server remembers that the transaction has read them, also that one of them is absent.
TEST_F(PostgresqlTest, RefusesWriteSkewOverRowsThatWereReadTogether) {
  for (const std::uint64_t absent : {20, 25}) {
    open({.durability = Durability::off});
    const Pair pair{store_->connect(), store_->connect()};
    for (Connection* client : {pair.one.get(), pair.other.get()}) {
      const auto first = bytes_of(10);
      const auto second = bytes_of(absent);
      std::array<std::byte, 8> value{};
      std::array<RowToRead, 2> rows{
          {{.table = kTable, .key = first, .lock = RowLock::shared, .out = value},
           {.table = kTable, .key = second, .lock = RowLock::shared, .out = value}}};
      EXPECT_EQ(client->begin(Access::read_write), Status::ok);
      EXPECT_EQ(client->get_all(rows), Status::ok);
      EXPECT_EQ(rows[1].found, absent == 20);
    }
    EXPECT_EQ(put(*pair.one, 10, 1, Put::replace), Status::ok);
    EXPECT_EQ(put(*pair.other, absent, 2, absent == 20 ? Put::replace : Put::fresh), Status::ok);
    EXPECT_EQ(pair.one->commit(), Status::ok);
    EXPECT_EQ(pair.other->commit(), Status::conflict);
    pair.other->rollback();
  }
}

TEST_F(PostgresqlTest, CountsRoundTrips) {
  const auto client = store_->connect();
  const std::uint64_t before = store_->round_trips().value();
  ASSERT_EQ(client->begin(Access::read_write), Status::ok);
  const auto key = bytes_of(10);
  std::array<std::byte, 8> value{};
  std::array<RowToRead, 2> rows{
      {{.table = kEmpty, .key = key, .lock = RowLock::shared, .out = value},
       {.table = kTable, .key = key, .lock = RowLock::shared, .out = value}}};
  EXPECT_EQ(client->get_all(rows), Status::ok);
  EXPECT_EQ(get(*client, 20), 200U);
  EXPECT_EQ(put(*client, 10, 1, Put::replace), Status::ok);
  EXPECT_EQ(put(*client, 20, 1, Put::replace), Status::ok);
  EXPECT_EQ(client->commit(), Status::ok);
  EXPECT_EQ(store_->round_trips().value() - before, 3U) << "the rows, one more, and the commit";
}

TEST_F(PostgresqlTest, EndsADeadlock) {
  open({.durability = Durability::off, .isolation = Isolation::read_committed});
  auto [one, other] = begin_two();
  // A read sends the write before it.
  EXPECT_EQ(put(*one, 10, 1, Put::replace), Status::ok);
  EXPECT_EQ(get(*one, 10), 1U);
  EXPECT_EQ(put(*other, 20, 2, Put::replace), Status::ok);
  EXPECT_EQ(get(*other, 20), 2U);
  Status first = Status::ok;
  std::thread waiting([&, client = one.get()] {
    EXPECT_EQ(put(*client, 20, 1, Put::replace), Status::ok);
    first = client->commit();
    client->rollback();
  });
  EXPECT_EQ(put(*other, 10, 2, Put::replace), Status::ok);
  const Status second = other->commit();
  other->rollback();
  waiting.join();
  EXPECT_TRUE((first == Status::deadlock) != (second == Status::deadlock));
  EXPECT_TRUE((first == Status::ok) != (second == Status::ok));
}

TEST_F(PostgresqlTest, EndsAWaitForARowWithTheRun) {
  auto [one, other] = begin_two();
  EXPECT_EQ(put(*one, 10, 1, Put::replace), Status::ok);
  EXPECT_EQ(get(*one, 10), 1U);
  std::atomic<bool> waits{false};
  Status status = Status::ok;
  std::thread waiting([&, client = other.get()] {
    EXPECT_EQ(put(*client, 10, 2, Put::replace), Status::ok);
    waits = true;
    status = client->commit();
    client->rollback();
  });
  while (!waits) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  stop_ = 1;
  other->interrupt();
  waiting.join();
  EXPECT_EQ(status, Status::stopped);
  EXPECT_EQ(one->commit(), Status::ok) << "what is under way may end";
}

/// The rows are copied back when the run is over.
TEST_F(PostgresqlTest, WaitsAfterTheRunToo) {
  open({.durability = Durability::off, .isolation = Isolation::read_committed});
  auto [one, other] = begin_two();
  EXPECT_EQ(put(*one, 10, 1, Put::replace), Status::ok);
  EXPECT_EQ(get(*one, 10), 1U) << "which sends the write";
  stop_ = 1;
  Status status = Status::lost;
  std::thread writer([&] {
    const auto client = store_->connect();
    EXPECT_EQ(client->begin(Access::read_write), Status::ok);
    EXPECT_EQ(put(*client, 10, 2, Put::replace), Status::ok);
    status = client->commit();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(one->commit(), Status::ok);
  writer.join();
  EXPECT_EQ(status, Status::ok);
}

TEST_F(PostgresqlTest, WaitsForTheDiskAsItsDurabilitySays) {
  constexpr std::uint64_t kCommits = 20;
  for (const Durability durability : {Durability::full, Durability::off}) {
    open({.durability = durability});
    const std::uint64_t before = store_->syncs();
    {
      const auto client = store_->connect();
      for (std::uint64_t commit = 0; commit < kCommits; ++commit) {
        ASSERT_EQ(client->begin(Access::read_write), Status::ok);
        EXPECT_EQ(put(*client, 10, commit, Put::replace), Status::ok);
        EXPECT_EQ(client->commit(), Status::ok);
      }
    }
    // A process of the server adds what it has counted when it ends.
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (durability == Durability::full && store_->syncs() - before < kCommits &&
           std::chrono::steady_clock::now() < last) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (durability == Durability::full) {
      EXPECT_GE(store_->syncs() - before, kCommits);
    } else {
      EXPECT_EQ(store_->syncs(), before);
    }
  }
}

class PostgresqlServerTest : public OwnServerFixture {
 protected:
  PostgresqlServerTest() : OwnServerFixture(kPostgresql) {}

  [[nodiscard]] std::string dsn() const {
    return "host=" + server_.string() + " user=heddle dbname=postgres";
  }
};

TEST_F(PostgresqlServerTest, UsesAServerThatIsNamed) {
  const std::string named = dsn();
  open({.durability = Durability::normal, .dsn = named});
  EXPECT_EQ(committed(10), 100U);
  const std::string error = error_of({.dsn = named, .connections = 1'000, .stop = &stop_});
  EXPECT_NE(error.find("connections, and the run needs 1001"), std::string::npos) << error;
}

/// Variables of the environment, as long as it lives.
class Environment {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;
  explicit Environment(Variables variables) : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const auto& [name, value] : variables_) unsetenv(name.c_str());
  }

 private:
  Variables variables_;
};

TEST_F(PostgresqlServerTest, TheServerOfTheRunIsReachedWhateverTheEnvironmentSays) {
  const std::string services = (place_ / "services").string();
  std::ofstream(services)
      << "[elsewhere]\nhost=192.0.2.1\nhostaddr=192.0.2.1\nport=1\n"
         "user=nobody\ndbname=other\noptions=-cdefault_transaction_read_only=on\n"
         "sslmode=verify-full\n";
  const Environment environment({{"PGHOST", "192.0.2.1"},
                                 {"PGHOSTADDR", "192.0.2.1"},
                                 {"PGPORT", "1"},
                                 {"PGUSER", "nobody"},
                                 {"PGDATABASE", "other"},
                                 {"PGOPTIONS", "-cdefault_transaction_read_only=on"},
                                 {"PGSERVICE", "elsewhere"},
                                 {"PGSERVICEFILE", services},
                                 {"PGREQUIREPEER", "somebody"},
                                 {"PGREQUIREAUTH", "scram-sha-256"},
                                 {"PGCHANNELBINDING", "require"},
                                 {"PGSSLMODE", "verify-full"},
                                 {"PGSSLNEGOTIATION", "direct"},
                                 {"PGSSLCERTMODE", "require"},
                                 {"PGSSLMINPROTOCOLVERSION", "none"},
                                 {"PGSSLMAXPROTOCOLVERSION", "none"},
                                 {"PGGSSENCMODE", "require"},
                                 {"PGLOADBALANCEHOSTS", "never"},
                                 {"PGTARGETSESSIONATTRS", "standby"},
                                 {"PGCLIENTENCODING", "none"},
                                 {"PGCONNECT_TIMEOUT", "never"}});
  open({.durability = Durability::off}, place_);  // the server that runs
  EXPECT_EQ(committed(10), 100U);
  open({.durability = Durability::normal}, place_);  // another one
  EXPECT_EQ(committed(10), 100U);
}

/// As psql does: what dsn= leaves out is what the environment says.
TEST_F(PostgresqlServerTest, AServerThatIsNamedMayBeNamedByTheEnvironment) {
  const Environment environment({{"PGHOST", server_.string()}, {"PGUSER", "heddle"}});
  open({.durability = Durability::normal, .dsn = "dbname=postgres"});
  EXPECT_EQ(committed(10), 100U);
}

TEST_F(PostgresqlServerTest, NamesTheVariableThatKeepsItFromConnecting) {
  for (const auto& [variable, value] : {std::pair("PGSERVICE", "nowhere"), {"PGTZ", "nowhere"}}) {
    const Environment environment(Environment::Variables(1, {variable, value}));
    std::string error;
    try {
      open({.durability = Durability::normal}, place_);
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
    EXPECT_NE(error.find("nowhere"), std::string::npos) << error;
    EXPECT_NE(error.find("unset the environment variables"), std::string::npos) << error;
  }
}

TEST_F(PostgresqlTest, ShowsNoPassword) {
  for (const char* dsn : {"host=db password=abracadabra", "postgresql://me:abracadabra@db/shop",
                          "postgresql://me:abracadabra@db:port/shop", "host abracadabra"}) {
    const std::string error = error_of({.dsn = dsn, .stop = &stop_});
    EXPECT_NE(error.find("dsn="), std::string::npos) << error;
    EXPECT_EQ(error.find("abracadabra"), std::string::npos) << error;
  }
}

TEST_F(PostgresqlTest, NamesAServerThatDoesNotAnswer) {
  const std::string error = error_of({.dsn = "host=/nonexistent dbname=shop", .stop = &stop_});
  EXPECT_NE(error.find("(host /nonexistent, database shop)"), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

TEST_F(PostgresqlTest, NamesAPathThatIsTooLongForASocket) {
  const auto place = std::filesystem::path("/tmp") / ("heddle-" + std::string(90, 'x'));
  std::filesystem::create_directory(place);
  const std::string error = error_of({.folder = (place / "run").string(), .stop = &stop_});
  EXPECT_NE(error.find("the system allows 107"), std::string::npos) << error;
  EXPECT_TRUE(std::filesystem::is_empty(place)) << "what it has made is gone";
  std::filesystem::remove(place);
}

}  // namespace
}  // namespace heddle::store::test
#endif
