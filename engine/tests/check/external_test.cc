#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "check/trial.h"
#include "scale.h"
#include "store/map_store.h"
#include "store/opened_stores.h"
#include "store/stores.h"

/// Trials of random transaction types in external stores, and in one with a seeded fault.
namespace heddle::test {
namespace {

Trial trial_in(const std::string& store, std::uint64_t program) {
  Trial trial;
  trial.workload = {{"name", "generic"}, {"program", std::to_string(program)},
                    {"types", "6"},      {"churn", program % 2 == 0 ? "50" : "0"},
                    {"rollbacks", "10"}, {"audits", program % 3 == 0 ? "5" : "0"}};
  trial.seed = program;
  trial.run.protocol = "external";
  trial.run.protocol_options = store::test::options_of(store);
  trial.run.protocol_options["durability"] = "off";
  trial.run.protocol_options["merge"] = std::to_string(1 + 4 * (program % 3));
  trial.run.protocol_options["reads"] = program % 2 == 0 ? "together" : "alone";
  if (store == "sqlite" && program % 2 != 0) trial.run.protocol_options["begin"] = "deferred";
  trial.run.seconds = scaled_seconds(0.05);
  return trial;
}

Verdict verdict_on(const Trial& trial) {
  return run_trial(trial, [] { return false; });
}

class ExternalTrials : public testing::TestWithParam<std::string> {};

TEST_P(ExternalTrials, AreSerializable) {
  store::test::add_test_stores();
  if (const auto why = store::test::why_missing(store::test::store_of(GetParam())))
    GTEST_SKIP() << *why;
  std::uint64_t checked = 0;
  for (std::uint64_t program = 0; program < scaled(10); ++program) {
    SCOPED_TRACE("program " + std::to_string(program));
    const Verdict verdict = verdict_on(trial_in(GetParam(), program));
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
    checked += verdict.report.transactions;
  }
  EXPECT_GT(checked, 0U);
}

INSTANTIATE_TEST_SUITE_P(Stores, ExternalTrials, testing::ValuesIn(store::test::tested_stores()),
                         [](const auto& test) { return test.param; });

#if !defined(__SANITIZE_THREAD__)  // see tested_stores()

class ExternalLevels : public testing::TestWithParam<std::string> {};

/// What PostgreSQL and MariaDB do not isolate below SERIALIZABLE.
TEST_P(ExternalLevels, ThatLoseUpdatesAreFound) {
  if (const auto why = store::test::why_missing(GetParam())) GTEST_SKIP() << *why;
  for (const char* isolation : {"read_committed", "repeatable_read"}) {
    std::uint64_t found = 0;
    for (std::uint64_t program = 0; program < 40 && found == 0; ++program) {
      Trial trial = trial_in(GetParam(), program);
      trial.run.protocol_options["isolation"] = isolation;
      found = verdict_on(trial).report.anomalies.size();
    }
    EXPECT_GT(found, 0U) << isolation;
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, ExternalLevels, testing::Values("postgresql", "mariadb"),
                         [](const auto& test) { return test.param; });

/// What RocksDB does not isolate if a transaction's reads are neither locked nor validated.
TEST(ExternalKinds, ThatRocksdbDoesNotIsolateAreFound) {
  if (const auto why = store::test::why_missing("rocksdb")) GTEST_SKIP() << *why;
  for (const char* tested : {"rocksdb", "rocksdb_locking"}) {
    std::uint64_t found = 0;
    for (std::uint64_t program = 0; program < 40 && found == 0; ++program) {
      Trial trial = trial_in(tested, program);
      trial.run.protocol_options["isolation"] = "read_committed";
      found = verdict_on(trial).report.anomalies.size();
    }
    EXPECT_GT(found, 0U) << tested;
  }
}

/// A seeded fault: ranges are read in another transaction, and only the rows that were found are
/// part of this one. So it is with RocksDB's own scans.
class RangesOutside final : public store::test::Forwarding {
 public:
  RangesOutside(std::unique_ptr<store::Connection> inner, std::unique_ptr<store::Connection> other)
      : Forwarding(std::move(inner)), other_(std::move(other)) {}

  store::Status begin(store::Access access) override {
    only_reads_ = access == store::Access::read_only;
    return Forwarding::begin(access);
  }
  store::Status scan(std::size_t table, store::Bytes lo, store::Bytes hi,
                     store::Direction direction, std::size_t expected, store::RowLock lock,
                     Visit visit) override {
    if (only_reads_) return Forwarding::scan(table, lo, hi, direction, expected, lock, visit);
    store::Status status = other_->begin(store::Access::read_only);
    if (status != store::Status::ok) return status;
    store::Status read = store::Status::ok;
    const auto read_here = [&](store::Bytes key, store::Bytes value) {
      std::vector<std::byte> current(value.size());
      read = get(table, key, lock, current);
      return read == store::Status::absent || (read == store::Status::ok && visit(key, current));
    };
    status = other_->scan(table, lo, hi, direction, expected, lock, read_here);
    (void)other_->commit();
    return status == store::Status::ok && read != store::Status::absent ? read : status;
  }

 private:
  std::unique_ptr<store::Connection> other_;
  bool only_reads_ = false;
};

class StoreWithRangesOutside final : public store::Store {
 public:
  explicit StoreWithRangesOutside(std::unique_ptr<store::Store> inner) : inner_(std::move(inner)) {}

  std::unique_ptr<store::Filler> fill() override { return inner_->fill(); }
  std::unique_ptr<store::Connection> connect() override {
    return std::make_unique<RangesOutside>(inner_->connect(), inner_->connect());
  }
  void wake() override { inner_->wake(); }
  [[nodiscard]] std::uint64_t syncs() const override { return inner_->syncs(); }

 private:
  std::unique_ptr<store::Store> inner_;
};

/// Few rows that all transactions scan, and into which they insert.
Trial phantom_trial(const std::string& store, std::uint64_t seed) {
  Trial trial;
  trial.workload = {{"name", "ycsb"}, {"index", "ordered"}, {"records", "60"},    {"theta", "0"},
                    {"read", "0"},    {"rmw", "20"},        {"scan", "30"},       {"insert", "30"},
                    {"delete", "20"}, {"operations", "3"},  {"scan_length", "20"}};
  trial.seed = seed;
  trial.run.protocol = "external";
  trial.run.protocol_options = store::test::options_of(store);
  trial.run.protocol_options["durability"] = "off";
  trial.run.seconds = scaled_seconds(0.1);
  return trial;
}

class ExternalRanges : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const auto why = store::test::why_missing("rocksdb")) GTEST_SKIP() << *why;
  }
};

