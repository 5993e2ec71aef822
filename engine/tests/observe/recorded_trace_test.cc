#include "observe/recorded_trace.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"
#include "machine/threads.h"
#include "model/inputs.h"
#include "protocol/any_transaction.h"
#include "protocol/observer.h"
#include "protocol/protocol.h"
#include "protocol/silo.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"

/// The accesses of a run's transactions, as recorded while they run.
namespace heddle {
namespace {

using M = ThreadsMachine;
struct Value {
  std::uint64_t number;
};
using Rows = Table<M, Key1, Value, OrderedIndex>;
using Traced = ObservedTransaction<M>;
using Accesses = std::vector<std::pair<AccessId, std::uint64_t>>;

Accesses accesses_of(const TraceLog& log) {
  Accesses all;
  for (std::size_t at = 0; at < log.accesses.size(); ++at) {
    all.emplace_back(log.accesses[at].state, log.accesses[at].key);
  }
  return all;
}

/// For transactions that pass no hints and are not drawn.
class NoInputs final : public Inputs {
 public:
  [[nodiscard]] std::size_t input_bytes() const override { return 0; }
  void make_input(std::byte*) const override {}
  int draw(Random&, int, int, std::uint64_t, std::byte*) override { return 0; }
  [[nodiscard]] int type_of(const std::byte*) const override { return 0; }
  [[nodiscard]] bool has_hints() const override { return false; }
  void hints(const std::byte*, Hints&) const override {}
  [[nodiscard]] bool open_loop() const override { return false; }
  [[nodiscard]] double next_arrival_us(int) const override { return 0; }
  [[nodiscard]] double arrived(double) const override { return 0; }
  [[nodiscard]] double begun() const override { return 0; }
};

class TraceOfOneWorker : public testing::Test {
 protected:
  TraceOfOneWorker() {
    rows.skip_snapshots();
    for (std::uint64_t number = 10; number <= 30; number += 10) {
      rows.load(make_key(number), {number});
    }
    storage.boundary(0, M::now());
  }

  /// @param times number of runs of the procedure within the attempt
  Outcome attempt(int type, const std::function<Outcome(Traced&)>& body, int times = 1) {
    txn.begin();
    observer->begin(type, false);
    const auto procedure = [&] {
      Outcome outcome = Outcome::abort;
      for (int time = 0; time < times; ++time) {
        ErasedTransaction<M, SiloTransaction<M>> erased(txn);
        Traced traced(observer->watch(erased, nullptr));
        outcome = body(traced);
      }
      return outcome;
    };
    const auto on_end = [&](SiloTransaction<M>& ended, const Attempt<M>& attempt) {
      observer->ended(ErasedTransaction<M, SiloTransaction<M>>(ended), attempt);
    };
    return attempt_to_commit<M>(txn, procedure, on_end).outcome;
  }

  /// Reads row 20 with access 5, and returns `outcome`.
  Outcome read_and_end(int type, Outcome outcome) {
    return attempt(type, [&](Traced& traced) {
      (void)traced.read(5, rows, make_key(20));
      return outcome;
    });
  }

  [[nodiscard]] const TraceLog& log() const { return trace.logs()[0]; }

