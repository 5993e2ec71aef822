#include "observe/recorder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "machine/threads.h"
#include "observe/history.h"
#include "protocol/any_transaction.h"
#include "protocol/observer.h"
#include "protocol/protocol.h"
#include "protocol/silo.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"

/// The records of single transactions, and how a protocol that returns wrong results to its
/// procedures is detected.
namespace heddle::check {
namespace {

using M = ThreadsMachine;
struct Value {
  std::uint64_t number;
  std::uint64_t echo;
};
using Rows = Table<M, Key1, Value, OrderedIndex>;
using Silo = SiloTransaction<M>;

Key1 key(std::uint64_t number) { return make_key(number); }

/// Forwards everything, and returns wrong results where the test says so.
class Liar final : public AnyTransaction<M> {
 public:
  explicit Liar(Silo& txn) : txn_(txn) {}

  std::optional<std::uint64_t> hidden = std::nullopt;   ///< scans leave this row out
  std::optional<Value> shown = std::nullopt;            ///< every read returns this
  std::optional<std::uint64_t> deleted = std::nullopt;  ///< scans show this row, deleted or not
  bool inserts = true;                                  ///< else it only reports success

  Row<std::byte> read(AccessId state, TableBase<M>& table, const std::uint64_t* at,
                      std::uint32_t bytes, Record<M>* found) override {
    const Row<std::byte> row = txn_.read(state, table, at, bytes, found);
    return row && shown ? as_row(*shown, row.entry()) : row;
  }
  bool update(AccessId state, TableBase<M>& table, std::uint32_t entry, std::uint32_t bytes,
              Modify modify) override {
    return txn_.update(state, table, entry, bytes, modify);
  }
  bool insert(AccessId state, TableBase<M>& table, const std::uint64_t* at, const std::byte* row,
              std::uint32_t bytes) override {
    return !inserts || txn_.insert(state, table, at, row, bytes);
  }
  bool remove(AccessId state, TableBase<M>& table, std::uint32_t entry) override {
    return txn_.remove(state, table, entry);
  }
  bool scan(AccessId state, TableBase<M>& table, const std::uint64_t* lo, const std::uint64_t* hi,
            Order order, std::uint32_t limit, std::uint32_t bytes, Visit visit) override {
    const bool done = txn_.scan(state, table, lo, hi, order, limit, bytes,
                                [&](const std::uint64_t* at, const Row<std::byte>& row) {
                                  return hidden == *at || visit(at, row);
                                });
    if (deleted) visit(&*deleted, as_row(kAny, 0));
    return done;
  }
  [[nodiscard]] Outcome stop() const override { return txn_.stop(); }
  void passed(AccessId state) override { txn_.passed(state); }

  [[nodiscard]] const AccessSet<M>* accesses() const override { return txn_.accesses(); }
  [[nodiscard]] std::uint64_t place_of(std::uint32_t entry) const override {
    return txn_.place_of(entry);
  }
  [[nodiscard]] Seen seen(std::uint32_t entry) const override { return txn_.seen(entry); }
  [[nodiscard]] const Record<M>* record_of(std::uint32_t entry) const override {
    return txn_.record_of(entry);
  }
  [[nodiscard]] std::uint64_t last_version() const override { return txn_.last_version(); }
  [[nodiscard]] DirtySource dirty_source(std::uint32_t entry) const override {
    return txn_.dirty_source(entry);
  }
  [[nodiscard]] std::uint64_t incarnation() const override { return txn_.incarnation(); }
  [[nodiscard]] bool reads_dirty() const override { return txn_.reads_dirty(); }
  [[nodiscard]] bool replays() const override { return txn_.replays(); }
  [[nodiscard]] bool reads_as_of_begin() const override { return txn_.reads_as_of_begin(); }

 private:
  static constexpr Value kAny{0, 0};

  static Row<std::byte> as_row(const Value& value, std::uint32_t entry) {
    return {reinterpret_cast<const std::byte*>(&value), entry};
  }

  ErasedTransaction<M, Silo> txn_;
};

using Recorded = ObservedTransaction<M>;

class OfOneTransaction : public testing::Test {
 protected:
  OfOneTransaction() {
    rows.skip_snapshots();
    for (std::uint64_t number = 10; number <= 30; number += 10) rows.load(key(number), {number, 0});
    storage.boundary(0, M::now());
  }