TEST_P(ExternalRanges, HaveNoPhantoms) {
  std::uint64_t checked = 0;
  for (std::uint64_t seed = 0; seed < scaled(10); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Verdict verdict = verdict_on(phantom_trial(GetParam(), seed));
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
    checked += verdict.report.transactions;
  }
  EXPECT_GT(checked, 0U);
}

TEST_P(ExternalRanges, ThatAreNotProtectedAreFound) {
  const store::Conflicts conflicts = store::test::conflicts_of(GetParam());
  store::add_store("unranged", [conflicts](const store::StoreSetup& setup) {
    store::StoreSetup changed = setup;
    changed.conflicts = conflicts;
    return std::make_unique<StoreWithRangesOutside>(store::find_store("rocksdb")(changed));
  });
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 40 && found == 0; ++seed) {
    found = verdict_on(phantom_trial("unranged", seed)).report.anomalies.size();
  }
  EXPECT_GT(found, 0U);
}

INSTANTIATE_TEST_SUITE_P(Stores, ExternalRanges, testing::Values("rocksdb", "rocksdb_locking"),
                         [](const auto& test) { return test.param; });
#endif

/// A store that refuses a write now and then, so that groups fail, and their transactions run
/// again.
class Refusing : public store::test::Forwarding {
 public:
  using Forwarding::Forwarding;
  store::Status put(std::size_t table, store::Bytes key, store::Bytes value,
                    store::Put how) override {
    // relaxed: only counted.
    if (puts.fetch_add(1, std::memory_order_relaxed) % 7 == 0) return store::Status::conflict;
    return Forwarding::put(table, key, value, how);
  }
  static inline std::atomic<int> puts{0};
};