  Storage<M> storage{1};
  Rows rows{storage, "ROWS", 64};
  SiloTransaction<M> txn{storage, 0};
  RecordedTrace trace{1, std::size_t{1} << 20, M::now()};
  NoInputs inputs;
  std::unique_ptr<Observer<M>> observer = trace.observer<M>(0, inputs);
};

TEST_F(TraceOfOneWorker, HasEveryAccessInTheOrderInWhichTheProcedureMadeIt) {
  const Outcome outcome = attempt(3, [&](Traced& traced) {
    const auto row = traced.read(7, rows, make_key(10));
    EXPECT_TRUE(traced.update(8, rows, row, [](Value& value) { ++value.number; }));
    EXPECT_FALSE(traced.read(9, rows, make_key(11)))
        << "an access to a missing row is recorded too";
    EXPECT_TRUE(traced.insert(10, rows, make_key(12), {12}));
    EXPECT_TRUE(traced.scan(11, rows, make_key(15), make_key(40), Order::ascending, 0,
                            [](const Key1&, const auto&) { return true; }));
    const auto last = traced.read(7, rows, make_key(30));
    EXPECT_TRUE(traced.remove(12, rows, last));
    return Outcome::commit;
  });
  ASSERT_EQ(outcome, Outcome::commit);
  EXPECT_EQ(accesses_of(log()),
            (Accesses{{7, 10}, {8, 10}, {9, 11}, {10, 12}, {11, 15}, {7, 30}, {12, 30}}));
  ASSERT_EQ(log().transactions.size(), 1U);
  EXPECT_EQ(log().transactions[0].type, 3);
  EXPECT_EQ(log().transactions[0].accesses, 7U);
  EXPECT_FALSE(log().transactions[0].rolled_back);
}

TEST_F(TraceOfOneWorker, SaysWhichWereRolledBack) {
  ASSERT_EQ(read_and_end(0, Outcome::rollback), Outcome::rollback);
  ASSERT_EQ(read_and_end(1, Outcome::commit), Outcome::commit);
  ASSERT_EQ(log().transactions.size(), 2U);
  EXPECT_TRUE(log().transactions[0].rolled_back);
  EXPECT_FALSE(log().transactions[1].rolled_back);
  EXPECT_EQ(accesses_of(log()), (Accesses{{5, 20}, {5, 20}}));
}

TEST_F(TraceOfOneWorker, HasATransactionOnceHoweverOftenItIsTried) {
  bool aborted = false;
  const auto body = [&](Traced& traced) {
    (void)traced.read(5, rows, make_key(20));
    if (!aborted) (void)traced.read(5, rows, make_key(10));
    return std::exchange(aborted, true) ? Outcome::commit : Outcome::abort;
  };
  ASSERT_EQ(attempt(2, body), Outcome::abort);
  EXPECT_TRUE(log().transactions.empty());
  const auto between = static_cast<std::uint64_t>(M::microseconds(M::now()));
  while (static_cast<std::uint64_t>(M::microseconds(M::now())) < between + 50) continue;
  ASSERT_EQ(attempt(2, body), Outcome::commit);
  ASSERT_EQ(read_and_end(0, Outcome::commit), Outcome::commit);

  ASSERT_EQ(log().transactions.size(), 2U);
  EXPECT_EQ(log().transactions[0].accesses, 1U);
  EXPECT_EQ(accesses_of(log()), (Accesses{{5, 20}, {5, 20}})) << "of the last attempt alone";
  EXPECT_GE(log().transactions[1].began_us, log().transactions[0].began_us + 49)
      << "it began with its first attempt";
}

TEST_F(TraceOfOneWorker, AProcedureRunAgainWithinItsAttemptStartsOver) {
  const auto body = [&](Traced& traced) {
    (void)traced.read(5, rows, make_key(20));
    return Outcome::commit;
  };
  ASSERT_EQ(attempt(0, body, 2), Outcome::commit);
  EXPECT_EQ(accesses_of(log()), (Accesses{{5, 20}}));
}

// ---- of whole runs -----------------------------------------------------------------------------

const OptionMap kMicro{{"name", "micro"}, {"records", "1000"}, {"own_records", "1000"}};

/// The workload recorded under every protocol. Populating TPC-C takes the thread sanitizer half a
/// minute, and the recording is the same code for every workload.
#if defined(__SANITIZE_THREAD__)
const OptionMap kRecorded = kMicro;
#else
const OptionMap kRecorded{{"name", "tpcc"}, {"mix", "full"}};
#endif

Result run(Session& session, const session_runs::Way& way, std::size_t bytes) {
  RunOptions options = way.options;
  options.seconds = 0.1;
  options.trace_bytes = bytes;
  return session_runs::run_until(session_runs::has_commits, session, options);
}

/// The trace and the result are independent accounts of one run.
void expect_to_add_up(const Result& result, const Signature& signature) {
  ASSERT_NE(result.trace, nullptr);
  std::map<std::size_t, std::uint64_t> commits;
  std::map<std::size_t, std::uint64_t> rollbacks;
  std::size_t hints = 0;  // of all: a worker may get no processor time on a busy machine
  for (const TraceLog& log : result.trace->logs()) {
    std::size_t access = 0;
    std::size_t hint = 0;
    std::uint64_t before = 0;
    for (std::size_t at = 0; at < log.transactions.size(); ++at) {
      const TracedTransaction& one = log.transactions[at];
      EXPECT_GE(one.began_us, before);
      before = one.began_us;
      ++commits[one.type];
      rollbacks[one.type] += one.rolled_back ? 1 : 0;
      EXPECT_EQ(one.on_snapshot, one.type >= signature.types.size()) << one.type;
      EXPECT_EQ(one.accesses == 0, one.on_snapshot);
      for (std::uint32_t i = 0; i < one.accesses; ++i, ++access) {
        ASSERT_EQ(signature.type_of(log.accesses[access].state), one.type);
      }
      for (std::uint32_t i = 0; i < one.hints; ++i, ++hint) {
        ASSERT_EQ(signature.type_of(log.hints[hint].state), one.type);
      }
    }
    EXPECT_EQ(access, log.accesses.size()) << "accesses of no transaction";
    EXPECT_EQ(hint, log.hints.size()) << "hints of no transaction";
    hints += hint;
  }
  EXPECT_GT(hints, 0U);
  for (std::size_t type = 0; type < result.types.size(); ++type) {
    EXPECT_EQ(commits[type], result.types[type].commits) << result.types[type].name;
    EXPECT_EQ(rollbacks[type], result.types[type].rollbacks) << result.types[type].name;
  }
}

TEST(RecordedTrace, AddsUpWithTheResultUnderEveryProtocolAndTable) {
  const auto session = open_session(kRecorded, 4, 1);
  std::vector<session_runs::Way> ways = session_runs::protocols();
  for (auto& way : session_runs::seed_tables(session->signature())) ways.push_back(std::move(way));
  for (const session_runs::Way& way : ways) {
    SCOPED_TRACE(way.name);
    expect_to_add_up(run(*session, way, std::size_t{256} << 20), session->signature());
  }
  for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
}

TEST(RecordedTrace, EndsTheRunWhenItIsFull) {
  const auto session = open_session(kMicro, 2, 1);
  RunOptions options;
  options.seconds = 60;
  options.trace_bytes = std::size_t{1} << 20;
  const Result result = session_runs::run(*session, options);
  EXPECT_LT(result.duration_s, 30);
  expect_to_add_up(result, session->signature());
}

TEST(RecordedTrace, IsOfRealCoresAndExcludesAHistory) {
  RunOptions options;
  options.trace_bytes = 1 << 20;
#if !defined(__SANITIZE_THREAD__)  // no sessions on virtual cores in this build
  const auto simulated = open_session(kMicro, 2, 1, {.kind = "virtual"});
  EXPECT_THROW((void)session_runs::run(*simulated, options), std::invalid_argument);
#endif
  const auto session = open_session(kMicro, 1, 1);
  options.history_bytes = 1 << 20;
  EXPECT_THROW((void)session_runs::run(*session, options), std::invalid_argument);
}

}  // namespace
}  // namespace heddle