  /// Runs it in one attempt, of which the recorder sees what the liar returns.
  Outcome run(const std::function<Outcome(Recorded&)>& body) {
    txn.begin();
    recorder.begin(0, false);
    const auto procedure = [&] {
      Recorded recorded(recorder.watch(liar, nullptr));
      return body(recorded);
    };
    const auto on_end = [&](const Silo&, const heddle::Attempt<M>& attempt) {
      recorder.ended(liar, attempt);
    };
    return attempt_to_commit<M>(txn, procedure, on_end).outcome;
  }

  [[nodiscard]] std::vector<Operation> operations() const {
    std::vector<Operation> all;
    for (std::size_t at = 0; at < log.operations.size(); ++at) all.push_back(log.operations[at]);
    return all;
  }
  [[nodiscard]] std::vector<Fault> faults() const {
    std::vector<Fault> all;
    for (const Operation& one : operations()) {
      if (one.kind == Kind::broken) all.push_back(static_cast<Fault>(one.version));
    }
    return all;
  }

  static auto all() {
    return [](const Key1&, const auto&) { return true; };
  }
  bool scan(Recorded& recorded) {
    return recorded.scan<Value>(0, rows, key(0), key(100), Order::ascending, 0, all());
  }

  Storage<M> storage{1};
  Rows rows{storage, "ROWS", 64};
  Silo txn{storage, 0};
  Liar liar{txn};
  WorkerLog log;
  std::uint64_t order = 0;
  Recorder<M> recorder{log, order};
};

using Faults = std::vector<Fault>;

TEST_F(OfOneTransaction, WhatItWritesTwiceIsThereOnceAsItLeftIt) {
  const Outcome outcome = run([&](Recorded& recorded) {
    const auto row = recorded.read<Value>(0, rows, key(10));
    EXPECT_TRUE(recorded.update(0, rows, row, [](Value& value) { value.number = 1; }));
    EXPECT_TRUE(recorded.update(0, rows, row, [](Value& value) { value.number = 2; }));
    EXPECT_TRUE(recorded.insert(0, rows, key(15), {3, 3}));
    return Outcome::commit;
  });
  ASSERT_EQ(outcome, Outcome::commit);
  const auto found = operations();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].kind, Kind::read);
  EXPECT_EQ(found[1].kind, Kind::write);
  const Value left{2, 0};
  EXPECT_EQ(found[1].digest, digest_of(&left, sizeof(left)));
  EXPECT_EQ(found[1].bytes, sizeof(left));
  EXPECT_GT(found[1].version, found[0].version);
  EXPECT_EQ(found[1].place, found[0].place);
  EXPECT_EQ(found[2].key, 15U);
  EXPECT_TRUE(found[2].is(flag::kInserted));
  ASSERT_EQ(log.attempts.size(), 1U);
  EXPECT_EQ(log.attempts[0].operations, 3U);
}

TEST_F(OfOneTransaction, WhatIsTakenBackIsSaidToBe) {
  EXPECT_EQ(run([&](Recorded& recorded) {
              const auto row = recorded.read<Value>(0, rows, key(10));
              EXPECT_TRUE(recorded.update(0, rows, row, [](Value& value) { value.number = 1; }));
              EXPECT_TRUE(recorded.insert(0, rows, key(15), {3, 3}));
              return Outcome::rollback;
            }),
            Outcome::rollback);
  const auto found = operations();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_TRUE(found[1].is(flag::kOwn));
  EXPECT_EQ(found[2].kind, Kind::miss) << "the row was not there";
}

TEST_F(OfOneTransaction, AnAbortedOneKeepsNothing) {
  EXPECT_EQ(run([&](Recorded& recorded) {
              (void)recorded.read<Value>(0, rows, key(10));
              return Outcome::abort;
            }),
            Outcome::abort);
  EXPECT_TRUE(operations().empty());
  EXPECT_EQ(log.attempts[0].end, End::aborted);
}