/// A seeded fault: it keeps what a group that failed has written.
class Keeping final : public Refusing {
 public:
  using Refusing::Refusing;
  void rollback() override { (void)Forwarding::commit(); }
};

template <class Wrapper>
void add_wrapped(const char* name) {
  store::add_store(name, [](const store::StoreSetup& setup) {
    return std::make_unique<store::test::Wrapped<Wrapper>>(
        std::make_unique<store::test::MapStore>(setup));
  });
}

Trial merged_trial_in(const std::string& store, std::uint64_t program) {
  Trial trial = trial_in(store, program);
  trial.run.protocol_options["merge"] = "4";
  return trial;
}

TEST(ExternalGroups, ThatFailHaveNoEffect) {
  add_wrapped<Refusing>("refusing");
  std::uint64_t aborts = 0;
  for (std::uint64_t program = 0; program < scaled(10); ++program) {
    SCOPED_TRACE("program " + std::to_string(program));
    const Verdict verdict = verdict_on(merged_trial_in("refusing", program));
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
    for (const TypeResult& type : verdict.result.types) aborts += type.aborts;
  }
  EXPECT_GT(aborts, 0U);
}

TEST(ExternalGroups, ThatFailAndHaveAnEffectAreFound) {
  add_wrapped<Keeping>("keeping");
  std::uint64_t found = 0;
  for (std::uint64_t program = 0; program < 40 && found == 0; ++program) {
    found = verdict_on(merged_trial_in("keeping", program)).report.anomalies.size();
  }
  EXPECT_GT(found, 0U);
}

/// A store whose commits of writes take until the end of the run, which cuts off a group.
class Stalling final : public store::test::Forwarding {
 public:
  using Forwarding::Forwarding;
  store::Status begin(store::Access access) override {
    writes_ = access == store::Access::read_write;
    return Forwarding::begin(access);
  }
  store::Status commit() override {
    if (!writes_) return Forwarding::commit();  // as when the rows are copied back
    interrupted_.wait(false);
    return store::Status::stopped;
  }
  void interrupt() override {
    interrupted_.store(true);
    interrupted_.notify_all();
  }

 private:
  bool writes_ = false;
  std::atomic<bool> interrupted_ = false;
};

TEST(ExternalGroups, ThatTheEndOfTheRunCutsOffAreAccountedFor) {
  add_wrapped<Stalling>("stalling");
  Trial trial = merged_trial_in("stalling", 0);
  trial.workers = 1;  // the stores of the tests run one transaction at a time
  const Verdict verdict = verdict_on(trial);
  for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
  EXPECT_EQ(verdict.result.cut_off_attempts, 4U);
  EXPECT_EQ(verdict.report.aborted, 4U);
}

/// A store whose reads are outside of its transactions.
TEST(ExternalFaults, AreFound) {
  store::test::add_test_stores();
  std::uint64_t found = 0;
  for (std::uint64_t program = 0; program < 40 && found == 0; ++program) {
    found = verdict_on(trial_in("outside", program)).report.anomalies.size();
  }
  EXPECT_GT(found, 0U);
}

/// Updates of few rows, all of which the hints name.
Trial locked_trial(const std::string& locks, std::uint64_t seed) {
  Trial trial;
  trial.workload = {{"name", "ycsb"}, {"records", "20"}, {"operations", "3"},
                    {"read", "40"},   {"rmw", "60"},     {"scan", "0"}};
  trial.seed = seed;
  trial.run.protocol = "external";
  // The store that loses updates shows a group not its own writes either.
  const bool merges = seed % 3 == 0;
  // Rows that are read together have to be read when their locks are held.
  const std::string reads = seed % 4 < 2 ? "" : "together_";
  trial.run.protocol_options = {{"store", reads + (merges ? "map" : "outside")},
                                {"isolation", "read_committed"},
                                {"locks", locks},
                                {"concurrency", seed % 2 == 0 ? "2" : "4"},
                                {"merge", merges ? "3" : "1"}};
  trial.run.seconds = scaled_seconds(0.05);
  return trial;
}

TEST(ExternalEntrance, LosesUpdatesWithoutLocks) {
  store::test::add_test_stores();
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed < 40 && found == 0; ++seed) {
    found = verdict_on(locked_trial("off", seed)).report.anomalies.size();
  }
  EXPECT_GT(found, 0U);
}

