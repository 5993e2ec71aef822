#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "machine/threads.h"
#include "protocol/compiled_policy.h"
#include "protocol/policy_table.h"
#include "protocol/silo.h"
#include "protocol/two_phase_locking.h"
#include "storage/hash_index.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"

/// Interleavings of inserts and deletes with transactions that missed the rows. They were found by
/// the runs in this folder and are replayed here step by step in one thread.
namespace heddle::test {
namespace {

/// A machine on which an action may happen just before a given word is loaded.
struct ScriptedMachine : ThreadsMachine {
  static void on_load(const void* word, std::size_t = 0) noexcept {
    if (word != watched_) return;
    watched_ = nullptr;  // once
    happens_();
  }
  static void before_load_of(const void* word, std::function<void()> happens) {
    watched_ = word;
    happens_ = std::move(happens);
  }
  /// Whether it has happened.
  static bool happened() { return watched_ == nullptr; }

 private:
  static inline const void* watched_ = nullptr;
  static inline std::function<void()> happens_;
};

using M = ScriptedMachine;

struct Value {
  std::uint64_t number;
};

constexpr Key1 kA{{1}};     // does not exist at first
constexpr Key1 kB{{1000}};  // nor does this
constexpr Key1 kX{{2000}};
constexpr Key1 kY{{3000}};

/// One table with two rows, and workers 0 and 1 in the same thread.
template <template <class, class> class Index>
struct Rows {
  static constexpr int kWorkers = 2;

  Rows() {
    table.skip_snapshots();
    for (const Key1& key : {kX, kY}) table.load(key, {0});
    for (int worker = 0; worker < kWorkers; ++worker) storage.boundary(worker, M::now());
  }

  /// The word that guards the absence of `key`.
  [[nodiscard]] const void* guard_of(const Key1& key) const {
    NodeVersion<M> seen;
    EXPECT_EQ(table.index().find(key, seen), nullptr);
    return seen.word;
  }