TEST_F(OfOneTransaction, ItsOwnDeletesAreNoMisses) {
  EXPECT_EQ(run([&](Recorded& recorded) {
              EXPECT_FALSE(recorded.read<Value>(0, rows, key(99)));
              const auto row = recorded.read<Value>(0, rows, key(20));
              EXPECT_TRUE(recorded.remove(0, rows, row));
              EXPECT_FALSE(recorded.read<Value>(0, rows, key(20)));
              EXPECT_TRUE(scan(recorded));
              EXPECT_TRUE(recorded.insert(0, rows, key(20), {5, 5}));
              EXPECT_TRUE(scan(recorded));
              return Outcome::commit;
            }),
            Outcome::commit);
  EXPECT_EQ(faults(), Faults{});
  std::vector<std::uint64_t> missed;
  for (const Operation& one : operations()) {
    if (one.kind == Kind::miss) missed.push_back(one.key);
  }
  EXPECT_EQ(missed, std::vector<std::uint64_t>{99});
}

TEST_F(OfOneTransaction, AScanThatHidesItsOwnInsertIsCaught) {
  liar.hidden = 15;
  EXPECT_EQ(run([&](Recorded& recorded) {
              EXPECT_TRUE(recorded.insert(0, rows, key(15), {3, 3}));
              EXPECT_TRUE(scan(recorded));
              return Outcome::commit;
            }),
            Outcome::commit);
  EXPECT_EQ(faults(), Faults{Fault::own_write});
}

TEST_F(OfOneTransaction, AScanThatShowsWhatItDeletedIsCaught) {
  liar.deleted = 10;
  EXPECT_EQ(
      run([&](Recorded& recorded) {
        const auto row = recorded.read<Value>(0, rows, key(10));
        EXPECT_TRUE(recorded.remove(0, rows, row));
        EXPECT_TRUE(recorded.scan<Value>(0, rows, key(5), key(9), Order::ascending, 0, all()));
        return Outcome::commit;
      }),
      Outcome::commit);
  const Faults found = faults();
  EXPECT_NE(std::find(found.begin(), found.end(), Fault::own_write), found.end());
}

TEST_F(OfOneTransaction, AReadThatForgetsItsOwnWriteIsCaught) {
  liar.shown = Value{7, 7};
  EXPECT_EQ(run([&](Recorded& recorded) {
              const auto row = recorded.read<Value>(0, rows, key(10));
              EXPECT_TRUE(recorded.update(0, rows, row, [](Value& value) { value.number = 1; }));
              (void)recorded.read<Value>(0, rows, key(10));
              return Outcome::commit;
            }),
            Outcome::commit);
  EXPECT_EQ(faults(), Faults{Fault::own_write});
}

TEST_F(OfOneTransaction, AnInsertThatOnlySaysSoIsCaught) {
  liar.inserts = false;
  const auto insert = [&](Outcome outcome) {
    return run([&, outcome](Recorded& recorded) {
      EXPECT_TRUE(recorded.insert(0, rows, key(15), {3, 3}));
      return outcome;
    });
  };
  EXPECT_EQ(insert(Outcome::rollback), Outcome::rollback);
  EXPECT_EQ(faults(), Faults{}) << "it came to nothing anyway";
  EXPECT_EQ(insert(Outcome::commit), Outcome::commit);
  EXPECT_EQ(faults(), Faults{Fault::lost_write});
}

/// More operations than fit a chunk of the log, and the log truncated across its chunks.
TEST_F(OfOneTransaction, LongOnesGoAcrossChunks) {
  constexpr std::size_t kReads = 3 * Chunked<Operation>::kChunk + 5;
  const auto read_on = [&](Outcome outcome) {
    return run([&, outcome](Recorded& recorded) {
      for (std::size_t at = 0; at < kReads; ++at) {
        (void)recorded.read<Value>(0, rows, key(10 + at % 3 * 10));
      }
      return outcome;
    });
  };
  EXPECT_EQ(read_on(Outcome::commit), Outcome::commit);
  EXPECT_EQ(read_on(Outcome::abort), Outcome::abort);
  EXPECT_EQ(log.operations.size(), kReads);
  EXPECT_EQ(read_on(Outcome::commit), Outcome::commit);
  ASSERT_EQ(log.operations.size(), 2 * kReads);
  for (std::size_t at = 0; at < 2 * kReads; ++at) {
    ASSERT_EQ(log.operations[at].key, 10 + at % kReads % 3 * 10) << at;
  }
}

}  // namespace
}  // namespace heddle::check