/// Transactions of few rows, of which hints name all but those that are scanned.
Trial hinted_trial_in(const std::string& store, std::uint64_t seed) {
  Trial trial;
  trial.workload = {{"name", "ycsb"},    {"index", "ordered"}, {"records", "40"},
                    {"operations", "4"}, {"read", "30"},       {"rmw", "25"},
                    {"scan", "5"},       {"insert", "20"},     {"delete", "20"}};
  trial.seed = seed;
  trial.run.protocol = "external";
  trial.run.protocol_options = {{"store", store},
                                {"merge", seed % 2 == 0 ? "1" : "5"},
                                {"locks", seed % 3 == 0 ? "hints" : "off"}};
  if (store == "postgresql") trial.run.protocol_options["durability"] = "off";
  trial.run.seconds = scaled_seconds(0.05);
  return trial;
}

class ExternalPrefetch : public testing::TestWithParam<std::string> {};

TEST_P(ExternalPrefetch, IsSerializable) {
  store::test::add_test_stores();
  if (const auto why = store::test::why_missing(GetParam())) GTEST_SKIP() << *why;
  std::uint64_t checked = 0;
  for (std::uint64_t seed = 0; seed < scaled(12); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Verdict verdict = verdict_on(hinted_trial_in(GetParam(), seed));
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
    checked += verdict.report.transactions;
  }
  EXPECT_GT(checked, 0U);
}

#if defined(__SANITIZE_THREAD__)  // see store/connection_test.cc
INSTANTIATE_TEST_SUITE_P(Stores, ExternalPrefetch, testing::Values("together_map"),
                         [](const auto& test) { return test.param; });
#else
INSTANTIATE_TEST_SUITE_P(Stores, ExternalPrefetch, testing::Values("together_map", "postgresql"),
                         [](const auto& test) { return test.param; });
#endif

/// Rows that are read together before the transaction, so that they may be of the past.
TEST(ExternalPrefetchFaults, AreFound) {
  store::test::add_test_stores();
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 40 && found == 0; ++seed) {
    Trial trial = hinted_trial_in("together_outside", seed);
    trial.run.protocol_options["locks"] = "off";
    found = verdict_on(trial).report.anomalies.size();
  }
  EXPECT_GT(found, 0U);
}

/// SmallBank's balances are read without hints.
TEST(ExternalEntrance, EndsTheRunIfALockIsMissingThatTheIsolationNeeds) {
  store::test::add_test_stores();
  Trial trial = locked_trial("hints", 1);
  trial.workload = {{"name", "smallbank"}, {"accounts", "100"}};
  const Verdict verdict = verdict_on(trial);
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_NE(verdict.findings.front().find("use isolation=serializable"), std::string::npos)
      << verdict.findings.front();
}

#if !defined(__SANITIZE_THREAD__)  // see tested_stores()
/// Also in a store that validates nothing itself.
TEST(ExternalEntrance, LosesNothingInRocksdbWithLocksOnAllRows) {
  if (const auto why = store::test::why_missing("rocksdb")) GTEST_SKIP() << *why;
  for (const char* tested : {"rocksdb", "rocksdb_locking"}) {
    for (std::uint64_t seed = 1; seed <= scaled(6); ++seed) {
      SCOPED_TRACE(std::string(tested) + ", seed " + std::to_string(seed));
      Trial trial = locked_trial("hints", seed);
      for (const auto& [option, value] : store::test::options_of(tested)) {
        trial.run.protocol_options[option] = value;
      }
      trial.run.protocol_options["durability"] = "off";
      const Verdict verdict = verdict_on(trial);
      for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
      EXPECT_GT(verdict.report.transactions, 0U);
    }
  }
}
#endif

TEST(ExternalEntrance, LosesNothingWithLocksOnAllRows) {
  store::test::add_test_stores();
  std::uint64_t checked = 0;
  for (std::uint64_t seed = 1; seed <= scaled(12); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Verdict verdict = verdict_on(locked_trial("hints", seed));
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
    checked += verdict.report.transactions;
  }
  EXPECT_GT(checked, 0U);
}

}  // namespace
}  // namespace heddle::test
