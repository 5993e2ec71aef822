#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "check/trial.h"
#include "driver/session.h"
#include "driver/session_runs.h"
#include "scale.h"
#include "store/map_store.h"
#include "store/opened_stores.h"
#include "store/stores.h"

/// Runs in external stores, through a session.
namespace heddle {
namespace {

using store::test::why_missing;

/// Rows that all workers change, so that a store that isolates nothing loses updates.
const OptionMap kMicro{
    {"name", "micro"}, {"hot_records", "4"}, {"records", "100"}, {"own_records", "50"}};
/// Inserts, deletes and scans.
const OptionMap kYcsb{{"name", "ycsb"}, {"index", "ordered"}, {"records", "200"},
                      {"read", "30"},   {"rmw", "20"},        {"scan", "10"},
                      {"insert", "20"}, {"delete", "20"},     {"operations", "4"}};

RunOptions in_store(const std::string& store, double seconds) {
  RunOptions options{.protocol = "external",
                     .protocol_options = store::test::options_of(store),
                     .seconds = test::scaled_seconds(seconds)};
  options.protocol_options["durability"] = "off";
  return options;
}

std::string error_of(Session& session, const RunOptions& options) {
  try {
    (void)session_runs::run(session, options);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// A trial that is repeated, each time four times as long, until a transaction has ended in it: on
/// a busy machine a store may get no processor for a short one.
Verdict trial_with_transactions(Trial trial) {
  constexpr double kLongestSeconds = 30;
  Verdict verdict = run_trial(trial, [] { return false; });
  while (verdict.report.transactions == 0 && verdict.findings.empty() &&
         trial.run.seconds < kLongestSeconds) {
    trial.run.seconds *= 4;
    verdict = run_trial(trial, [] { return false; });
  }
  return verdict;
}

/// Enough for a ratio.
[[maybe_unused]] bool has_some_commits(const Result& result) { return result.commits > 50; }

/// Whether a session can run again, under another protocol.
bool continues(Session& session) {
  const auto has_commits = session_runs::has_commits;
  return has_commits(session_runs::run_until(has_commits, session, {.seconds = 0.02}));
}

class SessionExternalTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    store::test::add_test_stores();
    if (const auto why = why_missing(store::test::store_of(GetParam()))) GTEST_SKIP() << *why;
  }
};

TEST_P(SessionExternalTest, LeavesAConsistentDatabaseRunAfterRun) {
  const auto session = open_session(kMicro, 4, 1);
  for (const char* begin : {"immediate", "deferred"}) {
    SCOPED_TRACE(begin);
    RunOptions options = in_store(GetParam(), 0.05);
    if (GetParam() == "map" || GetParam() == "sqlite") options.protocol_options["begin"] = begin;
    const Result result =
        session_runs::run_until(session_runs::all_types_commit, *session, options);
    EXPECT_TRUE(session_runs::all_types_commit(result));
    EXPECT_EQ(result.failure, "");
    for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
    // The rows in memory are those of the store: another protocol continues with them.
    EXPECT_TRUE(continues(*session));
    for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
  }
}

/// With more workers than places, so that a transaction is chosen by one that has a place.
TEST_P(SessionExternalTest, SchedulesTransactionsUntilTheyHaveCommitted) {
  const auto session = open_session(kMicro, 6, 1);
  for (const char* policy : {"smf", "tsdefer"}) {
    SCOPED_TRACE(policy);
    Trial trial;
    trial.workload = kMicro;
    trial.workers = 6;
    trial.run = in_store(GetParam(), 0.05);
    trial.run.protocol_options["concurrency"] = "2";
    trial.run.schedule = {{"policy", policy}, {"hot", "0"}, {"probe_us", "0"}};
    const Verdict verdict = trial_with_transactions(trial);
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
    EXPECT_GT(verdict.report.transactions, 0U);
    ASSERT_TRUE(verdict.result.schedule.has_value());
    EXPECT_GT(verdict.result.schedule->hot, 0U);
    // A short span of the test of the benefit is lengthened.
    trial.run.schedule["probe_us"] = "1000";
    const Result result =
        session_runs::run_until(session_runs::all_types_commit, *session, trial.run);
    ASSERT_TRUE(result.schedule.has_value());
    EXPECT_EQ(result.schedule->options.at("until"), "auto");
    EXPECT_EQ(result.schedule->options.at("probe_us"), "100000");
    for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
  }
}

TEST_P(SessionExternalTest, HasSerializableHistories) {
  for (const OptionMap& workload : {kMicro, kYcsb}) {
    SCOPED_TRACE(workload.at("name"));
    Trial trial;
    trial.workload = workload;
    trial.run = in_store(GetParam(), 0.1);
    const Verdict verdict = trial_with_transactions(trial);
    EXPECT_GT(verdict.report.transactions, 0U);
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
  }
}

TEST_P(SessionExternalTest, CommitsSeveralTransactionsAsOne) {
  const auto session = open_session(kMicro, 3, 1);
  RunOptions options = in_store(GetParam(), 0.05);
  options.protocol_options["merge"] = "4";
  const Result result = session_runs::run_until(session_runs::all_types_commit, *session, options);
  EXPECT_TRUE(session_runs::all_types_commit(result));
  EXPECT_EQ(result.failure, "");
  for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
}

/// Also its types that read snapshots, and keys of three words.
TEST_P(SessionExternalTest, RunsTpcc) {
  if (test::kSanitized || GetParam() == "map") GTEST_SKIP() << "its many rows would take seconds";
  const auto session = open_session({{"name", "tpcc"}, {"mix", "full"}}, 2, 1);
  const Result result =
      session_runs::run_until(session_runs::all_types_commit, *session, in_store(GetParam(), 0.1));
  EXPECT_TRUE(session_runs::all_types_commit(result));
  for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
}

INSTANTIATE_TEST_SUITE_P(Stores, SessionExternalTest,
                         testing::ValuesIn(store::test::tested_stores()),
                         [](const auto& test) { return test.param; });

/// A store whose reads are outside of its transactions.
TEST(SessionExternalFaults, AreFoundByTheChecker) {
  store::test::add_test_stores();
  Trial trial;
  trial.workload = kMicro;
  trial.run = in_store("outside", 0.05);
  for (int tries = 0; tries < 20; ++tries) {
    const Verdict verdict = run_trial(trial, [] { return false; });
    if (!verdict.report.anomalies.empty()) return;
    trial.run.seconds *= 1.5;
  }
  ADD_FAILURE() << "lost updates were not found";
}

/// A connection that is lost after some commits.
class Losing final : public store::test::Forwarding {
 public:
  using Forwarding::Forwarding;
  store::Status commit() override {
    return left.fetch_sub(1) > 0 ? Forwarding::commit() : store::Status::lost;
  }
  [[nodiscard]] const std::string& error() const override {
    static const std::string text = "store losing: the disk is full (/data); free space there";
    return text;
  }
  static inline std::atomic<int> left{0};
};

TEST(SessionExternalFaults, EndARunThatKeepsWhatItMeasured) {
  store::add_store("losing", [](const store::StoreSetup& setup) {
    return std::make_unique<store::test::Wrapped<Losing>>(
        std::make_unique<store::test::MapStore>(setup));
  });
  constexpr int kCommits = 50;
  const auto session = open_session(kMicro, 2, 1);
  Losing::left = kCommits;
  const auto start = std::chrono::steady_clock::now();
  RunOptions options = in_store("losing", 60);
  options.protocol_options.erase("durability");
  const Result result = session_runs::run(*session, options);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  EXPECT_EQ(result.failure, "store losing: the disk is full (/data); free space there");
  EXPECT_EQ(result.commits, static_cast<std::uint64_t>(kCommits));
  EXPECT_NE(result.to_json().find("\"failure\":\"store losing"), std::string::npos);
  // The rows in memory are those before the run, and the session can run again.
  for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
  EXPECT_TRUE(continues(*session));

  Losing::left = kCommits;
  Trial trial;
  trial.workload = kMicro;
  trial.run = options;
  const Verdict verdict = run_trial(trial, [] { return false; });
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_EQ(verdict.findings.front().find("failed: store losing"), 0U);
}

/// A library whose call does not return: the disk hangs.
class NeverReturning final : public store::test::Forwarding {
 public:
  using Forwarding::Forwarding;
  store::Status commit() override {
    inside.fetch_add(1);
    while (!released.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    inside.fetch_sub(1);
    return store::Status::lost;
  }
  static inline std::atomic<bool> released{false};
  static inline std::atomic<int> inside{0};
};

TEST(SessionExternalFaults, NameTheCallThatDoesNotReturn) {
  store::add_store("hanging", [](const store::StoreSetup& setup) {
    return std::make_unique<store::test::Wrapped<NeverReturning>>(
        std::make_unique<store::test::MapStore>(setup));
  });
  const auto session = open_session(kMicro, 2, 1);
  RunOptions options = in_store("hanging", 60);
  options.protocol_options.erase("durability");
  options.watchdog_s = 0.1;
  const std::string error = error_of(*session, options);
  EXPECT_NE(error.find("; the session is abandoned\n"), std::string::npos) << error;
  EXPECT_NE(error.find("\nstore hanging: a commit has not returned for "), std::string::npos)
      << error;
  NeverReturning::released = true;
  while (NeverReturning::inside.load() != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// A run that is interrupted while its rows are copied ends before its workers start.
TEST(SessionExternal, IsInterruptedWhileItsRowsAreCopied) {
  store::test::add_test_stores();
  const auto session =
      open_session({{"name", "ycsb"}, {"records", "5000"}, {"operations", "1"}}, 1, 1);
  int questions = 0;
  const auto interrupted = [&questions] { return ++questions == 2; };
  RunOptions options = in_store("map", 60);
  options.protocol_options.erase("durability");
  std::string error;
  try {
    (void)session->run(options, interrupted);
  } catch (const std::runtime_error& ended) {
    error = ended.what();
  }
  EXPECT_EQ(error, "store: interrupted while the rows were copied there");
  EXPECT_TRUE(continues(*session));
}

/// One wait for the disk serves a group; the waits are simulated.
TEST(SessionExternal, GroupsWaitForTheDiskLessOften) {
  store::test::add_test_stores();
  if (const auto why = why_missing("sqlite")) GTEST_SKIP() << *why;
#if !defined(__SANITIZE_THREAD__)
  const auto session = open_session(kMicro, 2, 1);
  std::vector<double> waits;
  for (const char* merge : {"1", "8"}) {
    RunOptions options = in_store("sqlite", 0.2);
    options.protocol_options = {
        {"store", "sqlite"}, {"durability", "full"}, {"sync_us", "200"}, {"merge", merge}};
    const Result result = session_runs::run_until(has_some_commits, *session, options);
    ASSERT_TRUE(has_some_commits(result));
    ASSERT_TRUE(result.syncs.has_value());
    waits.push_back(static_cast<double>(*result.syncs) / static_cast<double>(result.commits));
  }
  EXPECT_GT(waits.front(), 0.8) << "every transaction of the workload writes";
  EXPECT_LT(waits.back(), 0.2);
#endif
}

// The sanitized builds have no TPC-B on real cores.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
/// The rows that hints name are one round trip, and the commit is another, also for a group.
TEST(SessionExternal, HintsSaveRoundTrips) {
  if (const auto why = why_missing("postgresql")) GTEST_SKIP() << *why;
  const auto session = open_session({{"name", "tpcb"}, {"accounts", "1000"}}, 2, 1);
  const auto trips = [&](const char* prefetch, const char* merge) {
    RunOptions options = in_store("postgresql", 0.3);
    options.protocol_options["locks"] = "hints";  // without aborts
    options.protocol_options["prefetch"] = prefetch;
    options.protocol_options["merge"] = merge;
    const Result result = session_runs::run_until(has_some_commits, *session, options);
    for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
    EXPECT_TRUE(has_some_commits(result));
    return static_cast<double>(result.round_trips.value()) / static_cast<double>(result.commits);
  };
  constexpr double kAtTheEdges = 0.2;  // of the window
  EXPECT_NEAR(trips("off", "1"), 5, 5 * kAtTheEdges);
  EXPECT_NEAR(trips("hints", "1"), 2, 2 * kAtTheEdges);
  EXPECT_NEAR(trips("hints", "8"), 2. / 8, 2. / 8 * kAtTheEdges);
}
#endif

[[maybe_unused]] RunOptions merging_writers() {
  RunOptions options = in_store("sqlite", 0.2);
  options.protocol_options = {{"store", "sqlite"},
                              {"durability", "full"},
                              {"sync_us", "200"},
                              {"merge", "8"},
                              {"reads", "alone"}};
  return options;
}

[[maybe_unused]] bool has_many_commits(const Result& result) { return result.commits > 500; }

/// A span that schedules ends while workers wait for the place, before they have drawn any: without
/// a hot key none is kept in a window. Sixteen spans of 100 ms have one such end.
TEST(SessionExternal, ASpanMayEndWhileWorkersWaitForAPlace) {
  store::test::add_test_stores();
  if (const auto why = why_missing("sqlite")) GTEST_SKIP() << *why;
  const auto session = open_session(kMicro, 8, 1);
  RunOptions options = in_store("sqlite", 1.7);
  options.protocol_options = {
      {"store", "sqlite"}, {"durability", "full"}, {"sync_us", "2000"}, {"concurrency", "1"}};
  options.schedule = {{"policy", "smf"}, {"hot", "1"}};
  const Result result = session_runs::run(*session, options);
  EXPECT_GT(result.commits, 50U);
  for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
}

/// Readers do not wait for a group, so a group of eight writers serves forty transactions.
TEST(SessionExternal, GroupsMayBeOfWritersAlone) {
  store::test::add_test_stores();
  if (const auto why = why_missing("sqlite")) GTEST_SKIP() << *why;
#if !defined(__SANITIZE_THREAD__)
  const OptionMap mostly_reads{
      {"name", "ycsb"}, {"records", "1000"}, {"operations", "1"}, {"read", "80"}, {"rmw", "20"}};
  const auto session = open_session(mostly_reads, 2, 1);
  const Result result = session_runs::run_until(has_many_commits, *session, merging_writers());
  ASSERT_TRUE(has_many_commits(result));
  ASSERT_TRUE(result.syncs.has_value());
  const double waits = static_cast<double>(*result.syncs) / static_cast<double>(result.commits);
  EXPECT_NEAR(waits, 0.2 / 8, 0.01);
  for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
#endif
}

// The sanitized builds have no SmallBank on real cores.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
/// A type that only reads is known without hints.
TEST(SessionExternal, TypesThatOnlyReadWaitForNoGroup) {
  store::test::add_test_stores();
  if (const auto why = why_missing("sqlite")) GTEST_SKIP() << *why;
  const auto bank = open_session({{"name", "smallbank"},
                                  {"accounts", "100"},
                                  {"hot_accounts", "5"},
                                  {"balance", "95"},
                                  {"amalgamate", "0"},
                                  {"deposit_checking", "5"},
                                  {"send_payment", "0"},
                                  {"transact_savings", "0"},
                                  {"write_check", "0"}},
                                 2, 1);
  const Result read = session_runs::run_until(has_many_commits, *bank, merging_writers());
  ASSERT_TRUE(has_many_commits(read));
  EXPECT_LT(*read.syncs, read.commits / 50);
  EXPECT_GT(read.types.at(1).commits, 0U);
}
#endif

TEST(SessionExternal, GroupsAreOfTransactionsThatAreNotScheduled) {
  const auto session = open_session(kMicro, 2, 1);
  store::test::add_test_stores();
  RunOptions options = in_store("map", 0.02);
  options.protocol_options["merge"] = "2";
  RunOptions scheduled = options;
  scheduled.schedule = {{"policy", "smf"}};
  EXPECT_EQ(error_of(*session, scheduled),
            "merge: an admission policy chooses one transaction at a time; use "
            "schedule.policy=fifo, or merge=1");
  RunOptions traced = options;
  traced.trace_bytes = 1 << 20;
  EXPECT_EQ(error_of(*session, traced),
            "merge: traces and timelines are of single transactions; use merge=1");
}

TEST(SessionExternal, NeedsRealCores) {
#if !defined(__SANITIZE_THREAD__)
  const auto session = open_session(kMicro, 2, 1, {.kind = "virtual"});
  EXPECT_EQ(error_of(*session, {.protocol = "external", .seconds = 0.001}),
            "protocol external waits for a database, which would stop all virtual cores; use "
            "machine=threads");
#endif
}

TEST(SessionExternal, NamesTheFolderThatItCannotUse) {
  const auto session = open_session(kMicro, 2, 1);
  store::test::add_test_stores();
  RunOptions options = in_store("map", 0.02);
  options.protocol_options["folder"] = "/nonexistent";
  EXPECT_EQ(error_of(*session, options)
                .find("store: no folder for the database can be made in "
                      "/nonexistent: No such file"),
            0U);
}

TEST(SessionExternal, LeavesNoFolder) {
  if (const auto why = why_missing("sqlite")) GTEST_SKIP() << *why;
#if !defined(__SANITIZE_THREAD__)
  const std::filesystem::path place = std::filesystem::path(testing::TempDir()) / "heddle-runs";
  std::filesystem::create_directory(place);
  const auto session = open_session(kMicro, 2, 1);
  RunOptions options = in_store("sqlite", 0.02);
  options.protocol_options["folder"] = place.string();
  EXPECT_EQ(error_of(*session, options), "");
  EXPECT_TRUE(std::filesystem::is_empty(place));
  std::filesystem::remove_all(place);
#endif
}

}  // namespace
}  // namespace heddle