  Storage<M> storage{kWorkers};
  Table<M, Key1, Value, Index> table{storage, "ROWS", 64};
};

Signature signature() {
  const std::string table = "ROWS";
  return {.workload = "absence",
          .types = {{"type",
                     {{"miss", table, AccessKind::read, false},
                      {"read", table, AccessKind::read, false},
                      {"insert", table, AccessKind::insert, false},
                      {"write", table, AccessKind::update, false}}}}};
}

/// How each protocol's transactions are created.
struct SiloKind {
  explicit SiloKind(Storage<M>& rows) : storage(rows) {}
  SiloTransaction<M> make(int worker) { return SiloTransaction<M>(storage, worker); }
  static void begin(SiloTransaction<M>& txn) { txn.begin(); }
  Storage<M>& storage;
};

struct LockingKind {
  explicit LockingKind(Storage<M>& rows)
      : storage(rows), runtime(2, stop, signature(), {.rule = ConflictRule::no_wait}, rows) {}
  LockingTransaction<M> make(int worker) { return {storage, worker, runtime}; }
  static void begin(LockingTransaction<M>& txn) { txn.begin(false); }
  Storage<M>& storage;
  Shared<M, std::uint64_t> stop;
  LockRuntime<M> runtime;
};

template <class Txn, class T>
void add_one(Txn& txn, T& table, const Key1& key) {
  const auto row = txn.read(kNoState, table, key);
  ASSERT_TRUE(row);
  ASSERT_TRUE(txn.update(kNoState, table, row, [](Value& value) { ++value.number; }));
}

template <class Txn, class T>
void take_away(Txn& txn, T& table, const Key1& key) {
  const auto row = txn.read(kNoState, table, key);
  ASSERT_TRUE(row);
  ASSERT_TRUE(txn.remove(kNoState, table, row));
}

/// The reader misses A, then reads another row written by A's insert. During its validation,
/// between the checks of its records and of A's absence, A is deleted again together with a change
/// of a row it read. A is absent as before, but the reader comes neither before the insert nor
/// after the delete.
template <template <class, class> class Index>
void a_row_comes_and_goes() {
  Rows<Index> rows;
  SiloKind kind(rows.storage);
  auto reader = kind.make(0);
  auto other = kind.make(1);
  const void* guard = rows.guard_of(kA);
  reader.begin();
  EXPECT_FALSE(reader.read(kNoState, rows.table, kA));

  other.begin();
  ASSERT_TRUE(other.insert(kNoState, rows.table, kA, {1}));
  add_one(other, rows.table, kY);
  ASSERT_TRUE(other.commit());

  EXPECT_EQ(reader.read(kNoState, rows.table, kY)->number, 1u);
  EXPECT_EQ(reader.read(kNoState, rows.table, kX)->number, 0u);
  M::before_load_of(guard, [&] {
    other.begin();
    take_away(other, rows.table, kA);
    add_one(other, rows.table, kX);
    ASSERT_TRUE(other.commit());
  });
  EXPECT_FALSE(reader.commit());
  EXPECT_TRUE(M::happened());
  reader.abort();
}

TEST(Absence, OfARowThatComesAndGoesWhileItsReaderValidatesInAHashIndex) {
  a_row_comes_and_goes<HashIndex>();
}

TEST(Absence, OfARowThatComesAndGoesWhileItsReaderValidatesInAnOrderedIndex) {
  a_row_comes_and_goes<OrderedIndex>();
}

/// The reader misses A and B, then reads another row written by B's insert. During its validation,
/// between the checks of A and of B, one transaction inserts A and deletes B. Locks on records
/// don't prevent it.
template <class Kind>
void two_rows_change_places() {
  Rows<HashIndex> rows;
  Kind kind(rows.storage);
  auto reader = kind.make(0);
  auto other = kind.make(1);
  const void* guard = rows.guard_of(kB);
  ASSERT_NE(guard, rows.guard_of(kA));
  Kind::begin(reader);
  EXPECT_FALSE(reader.read(kNoState, rows.table, kA));
  EXPECT_FALSE(reader.read(kNoState, rows.table, kB));

  Kind::begin(other);
  ASSERT_TRUE(other.insert(kNoState, rows.table, kB, {1}));
  add_one(other, rows.table, kY);
  ASSERT_TRUE(other.commit());

  EXPECT_EQ(reader.read(kNoState, rows.table, kY)->number, 1u);
  M::before_load_of(guard, [&] {
    Kind::begin(other);
    ASSERT_TRUE(other.insert(kNoState, rows.table, kA, {1}));
    take_away(other, rows.table, kB);
    ASSERT_TRUE(other.commit());
  });
  EXPECT_FALSE(reader.commit());
  EXPECT_TRUE(M::happened());
  reader.abort();
}

TEST(Absence, OfTwoRowsThatChangePlacesUnderSilo) { two_rows_change_places<SiloKind>(); }

TEST(Absence, OfTwoRowsThatChangePlacesUnderTwoPhaseLocking) {
  two_rows_change_places<LockingKind>();
}

/// As above, but A's insert is in the index before the reader validates, not yet committed: the
/// reader passes it over, and it is committed, together with B's delete, before the check of B.
template <class Kind>
void an_insert_passed_over_commits() {
  Rows<HashIndex> rows;
  Kind kind(rows.storage);
  auto reader = kind.make(0);
  auto other = kind.make(1);
  const void* guard = rows.guard_of(kB);
  ASSERT_NE(guard, rows.guard_of(kA));
  Kind::begin(reader);
  EXPECT_FALSE(reader.read(kNoState, rows.table, kA));
  EXPECT_FALSE(reader.read(kNoState, rows.table, kB));

  Kind::begin(other);
  ASSERT_TRUE(other.insert(kNoState, rows.table, kB, {1}));
  add_one(other, rows.table, kY);
  ASSERT_TRUE(other.commit());

  EXPECT_EQ(reader.read(kNoState, rows.table, kY)->number, 1u);
  Kind::begin(other);
  ASSERT_TRUE(other.insert(kNoState, rows.table, kA, {1}));
  take_away(other, rows.table, kB);
  M::before_load_of(guard, [&] { ASSERT_TRUE(other.commit()); });
  EXPECT_FALSE(reader.commit());
  EXPECT_TRUE(M::happened());
  reader.abort();
}

TEST(Absence, OfARowPassedOverThatIsThenCommittedUnderSilo) {
  an_insert_passed_over_commits<SiloKind>();
}

TEST(Absence, OfARowPassedOverThatIsThenCommittedUnderTwoPhaseLocking) {
  an_insert_passed_over_commits<LockingKind>();
}

/// A retry from a validated point forgets an insert made after it, but its placeholder stays in the
/// index, where another's insert may turn it into a row without changing the index. A transaction
/// that missed the row before the point must not commit.
TEST(Absence, OfARowThatAnotherMakesFromTheOwnPlaceholder) {
  Rows<OrderedIndex> rows;
  Shared<M, std::uint64_t> stop;
  PolicyRuntime<M> runtime(2, 4, stop);
  Policy policy;
  policy.name = "early";
  policy.signature = signature();
  for (int state = 0; state < 4; ++state) {
    policy.rows.push_back({.wait = {0}, .early_validation = true});
  }
  policy.rows[1].early_validation = false;  // validated with the insert that follows
  policy.backoff.resize(1);
  const CompiledPolicy compiled(std::move(policy));
  PolicyTransaction<M> txn(rows.storage, 0, runtime);
  SiloTransaction<M> other(rows.storage, 1);

  txn.begin(0, compiled);
  EXPECT_FALSE(txn.read(0, rows.table, kA));
  ASSERT_TRUE(txn.read(1, rows.table, kX));
  other.begin();
  add_one(other, rows.table, kX);
  ASSERT_TRUE(other.commit());
  EXPECT_FALSE(txn.insert(2, rows.table, kA, {2})) << "X has changed, so the piece is not valid";
  ASSERT_EQ(txn.stop(), Outcome::abort);

  other.begin();
  ASSERT_TRUE(other.insert(kNoState, rows.table, kA, {1}));
  ASSERT_TRUE(other.commit());

  ASSERT_EQ(txn.retry_from_point(), Retry::run);
  EXPECT_FALSE(txn.read(0, rows.table, kA)) << "served from the log";
  const auto row = txn.read(1, rows.table, kX);
  bool commits = row && !txn.insert(2, rows.table, kA, {2}) && txn.stop() != Outcome::abort;
  commits = commits && txn.update(3, rows.table, row, [](Value& value) { ++value.number; });
  EXPECT_FALSE(commits && txn.commit()) << "it found A absent, and then A taken";
  txn.abort();
}

}  // namespace
}  // namespace heddle::test
