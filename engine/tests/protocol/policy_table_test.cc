#include "protocol/policy_table.h"

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fixture.h"

namespace heddle {
namespace {

using test::Database;
using test::hand_state;
using test::kInsert;
using test::kModify;
using test::kReader;
using test::kReadLater;
using test::kReadLoop;
using test::kRemove;
using test::kScan;
using test::kThird;
using test::kUpdate;
using test::kUpdateLater;
using test::kWriter;
using test::later_states;
using test::M;
using test::PolicyHands;
using test::PolicyInWords;
using Keys = std::vector<std::uint64_t>;
using Hand = PolicyHands::PolicyHand;

/// Long enough for a thread that should wait to be seen if it does not.
constexpr std::chrono::milliseconds kAMoment{5};

/// Writers publish all they write; readers read dirty.
PolicyInWords dirty_reads_of_published_writes() {
  PolicyInWords words;
  words.publishes(kWriter, kUpdate).publishes(kWriter, kInsert).publishes(kWriter, kRemove);
  words.reads_dirty(kReader);
  return words;
}

// ---- visibility ---------------------------------------------------------------------------------

TEST(PolicyVisibility, CleanReadIgnoresAPublishedWrite) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand clean = hands.begin(1, kThird);
  EXPECT_EQ(clean.read(10), 1000);
  EXPECT_TRUE(clean.commit()) << "it comes before the writer";
  EXPECT_TRUE(writer.commit());
}

TEST(PolicyVisibility, DirtyReadSeesAPublishedWrite) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  EXPECT_EQ(reader.read(10), 1);
  EXPECT_EQ(reader.read(20), 2000) << "this one was not written";
  ASSERT_TRUE(writer.commit());
  EXPECT_TRUE(reader.commit());
}

TEST(PolicyVisibility, DirtyReadMissesAPrivateWrite) {
  PolicyHands hands(PolicyInWords().publishes(kWriter, kUpdateLater).reads_dirty(kReader));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  EXPECT_EQ(hands.begin(1, kReader).read(10), 1000);
}

/// Polyjuice §4.3: PUBLIC makes all private writes buffered so far visible.
TEST(PolicyVisibility, PublicWriteTakesThePrivateOnesBeforeItAlong) {
  PolicyHands hands(PolicyInWords().publishes(kWriter, kUpdateLater).reads_dirty(kReader));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  ASSERT_TRUE(writer.at(later_states(kWriter)).write(20, 2));
  const Hand reader = hands.begin(1, kReader);
  EXPECT_EQ(reader.read(10), 1);
  EXPECT_EQ(reader.read(20), 2);
}

TEST(PolicyVisibility, EarlyValidationAlonePublishesNothing) {
  PolicyHands hands(PolicyInWords()
                        .validates(kWriter, kUpdate)
                        .publishes(kWriter, kUpdateLater)
                        .reads_dirty(kReader));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  EXPECT_EQ(hands.begin(1, kReader).read(10), 1000);
  ASSERT_TRUE(writer.at(later_states(kWriter)).write(20, 2));
  EXPECT_EQ(hands.begin(2, kReader).read(10), 1) << "it was still to be published";
}

/// A read and the write of the same row that follows are one state, which ends with the write.
TEST(PolicyVisibility, ReadModifyWriteIsPublishedByItsWrite) {
  PolicyHands hands(PolicyInWords().publishes(kWriter, kModify).reads_dirty(kReader));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const AccessId modify = hand_state(kWriter, kModify);
  const auto row = writer.txn().read(modify, hands.db.rows, make_key(20));
  ASSERT_TRUE(row);
  EXPECT_FALSE(hands.published(10)) << "only half of the access is done";
  ASSERT_TRUE(writer.txn().update(modify, hands.db.rows, row,
                                  [](test::Columns& columns) { columns.first = 2; }));
  const Hand reader = hands.begin(1, kReader);
  EXPECT_EQ(reader.read(10), 1);
  EXPECT_EQ(reader.read(20), 2);
}

TEST(PolicyVisibility, DirtyReadTakesTheNewestVersion) {
  PolicyHands hands(dirty_reads_of_published_writes().reads_dirty(kWriter));
  const Hand first = hands.begin(0, kWriter);
  ASSERT_TRUE(first.write(10, 1));
  const Hand second = hands.begin(1, kWriter);
  ASSERT_EQ(second.read(10), 1);
  ASSERT_TRUE(second.write(10, 2));
  const Hand reader = hands.begin(2, kReader);
  EXPECT_EQ(reader.read(10), 2);
  EXPECT_TRUE(first.commit());
  EXPECT_TRUE(second.commit());
  EXPECT_TRUE(reader.commit());
}

TEST(PolicyVisibility, OwnWritesAreReadBeforeAnyoneElses) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand reader = hands.begin(1, kReader);
  ASSERT_TRUE(reader.write(10, 7));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  EXPECT_EQ(reader.read(10), 7);
}

TEST(PolicyVisibility, PublishedInsertIsReadDirty) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.insert(15, 1));
  const Hand reader = hands.begin(1, kReader);
  EXPECT_EQ(reader.read(15), 1);
  const Hand clean = hands.begin(2, kThird);
  EXPECT_EQ(clean.read(15), std::nullopt);
  EXPECT_TRUE(clean.commit());
  ASSERT_TRUE(writer.commit());
  EXPECT_TRUE(reader.commit());
}

TEST(PolicyVisibility, PublishedDeleteIsReadDirty) {
  PolicyHands hands(dirty_reads_of_published_writes());
  hands.db.storage.keep_snapshots();  // so that the record outlives the commit of its deletion
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.remove(10));
  const Hand reader = hands.begin(1, kReader);
  EXPECT_EQ(reader.read(10), std::nullopt);
  EXPECT_EQ(reader.stop(), Outcome::rollback) << "the row is not there: that is no conflict";
  ASSERT_TRUE(writer.commit());
  EXPECT_TRUE(reader.commit());
}

/// A deleted record can be unlinked at once; its dirty reader searches for a record that is gone,
/// and has to run again.
TEST(PolicyVisibility, DeleteReadDirtyCannotBeOutlived) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.remove(10));
  const Hand reader = hands.begin(1, kReader);
  EXPECT_EQ(reader.read(10), std::nullopt);
  ASSERT_TRUE(writer.commit());
  EXPECT_FALSE(reader.commit());
}

TEST(PolicyVisibility, ScanReadsCommittedVersions) {
  PolicyHands hands(dirty_reads_of_published_writes().reads_dirty(kReader, kScan));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.insert(15, 1));
  const Hand reader = hands.begin(1, kReader);
  EXPECT_EQ(reader.scan(10, 20), (Keys{10, 20}));
  EXPECT_TRUE(reader.commit());
  EXPECT_TRUE(writer.commit());
}

TEST(PolicyVisibility, NarrowVersionServesNarrowReadsOnly) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write_narrow(10, 1));
  EXPECT_EQ(hands.begin(1, kReader).read_narrow(10), 1);
  EXPECT_EQ(hands.begin(2, kReader).read(10), 1000) << "the other columns are in no list";
}

TEST(PolicyVisibility, NarrowDirtyReadIsWidenedFromTheSameVersion) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read_narrow(10), 1);
  ASSERT_TRUE(reader.write_narrow(10, 2));
  const auto row = reader.txn().read(kNoState, hands.db.rows, make_key(10));
  ASSERT_TRUE(row);
  EXPECT_EQ(*row, (test::Columns{2, 10, 10})) << "its own first column, the writer's others";
  ASSERT_TRUE(writer.commit());
  EXPECT_TRUE(reader.commit());
}

/// The remaining columns of a row read dirty may be of another version.
TEST(PolicyVisibility, NarrowDirtyReadIsNotWidenedFromAnother) {
  enum class Meanwhile { never_wide, written_again, committed };
  for (const auto meanwhile :
       {Meanwhile::never_wide, Meanwhile::written_again, Meanwhile::committed}) {
    PolicyHands hands(dirty_reads_of_published_writes());
    const Hand writer = hands.begin(0, kWriter);
    const bool narrow = meanwhile == Meanwhile::never_wide;
    ASSERT_TRUE(narrow ? writer.write_narrow(10, 1) : writer.write(10, 1));
    const Hand reader = hands.begin(1, kReader);
    ASSERT_EQ(reader.read_narrow(10), 1);
    if (meanwhile == Meanwhile::written_again) {
      ASSERT_TRUE(writer.write(10, 2));
    } else if (meanwhile == Meanwhile::committed) {
      ASSERT_TRUE(writer.commit());
    }
    EXPECT_EQ(reader.read(10), std::nullopt);
    EXPECT_EQ(reader.stop(), Outcome::abort);
    EXPECT_EQ(reader.reason(), AbortReason::dirty_source);
    reader.abort();
  }
}

// ---- commit order -------------------------------------------------------------------------------

TEST(PolicyCommit, ReaderOfADirtyVersionWaitsForItsWriter) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1);
  std::atomic<bool> ended{false};
  bool committed = false;
  std::thread thread([&] {
    committed = reader.commit();
    ended = true;
  });
  hands.await_waiting(1);
  std::this_thread::sleep_for(kAMoment);
  EXPECT_FALSE(ended);
  EXPECT_TRUE(writer.commit());
  thread.join();
  EXPECT_TRUE(committed);
}

TEST(PolicyCommit, WaitForAWriterEndsWithTheRun) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1);
  hands.forbid_waiting();
  EXPECT_FALSE(reader.commit());
  EXPECT_EQ(reader.reason(), AbortReason::stopped);
  EXPECT_EQ(hands.waits_for(1), 0U);
}

TEST(PolicyCommit, ReaderAbortsWithItsWriter) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1);
  writer.abort();
  EXPECT_FALSE(reader.commit());
  EXPECT_EQ(reader.reason(), AbortReason::dirty_source);
  EXPECT_EQ(reader.txn().reason_state(), hand_state(kReader, test::kRead));
}

TEST(PolicyCommit, ReaderOfAnInsertAbortsWithItsWriter) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.insert(15, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(15), 1);
  writer.abort();
  EXPECT_FALSE(reader.commit());
  EXPECT_EQ(reader.reason(), AbortReason::dirty_source);
}

/// Polyjuice §4.4: uncommitted versions have an identity of their own.
TEST(PolicyCommit, ReaderAbortsIfItsWriterWritesAgain) {
  for (const std::int64_t second_value : {2, 1}) {  // equal values don't help
    PolicyHands hands(dirty_reads_of_published_writes());
    const Hand writer = hands.begin(0, kWriter);
    ASSERT_TRUE(writer.write(10, 1));
    const Hand reader = hands.begin(1, kReader);
    ASSERT_EQ(reader.read(10), 1);
    ASSERT_TRUE(writer.write(10, second_value));
    const Hand later_reader = hands.begin(2, kReader);
    ASSERT_EQ(later_reader.read(10), second_value);
    ASSERT_TRUE(writer.commit());
    EXPECT_FALSE(reader.commit());
    EXPECT_EQ(reader.reason(), AbortReason::dirty_source);
    EXPECT_TRUE(later_reader.commit());
  }
}

/// A row that a writer inserts and deletes again has a version too. Two workers may commit under
/// one number, so a record left without a version could be given that number by another worker, and
/// the reader would accept it.
TEST(PolicyCommit, ReaderAbortsIfItsWriterLeavesNothing) {
  for (const bool snapshots : {false, true}) {
    PolicyHands hands(dirty_reads_of_published_writes());
    if (snapshots) hands.db.storage.keep_snapshots();
    const Hand other = hands.begin(1, kThird);
    ASSERT_TRUE(other.insert(15, 7)) << "the record is its";
    const Hand writer = hands.begin(0, kWriter);
    ASSERT_TRUE(writer.insert(15, 1));
    const Hand reader = hands.begin(2, kReader);
    ASSERT_EQ(reader.read(15), 1);
    ASSERT_TRUE(writer.remove(15));
    const Hand later_reader = hands.begin(3, kReader);
    ASSERT_EQ(later_reader.read(15), std::nullopt);
    ASSERT_TRUE(writer.commit());
    (void)other.commit();
    EXPECT_FALSE(reader.commit());
    EXPECT_EQ(reader.reason(), AbortReason::dirty_source);
    EXPECT_EQ(later_reader.commit(), snapshots) << "unless the record is gone";
    const Hand again = hands.begin(1, kThird);
    ASSERT_TRUE(again.insert(15, 8));
    EXPECT_TRUE(again.commit());
    EXPECT_EQ(Database::committed(hands.db.rows, 15), 8);
  }
}

TEST(PolicyCommit, ReaderAbortsIfItsVersionWasOverwritten) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1);
  ASSERT_TRUE(writer.commit());
  ASSERT_TRUE(hands.overwrite(2, kThird, 10, 3));
  EXPECT_FALSE(reader.commit());
}

/// A version that was written too often to be distinguished from the next is not read dirty.
TEST(PolicyCommit, VersionsOfUnknownIdentityAreNotReadDirty) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  for (std::uint64_t i = 1; i < tid::kMaxWrites; ++i) ASSERT_TRUE(writer.write(10, 1));
  EXPECT_EQ(hands.begin(1, kReader).read(10), 1);
  ASSERT_TRUE(writer.write(10, 2));
  EXPECT_EQ(hands.begin(2, kReader).read(10), 1000);
}

TEST(PolicyCommit, WriterWaitsForTheVersionItWroteOver) {
  PolicyHands hands(dirty_reads_of_published_writes().reads_dirty(kWriter));
  const Hand first = hands.begin(0, kWriter);
  ASSERT_TRUE(first.write(10, 1));
  const Hand second = hands.begin(1, kWriter);
  ASSERT_TRUE(second.write(10, 2));
  hands.forbid_waiting();
  EXPECT_FALSE(second.commit());
  EXPECT_EQ(second.reason(), AbortReason::stopped);
}

/// Polyjuice §3.1: a write depends on the reads before it in the access list.
TEST(PolicyCommit, WriterWaitsForReadersBeforeIt) {
  PolicyHands hands(PolicyInWords().publishes(kWriter).validates(kThird, test::kRead));
  const Hand reader = hands.begin(0, kThird);
  ASSERT_EQ(reader.read(10), 1000);
  const Hand writer = hands.begin(1, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  hands.forbid_waiting();
  EXPECT_FALSE(writer.commit());
  EXPECT_EQ(writer.reason(), AbortReason::stopped);
  EXPECT_TRUE(reader.commit());
}

TEST(PolicyCommit, OwnReadBeforeAWriteIsNoDependency) {
  PolicyHands hands(PolicyInWords().publishes(kWriter).validates(kWriter, test::kRead));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_EQ(writer.read(10), 1000);
  EXPECT_TRUE(hands.listed(10));
  ASSERT_TRUE(writer.write(10, 1));
  EXPECT_TRUE(writer.commit());
}

/// A clean read comes before every visible write, a dirty one after the write it read: so the next
/// writer waits only for the dirty reader.
TEST(PolicyCommit, NextWriterWaitsForDirtyReadersOnly) {
  PolicyInWords words = dirty_reads_of_published_writes().reads_dirty(kWriter);
  words.validates(kReader, test::kRead).validates(kThird, test::kRead);
  for (const auto& [type, waits] : {std::pair{kThird, false}, std::pair{kReader, true}}) {
    PolicyHands hands(words);
    const Hand first = hands.begin(0, kWriter);
    ASSERT_TRUE(first.write(10, 1));
    const Hand reader = hands.begin(1, type);
    ASSERT_EQ(reader.read(10), waits ? 1 : 1000);
    const Hand second = hands.begin(2, kWriter);
    ASSERT_TRUE(second.write(10, 2));
    ASSERT_TRUE(first.commit());
    hands.forbid_waiting();
    EXPECT_EQ(second.commit(), !waits);
  }
}

TEST(PolicyCommit, LostUpdateIsRefusedWhateverWasVisible) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand clean = hands.begin(1, kThird);
  ASSERT_TRUE(clean.write(10, 2));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  ASSERT_TRUE(writer.commit());
  EXPECT_FALSE(clean.commit());
  EXPECT_EQ(clean.reason(), AbortReason::read_validation);
  EXPECT_EQ(Database::committed(hands.db.rows, 10), 1);
}

TEST(PolicyCommit, RollbackAfterADirtyReadIsValidatedToo) {
  for (const bool committed : {true, false}) {
    PolicyHands hands(dirty_reads_of_published_writes());
    const Hand writer = hands.begin(0, kWriter);
    ASSERT_TRUE(writer.write(10, 1));
    const Hand reader = hands.begin(1, kReader);
    ASSERT_EQ(reader.read(10), 1);
    if (committed) {
      ASSERT_TRUE(writer.commit());
    } else {
      writer.abort();
    }
    EXPECT_EQ(reader.txn().validate_rollback(), committed);
    EXPECT_EQ(reader.reason(), committed ? AbortReason::none : AbortReason::dirty_source);
    reader.abort();
  }
}

// ---- early validation and the retry from the last validated point -------------------------------

/// Reads validate early at the later state only.
PolicyInWords validating_reader() {
  PolicyInWords words;
  words.publishes(kWriter).reads_dirty(kReader);
  words.validates(kReader, kReadLoop).validates(kReader, kReadLater);
  return words;
}

/// The reader's accesses: validated ones, and others.
test::HandStates validated_read() { return {.read = hand_state(kReader, kReadLoop)}; }
test::HandStates final_read() { return {.read = hand_state(kReader, kReadLater)}; }

TEST(PolicyRetry, EarlyValidationFailsIfARecordReadHasChanged) {
  PolicyHands hands(validating_reader());
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1000);
  const auto row = reader.txn().read(kNoState, hands.db.rows, make_key(50));
  ASSERT_TRUE(hands.overwrite(0, kThird, 10, 1));
  EXPECT_EQ(reader.at(final_read()).read(20), std::nullopt);
  EXPECT_EQ(reader.stop(), Outcome::abort);
  EXPECT_EQ(reader.reason(), AbortReason::early_validation);
  EXPECT_EQ(reader.txn().reason_state(), hand_state(kReader, kReadLater));
  EXPECT_EQ(reader.read(30), std::nullopt) << "nothing happens until the retry";
  EXPECT_FALSE(reader.txn().update(kNoState, hands.db.rows, row, [](test::Columns&) {}));
  EXPECT_FALSE(reader.at({}).insert(15, 1));
  reader.abort();
}

/// The validated prefix is served from the log, the rest is read again.
TEST(PolicyRetry, ReplaysExactlyTheValidatedPrefix) {
  PolicyHands hands(validating_reader());
  const Hand reader = hands.begin(1, kReader);
  std::vector<std::array<std::optional<std::int64_t>, 4>> runs;
  const Outcome outcome = PolicyHands::run(reader, [&] {
    auto& seen = runs.emplace_back();
    seen[0] = reader.read(10);
    seen[1] = reader.at(validated_read()).read(20);  // the point
    seen[2] = reader.read(30);
    if (runs.size() == 1) {
      EXPECT_TRUE(hands.overwrite(0, kThird, 10, 1));
      EXPECT_TRUE(hands.overwrite(0, kThird, 20, 2));
      EXPECT_TRUE(hands.overwrite(0, kThird, 30, 3));
    }
    seen[3] = reader.at(final_read()).read(40);
    return seen[3] ? Outcome::commit : reader.stop();
  });
  EXPECT_EQ(outcome, Outcome::commit);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0][2], 3000);
  EXPECT_EQ(runs[1][0], 1000);
  EXPECT_EQ(runs[1][1], 2000);
  EXPECT_EQ(runs[1][2], 3) << "read after the point, so read again";
  EXPECT_EQ(runs[1][3], 4000);
  EXPECT_FALSE(reader.commit()) << "the prefix had become stale, which only the commit checks";
  EXPECT_EQ(reader.reason(), AbortReason::read_validation);
}

TEST(PolicyRetry, CommitsWhatTheSecondRunRead) {
  PolicyHands hands(validating_reader());
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  ASSERT_EQ(PolicyHands::run(reader,
                             [&] {
                               ++runs;
                               (void)reader.read(10);
                               (void)reader.at(validated_read()).read(20);
                               const auto row = reader.read(30);
                               if (!row || !reader.write(50, *row + 1)) return reader.stop();
                               if (runs == 1) {
                                 EXPECT_TRUE(hands.overwrite(0, kThird, 30, 3));
                               }
                               return reader.at(final_read()).read(40) ? Outcome::commit
                                                                       : reader.stop();
                             }),
            Outcome::commit);
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(reader.commit());
  EXPECT_EQ(Database::committed(hands.db.rows, 50), 4);
}

TEST(PolicyRetry, MissesAndScansAreReplayedToo) {
  PolicyHands hands(validating_reader());
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  std::optional<std::int64_t> missed;
  Keys scanned;
  std::vector<std::int64_t> values;
  ASSERT_EQ(PolicyHands::run(
                reader,
                [&] {
                  ++runs;
                  missed = reader.read(15);
                  values.clear();
                  scanned.clear();
                  (void)reader.txn().scan(kNoState, hands.db.rows, make_key(20), make_key(60),
                                          Order::descending, 3,
                                          [&](const Key1& key, const Row<test::Columns>& row) {
                                            scanned.push_back(key.words[0]);
                                            values.push_back(row->first);
                                            return key.words[0] != 50;  // the visitor ends the scan
                                          });
                  (void)reader.at(validated_read()).read(20);
                  (void)reader.read(30);
                  if (runs == 1) {
                    const Hand other = hands.begin(0, kThird);
                    EXPECT_TRUE(other.insert(15, 1) && other.write(60, 1) && other.write(30, 1));
                    EXPECT_TRUE(other.insert(55, 1) && other.commit());
                  }
                  return reader.at(final_read()).read(40) ? Outcome::commit : reader.stop();
                }),
            Outcome::commit);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(missed, std::nullopt);
  EXPECT_EQ(scanned, (Keys{60, 50}));
  EXPECT_EQ(values, (std::vector<std::int64_t>{6000, 5000}));
  EXPECT_FALSE(reader.commit());
}

/// Own writes after the point are undone; those before it stay, and are not made twice.
TEST(PolicyRetry, OwnWritesGoBackToThePoint) {
  PolicyHands hands(validating_reader());
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  std::optional<std::int64_t> after_point;
  ASSERT_EQ(PolicyHands::run(
                reader,
                [&] {
                  ++runs;
                  if (!reader.write(10, 1) || !reader.read(60)) return reader.stop();
                  (void)reader.at(validated_read()).read(20);
                  after_point = reader.read(10);
                  if (runs == 1) {
                    EXPECT_TRUE(reader.write(10, 2) &&
                                reader.write(10, 3));  // written before the point as well
                    EXPECT_TRUE(reader.write(20, 2) && reader.remove(60));  // read before the point
                    EXPECT_TRUE(reader.remove(50));  // reached after the point
                    EXPECT_TRUE(reader.insert(15, 2));
                    EXPECT_EQ(reader.read(30), 3000);
                    EXPECT_TRUE(hands.overwrite(0, kThird, 30, 3));
                  }
                  return reader.at(final_read()).read(40) ? Outcome::commit : reader.stop();
                }),
            Outcome::commit);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(after_point, 1);
  ASSERT_TRUE(reader.commit());
  EXPECT_EQ(Database::committed(hands.db.rows, 10), 1);
  EXPECT_EQ(Database::committed(hands.db.rows, 20), 2000);
  EXPECT_EQ(Database::committed(hands.db.rows, 50), 5000);
  EXPECT_EQ(Database::committed(hands.db.rows, 60), 6000);
  EXPECT_EQ(Database::record(hands.db.rows, 15), nullptr) << "its placeholder went with it";
}

/// Of several points the last one counts.
TEST(PolicyRetry, WritesBetweenTwoPointsStand) {
  PolicyHands hands(validating_reader());
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  int middles = 0;
  std::optional<std::int64_t> seen;
  ASSERT_EQ(
      PolicyHands::run(reader,
                       [&] {
                         ++runs;
                         if (!reader.read(10) || !reader.at(validated_read()).read(20))
                           return reader.stop();
                         const auto row = reader.txn().read(kNoState, hands.db.rows, make_key(10));
                         (void)reader.txn().update(
                             kNoState, hands.db.rows, row,
                             [&](test::Columns& columns) { columns.first = ++middles; });
                         if (!reader.at(validated_read()).read(30)) return reader.stop();
                         seen = reader.read(10);
                         (void)reader.read(40);
                         if (runs == 1) {
                           EXPECT_TRUE(hands.overwrite(0, kThird, 40, 4));
                         }
                         return reader.at(final_read()).read(50) ? Outcome::commit : reader.stop();
                       }),
      Outcome::commit);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(middles, 1) << "made once: the second time it is replayed";
  EXPECT_EQ(seen, 1);
  ASSERT_TRUE(reader.commit());
  EXPECT_EQ(Database::committed(hands.db.rows, 10), 1);
}

/// Writes that the first run was still to publish are not published by the second, unless it makes
/// them again.
TEST(PolicyRetry, WritesToBePublishedGoBackToThePoint) {
  PolicyInWords words = validating_reader();
  words.publishes(kReader, kUpdateLater);
  PolicyHands hands(words);
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  ASSERT_EQ(
      PolicyHands::run(reader,
                       [&] {
                         ++runs;
                         (void)reader.at(validated_read()).read(20);
                         EXPECT_TRUE(runs == 1 ? reader.write(50, 1) : reader.read(60).has_value());
                         (void)reader.read(30);
                         if (runs == 1) {
                           EXPECT_TRUE(hands.overwrite(0, kThird, 30, 3));
                         }
                         return reader.at(later_states(kReader)).write(40, 4) ? Outcome::commit
                                                                              : reader.stop();
                       }),
      Outcome::commit);
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(hands.published(40));
  EXPECT_FALSE(hands.published(50));
  EXPECT_FALSE(hands.published(60));
  ASSERT_TRUE(reader.commit());
  EXPECT_EQ(Database::committed(hands.db.rows, 50), 5000);
}

/// The first run's placeholder is still in the index when the second inserts the same key.
TEST(PolicyRetry, InsertIsMadeAgain) {
  PolicyHands hands(validating_reader());
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  ASSERT_EQ(PolicyHands::run(reader,
                             [&] {
                               ++runs;
                               EXPECT_EQ(reader.scan(10, 20), (Keys{10, 20}));
                               (void)reader.at(validated_read()).read(20);
                               EXPECT_TRUE(reader.insert(15, runs));
                               (void)reader.read(30);
                               if (runs == 1) {
                                 EXPECT_TRUE(hands.overwrite(0, kThird, 30, 3));
                               }
                               return reader.at(final_read()).read(40) ? Outcome::commit
                                                                       : reader.stop();
                             }),
            Outcome::commit);
  EXPECT_TRUE(reader.commit());
  EXPECT_EQ(Database::committed(hands.db.rows, 15), 2);
}

/// A range scanned after the point is forgotten with it, and one scanned before is not.
TEST(PolicyRetry, NodeSetGoesBackToThePoint) {
  for (const bool before : {false, true}) {
    PolicyHands hands(validating_reader());
    const Hand reader = hands.begin(1, kReader);
    int runs = 0;
    Keys scanned;
    ASSERT_EQ(PolicyHands::run(
                  reader,
                  [&] {
                    ++runs;
                    if (before) scanned = reader.scan(10, 30);
                    (void)reader.at(validated_read()).read(20);
                    if (!before) scanned = reader.scan(10, 30);
                    (void)reader.read(50);
                    if (runs == 1) {
                      const Hand other = hands.begin(0, kThird);
                      EXPECT_TRUE(other.insert(15, 1) && other.write(50, 1) && other.commit());
                    }
                    return reader.at(final_read()).read(40) ? Outcome::commit : reader.stop();
                  }),
              Outcome::commit);
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(scanned, before ? (Keys{10, 20, 30}) : (Keys{10, 15, 20, 30}));
    EXPECT_EQ(reader.commit(), !before);
    if (before) {
      EXPECT_EQ(reader.reason(), AbortReason::node_validation);
    }
  }
}

TEST(PolicyRetry, RangeThatIsNotScannedAgainIsForgotten) {
  PolicyHands hands(validating_reader());
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  ASSERT_EQ(PolicyHands::run(reader,
                             [&] {
                               if (++runs == 1) {
                                 EXPECT_EQ(reader.scan(10, 30), (Keys{10, 20, 30}));
                                 const Hand other = hands.begin(0, kThird);
                                 EXPECT_TRUE(other.insert(15, 1) && other.commit());
                               }
                               return reader.at(final_read()).read(40) ? Outcome::commit
                                                                       : reader.stop();
                             }),
            Outcome::commit);
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(reader.commit());
}

/// A scan that is the point itself is part of the prefix: its range must still be valid at the
/// commit.
TEST(PolicyRetry, NodeSetOfAScanThatIsThePointIsKept) {
  PolicyInWords words = validating_reader();
  words.validates(kReader, kScan);
  PolicyHands hands(words);
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  ASSERT_EQ(
      PolicyHands::run(reader,
                       [&] {
                         ++runs;
                         EXPECT_EQ(reader.scan(10, 30), (Keys{10, 20, 30}));
                         (void)reader.read(50);
                         if (runs == 1) {
                           const Hand other = hands.begin(0, kThird);
                           EXPECT_TRUE(other.insert(15, 1) && other.write(50, 1) && other.commit());
                         }
                         return reader.at(final_read()).read(40) ? Outcome::commit : reader.stop();
                       }),
      Outcome::commit);
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(reader.commit());
  EXPECT_EQ(reader.reason(), AbortReason::node_validation);
}

TEST(PolicyRetry, PhantomFailsEarlyValidation) {
  PolicyHands hands(validating_reader());
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.scan(10, 30), (Keys{10, 20, 30}));
  const Hand other = hands.begin(0, kThird);
  ASSERT_TRUE(other.insert(15, 1));
  ASSERT_TRUE(reader.at(final_read()).read(40)) << "not committed: it will come later";
  ASSERT_TRUE(reader.scan(40, 60).size() == 3);
  ASSERT_TRUE(other.commit());
  ASSERT_TRUE(reader.at(final_read()).read(20)) << "the piece since the point is not affected";
  ASSERT_EQ(reader.scan(31, 60), (Keys{40, 50, 60}));
  const Hand another = hands.begin(0, kThird);
  ASSERT_TRUE(another.insert(45, 1) && another.commit());
  EXPECT_FALSE(reader.at(final_read()).read(20));
  EXPECT_EQ(reader.reason(), AbortReason::early_validation);
  reader.abort();
}

/// A dirty read after the point is forgotten: the second run does not depend on that writer.
TEST(PolicyRetry, DependenciesGoBackToThePoint) {
  PolicyHands hands(validating_reader());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  std::optional<std::int64_t> seen;
  ASSERT_EQ(PolicyHands::run(reader,
                             [&] {
                               ++runs;
                               (void)reader.at(validated_read()).read(20);
                               seen = runs == 1 ? reader.read(10) : reader.read(60);
                               (void)reader.read(30);
                               if (runs == 1) {
                                 EXPECT_TRUE(hands.overwrite(2, kThird, 30, 3));
                               }
                               return reader.at(final_read()).read(40) ? Outcome::commit
                                                                       : reader.stop();
                             }),
            Outcome::commit);
  EXPECT_EQ(seen, 6000);
  hands.forbid_waiting();
  EXPECT_TRUE(reader.commit()) << reader.txn().waited();
  writer.abort();
}

TEST(PolicyRetry, DirtyReadOfAnAbortedWriterFailsEarly) {
  PolicyHands hands(validating_reader());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  std::optional<std::int64_t> seen;
  ASSERT_EQ(PolicyHands::run(reader,
                             [&] {
                               seen = reader.read(10);
                               if (++runs == 1) writer.abort();
                               return reader.at(final_read()).read(40) ? Outcome::commit
                                                                       : reader.stop();
                             }),
            Outcome::commit);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(seen, 1000);
  EXPECT_TRUE(reader.commit());
}

/// No retry helps if the validated prefix has read from an aborted writer.
TEST(PolicyRetry, AbortedWriterBeforeThePointDoomsTheTransaction) {
  PolicyHands hands(validating_reader());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1);
  ASSERT_TRUE(reader.at(validated_read()).read(20));
  writer.abort();
  EXPECT_FALSE(reader.at(final_read()).read(40));
  EXPECT_EQ(reader.reason(), AbortReason::dirty_source);
  EXPECT_EQ(reader.txn().retry_from_point(), Retry::no);
  reader.abort();
}

TEST(PolicyRetry, GivesUpAfterSomeRetries) {
  PolicyHands hands(validating_reader());
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  EXPECT_EQ(PolicyHands::run(reader,
                             [&] {
                               (void)reader.read(10);
                               EXPECT_TRUE(hands.overwrite(0, kThird, 10, ++runs));
                               return reader.at(final_read()).read(40) ? Outcome::commit
                                                                       : reader.stop();
                             }),
            Outcome::abort);
  EXPECT_EQ(runs, 1 + PolicyTransaction<M>::kRetriesFromPoint);
  reader.abort();

  const Hand again = hands.begin(1, kReader);
  const int before = runs;
  EXPECT_EQ(PolicyHands::run(again,
                             [&] {
                               (void)again.read(10);
                               if (runs == before) {
                                 EXPECT_TRUE(hands.overwrite(0, kThird, 10, ++runs));
                               }
                               return again.at(final_read()).read(40) ? Outcome::commit
                                                                      : again.stop();
                             }),
            Outcome::commit)
      << "the next transaction starts with nothing used up";
  EXPECT_TRUE(again.commit());
}

/// The last transaction's points are not this one's.
TEST(PolicyRetry, NextTransactionStartsWithoutAPoint) {
  PolicyHands hands(validating_reader());
  const Hand last = hands.begin(1, kReader);
  ASSERT_TRUE(last.read(10) && last.read(20) && last.at(final_read()).read(40));
  ASSERT_TRUE(last.commit());
  const Hand next = hands.begin(1, kReader);
  ASSERT_EQ(next.read(10), 1000);
  ASSERT_TRUE(hands.overwrite(0, kThird, 10, 1));
  EXPECT_FALSE(next.at(final_read()).read(40));
  next.abort();
}

TEST(PolicyRetry, OtherAbortsAreNotRetriedFromThePoint) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1000);
  EXPECT_EQ(reader.txn().retry_from_point(), Retry::no) << "nothing has failed";
  ASSERT_TRUE(hands.overwrite(0, kThird, 10, 1));
  EXPECT_FALSE(reader.txn().commit());
  EXPECT_EQ(reader.txn().retry_from_point(), Retry::no);
  reader.abort();
}

// ---- early validation left to the commit, and records that read the same ------------------------

/// The reader validates early after its last access, and no transaction publishes.
PolicyInWords validating_at_commit() { return PolicyInWords().validates(kReader, kModify); }

/// Another transaction changes the second column of a row, which narrow reads don't access.
void change_second_column(PolicyHands& hands, std::uint64_t key) {
  const Hand other = hands.begin(0, kThird);
  const auto row = other.txn().read(kNoState, hands.db.rows, make_key(key));
  ASSERT_TRUE(row);
  ASSERT_TRUE(other.txn().update(kNoState, hands.db.rows, row,
                                 [](test::Columns& columns) { columns.second += 5; }));
  ASSERT_TRUE(other.commit());
}

TEST(PolicySecondLook, WhatReadsTheSameNeedsNoRetry) {
  PolicyHands hands(validating_at_commit());
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read_narrow(10), 1000);
  ASSERT_TRUE(reader.write_narrow(20, 7));
  change_second_column(hands, 10);
  change_second_column(hands, 20);
  ASSERT_TRUE(reader.commit());
  const auto* row = hands.db.rows.find_quiescent(make_key(20));
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(*row, (test::Columns{7, 25, 20})) << "both writes stand";
}

/// Silo's rule holds for tables that do not ask for early validation there.
TEST(PolicySecondLook, IsForTypesThatValidateAtTheirLastAccess) {
  PolicyHands hands(PolicyInWords().validates(kReader, kReadLater));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read_narrow(10), 1000);
  ASSERT_TRUE(reader.at(final_read()).read(30));
  change_second_column(hands, 10);
  EXPECT_FALSE(reader.txn().commit());
  EXPECT_EQ(reader.reason(), AbortReason::read_validation);
  EXPECT_EQ(reader.txn().retry_from_point(), Retry::no);
  reader.abort();
}

TEST(PolicySecondLook, IsTakenAtAnyEarlyValidation) {
  PolicyHands hands(PolicyInWords().validates(kReader, kReadLater));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read_narrow(10), 1000);
  change_second_column(hands, 10);
  EXPECT_EQ(reader.at(final_read()).read(30), 3000);
  EXPECT_TRUE(reader.commit());
}

/// After the point nothing is validated early, so it is the final validation that fails.
TEST(PolicySecondLook, ConcludesARunThatTheFinalValidationRefused) {
  PolicyHands hands(validating_at_commit().validates(kReader, kReadLater));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_TRUE(reader.write_narrow(10, 7));
  ASSERT_TRUE(reader.at(final_read()).read(30));  // the point
  change_second_column(hands, 10);
  EXPECT_FALSE(reader.txn().commit());
  EXPECT_EQ(reader.reason(), AbortReason::read_validation);
  ASSERT_EQ(reader.txn().retry_from_point(), Retry::conclude);
  EXPECT_FALSE(tid::locked(Database::record(hands.db.rows, 10)->word.peek()));
  EXPECT_TRUE(reader.commit());
  EXPECT_EQ(*hands.db.rows.find_quiescent(make_key(10)), (test::Columns{7, 15, 10}));
}

TEST(PolicySecondLook, ThatFindsSomethingElseBehindThePointAborts) {
  PolicyHands hands(validating_at_commit().validates(kReader, kReadLater));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read_narrow(10), 1000);
  ASSERT_TRUE(reader.at(final_read()).read(30));  // the point
  ASSERT_TRUE(hands.overwrite(0, kThird, 10, 1));
  EXPECT_FALSE(reader.txn().commit());
  EXPECT_EQ(reader.txn().retry_from_point(), Retry::no);
  reader.abort();
}

/// A difference is read by running the procedure again, as after any early validation that fails.
TEST(PolicySecondLook, ThatFindsSomethingElseRunsThePieceAgain) {
  PolicyHands hands(validating_at_commit());
  const Hand reader = hands.begin(1, kReader);
  std::vector<std::optional<std::int64_t>> seen;
  const auto attempt = attempt_to_commit<M>(reader.txn(), [&] {
    seen.push_back(reader.read_narrow(10));
    EXPECT_TRUE(reader.write(20, *seen.back() + 1));
    EXPECT_TRUE(reader.insert(15, *seen.back() + 2));
    if (seen.size() == 1) {
      EXPECT_TRUE(hands.overwrite(0, kThird, 10, 1));
    }
    return Outcome::commit;
  });
  EXPECT_EQ(attempt.outcome, Outcome::commit);
  EXPECT_EQ(attempt.partial_retries, 1U);
  EXPECT_EQ(seen, (std::vector<std::optional<std::int64_t>>{1000, 1}));
  EXPECT_EQ(Database::committed(hands.db.rows, 20), 2);
  EXPECT_EQ(Database::committed(hands.db.rows, 15), 3);
}

/// A rollback is a result too: it must rest on a state of the database.
TEST(PolicySecondLook, ThatFindsSomethingElseRunsARollbackAgain) {
  PolicyHands hands(validating_at_commit());
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  const auto attempt = attempt_to_commit<M>(reader.txn(), [&] {
    const bool stale = reader.read_narrow(10) == 1000;
    if (++runs == 1) {
      EXPECT_TRUE(hands.overwrite(0, kThird, 10, 1));
    }
    return stale ? Outcome::rollback : Outcome::commit;
  });
  EXPECT_EQ(attempt.outcome, Outcome::commit);
  EXPECT_EQ(runs, 2);
}

TEST(PolicySecondLook, GivesUpAfterSomeRetries) {
  PolicyHands hands(validating_at_commit());
  const Hand reader = hands.begin(1, kReader);
  int runs = 0;
  const auto attempt = attempt_to_commit<M>(reader.txn(), [&] {
    (void)reader.read_narrow(10);
    EXPECT_TRUE(hands.overwrite(0, kThird, 10, ++runs));
    return Outcome::commit;
  });
  EXPECT_EQ(attempt.outcome, Outcome::abort);
  EXPECT_EQ(attempt.reason, AbortReason::early_validation);
  EXPECT_EQ(attempt.state, hand_state(kReader, kModify));
  EXPECT_EQ(runs, 1 + PolicyTransaction<M>::kRetriesFromPoint);
}

/// A row that has gone, or did not exist, or was inserted by another transaction, is not the same.
TEST(PolicySecondLook, IsForRowsThatWereAndAre) {
  for (const bool gone : {true, false}) {
    PolicyHands hands(validating_at_commit().validates(kReader, kReadLater));
    const Hand reader = hands.begin(1, kReader);
    if (gone) {
      ASSERT_EQ(reader.read_narrow(10), 1000);
    } else {
      ASSERT_TRUE(reader.insert(15, 1));
    }
    ASSERT_TRUE(reader.at(final_read()).read(30));  // the point
    const Hand other = hands.begin(0, kThird);
    ASSERT_TRUE(gone ? other.remove(10) : other.insert(15, 1));
    ASSERT_TRUE(other.commit());
    EXPECT_FALSE(reader.txn().commit());
    EXPECT_EQ(reader.txn().retry_from_point(), Retry::no);
    reader.abort();
    EXPECT_EQ(Database::committed(hands.db.rows, gone ? 10 : 15),
              gone ? std::nullopt : std::optional<std::int64_t>(1));
  }
}

/// A row that another was about to insert is no row, whatever it contains later.
TEST(PolicySecondLook, IsNotForRowsThatWereOnlyPlaceholders) {
  PolicyHands hands(validating_at_commit().validates(kReader, kReadLater));
  const Hand other = hands.begin(0, kThird);
  ASSERT_TRUE(other.insert(15, 0));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read_narrow(15), std::nullopt);
  ASSERT_TRUE(reader.at(final_read()).read(30));  // the point
  ASSERT_TRUE(other.commit());
  EXPECT_FALSE(reader.txn().commit());
  EXPECT_EQ(reader.txn().retry_from_point(), Retry::no);
  reader.abort();
}

/// A range that the final validation has scanned again no longer guards against the insert it
/// passed over: an attempt that it refused must not be validated a second time.
TEST(PolicySecondLook, IsNotForTransactionsWhoseRangesHaveChanged) {
  PolicyHands hands(validating_at_commit().validates(kReader, kReadLater));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read_narrow(15), std::nullopt) << "a missed key is a range";
  ASSERT_EQ(reader.read_narrow(10), 1000);
  ASSERT_TRUE(reader.write(20, 7));
  ASSERT_TRUE(reader.at(final_read()).read(30));  // the point
  const Hand other = hands.begin(2, kThird);
  ASSERT_EQ(other.read(20), 2000);
  ASSERT_TRUE(other.insert(15, 1));
  change_second_column(hands, 10);
  EXPECT_FALSE(reader.txn().commit());
  EXPECT_EQ(reader.reason(), AbortReason::read_validation);
  EXPECT_EQ(reader.txn().retry_from_point(), Retry::no);
  reader.abort();
  EXPECT_TRUE(other.commit());
}

/// A row read in part, written, and then read whole: the content that was read is not kept.
TEST(PolicySecondLook, IsNotForWhatWasWidenedBehindAWrite) {
  PolicyHands hands(validating_at_commit().validates(kReader, kReadLater));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_TRUE(reader.write_narrow(10, 7));
  ASSERT_EQ(reader.read(10), 7);
  ASSERT_TRUE(reader.at(final_read()).read(30));
  change_second_column(hands, 10);
  EXPECT_FALSE(reader.txn().commit());
  EXPECT_EQ(reader.txn().retry_from_point(), Retry::no);
  reader.abort();
}

/// A row read whole in two steps is compared whole.
TEST(PolicySecondLook, ComparesAllThatWasRead) {
  PolicyHands hands(validating_at_commit().validates(kReader, kReadLater));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read_narrow(10), 1000);
  ASSERT_EQ(reader.read(10), 1000);
  ASSERT_TRUE(reader.at(final_read()).read(30));
  change_second_column(hands, 10);
  EXPECT_FALSE(reader.txn().commit());
  EXPECT_EQ(reader.txn().retry_from_point(), Retry::no);
  reader.abort();
}

// ---- conflicting visible writes -----------------------------------------------------------------

/// Publishing over a visible write that was not read can't commit; the retry waits for that writer
/// to end, and then reads its result.
TEST(PolicyRetry, PublishingOverAnUnreadWriteWaitsForItsWriter) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand first = hands.begin(0, kWriter);
  ASSERT_TRUE(first.write(10, 1));
  const Hand second = hands.begin(1, kWriter);
  int runs = 0;
  std::thread thread([&] {
    EXPECT_EQ(PolicyHands::run(second,
                               [&] {
                                 ++runs;
                                 const auto row = second.read(10);
                                 return row && second.write(10, *row + 1) ? Outcome::commit
                                                                          : second.stop();
                               }),
              Outcome::commit);
  });
  hands.await_waiting(1);
  EXPECT_TRUE(first.commit());
  thread.join();
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(second.commit());
  EXPECT_EQ(Database::committed(hands.db.rows, 10), 2);
}

// ---- waits --------------------------------------------------------------------------------------

/// A reader that has read dirty from `writer` and now makes its next access in another thread.
class WaitingRead {
 public:
  WaitingRead(PolicyHands& hands, int worker) : hands_(hands), hand_(hands.begin(worker, kReader)) {
    EXPECT_EQ(hand_.read(10), 1);
    thread_ = std::thread([this] {
      (void)hand_.at(later_states(kReader)).read(20);
      done_ = true;
    });
  }

  ~WaitingRead() { join(); }

  /// Whether it waits, and keeps waiting.
  bool waits() {
    while (!done_ && hands_.waits_for(hand_.txn().worker()) == 0) std::this_thread::yield();
    std::this_thread::sleep_for(kAMoment);
    return !done_;
  }

  /// Returns once its wait has ended.
  const Hand& join() {
    EXPECT_TRUE(test::eventually([this] { return done_.load(); })) << "it waits for ever";
    if (!done_) hands_.forbid_waiting();
    if (thread_.joinable()) thread_.join();
    return hand_;
  }

 private:
  PolicyHands& hands_;
  Hand hand_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

TEST(PolicyWait, LastsUntilTheDependencyHasMadeTheAccess) {
  PolicyHands hands(
      dirty_reads_of_published_writes().waits(kReader, kReadLater, kWriter, kReadLater));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  WaitingRead reader(hands, 1);
  EXPECT_TRUE(reader.waits());
  ASSERT_TRUE(writer.remove(30));  // an earlier access than the one waited for
  EXPECT_TRUE(reader.waits());
  ASSERT_TRUE(writer.at(later_states(kWriter)).read(40));
  const Hand& hand = reader.join();
  EXPECT_GT(hand.txn().waited(), 0U);
  EXPECT_GT(hands.runtime.wait_times[1].ticks[hand_state(kReader, kReadLater)], 0U);
  ASSERT_TRUE(writer.commit());
  EXPECT_TRUE(hand.commit());
}

/// A round of a loop is no progress; the end of the loop is.
TEST(PolicyWait, ForALoopLastsUntilItHasPassed) {
  PolicyHands hands(
      dirty_reads_of_published_writes().waits(kReader, kReadLater, kWriter, kReadLoop));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  WaitingRead reader(hands, 1);
  const test::HandStates in_loop{.read = hand_state(kWriter, kReadLoop)};
  ASSERT_TRUE(writer.at(in_loop).read(40));
  ASSERT_TRUE(writer.at(in_loop).read(50));
  EXPECT_TRUE(reader.waits());
  writer.txn().passed(hand_state(kWriter, kReadLoop));
  reader.join();
  ASSERT_TRUE(writer.commit());
  EXPECT_TRUE(reader.join().commit());
}

TEST(PolicyWait, ForCommitLastsUntilTheDependencyHasEnded) {
  PolicyHands hands(
      dirty_reads_of_published_writes().waits_for_commit(kReader, kReadLater, kWriter));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  WaitingRead reader(hands, 1);
  ASSERT_TRUE(writer.at(later_states(kWriter)).remove(30));  // next to the last of its accesses
  EXPECT_TRUE(reader.waits());
  writer.abort();
  EXPECT_FALSE(reader.join().commit());
}

/// What a transaction finished before it became visible counts too.
TEST(PolicyWait, ProgressMadeBeforePublishingIsKnown) {
  PolicyHands hands(
      dirty_reads_of_published_writes().waits(kReader, kReadLater, kWriter, kReadLater));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.at(later_states(kWriter)).read(30));
  ASSERT_TRUE(writer.write(10, 1));  // publishes, at an access before the one waited for
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1);
  hands.forbid_waiting();  // a wait would be cut short and counted
  (void)reader.at(later_states(kReader)).read(40);
  EXPECT_EQ(reader.txn().waited(), 0U);
}

TEST(PolicyWait, IsForDependenciesOfTheTypeOnly) {
  PolicyInWords words = dirty_reads_of_published_writes();
  words.waits_for_commit(kReader, kReadLater, kThird);
  words.waits_for_commit(kReader, kUpdateLater, kWriter);
  PolicyHands hands(words);
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1);
  EXPECT_EQ(reader.at(later_states(kReader)).read(20), 2000) << "the row waits for another type";

  const Hand stranger = hands.begin(2, kReader);
  EXPECT_TRUE(stranger.at(later_states(kReader)).write(30, 3)) << "it has no dependency";
  EXPECT_TRUE(stranger.commit());
  ASSERT_TRUE(writer.commit());
  EXPECT_TRUE(reader.commit());
  EXPECT_EQ(reader.txn().waited(), 0U);
}

TEST(PolicyWait, EndsWithTheRun) {
  PolicyHands hands(
      dirty_reads_of_published_writes().waits_for_commit(kReader, kReadLater, kWriter));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1);
  hands.forbid_waiting();
  EXPECT_FALSE(reader.at(later_states(kReader)).read(20));
  EXPECT_EQ(reader.reason(), AbortReason::stopped);
  reader.abort();
}

/// Polyjuice §4.3: before early validation, the wait of the next access.
TEST(PolicyWait, BeforeEarlyValidationIsThatOfTheNextAccess) {
  PolicyInWords words = dirty_reads_of_published_writes();
  words.validates(kReader, kReadLater).waits_for_commit(kReader, kUpdateLater, kWriter);
  PolicyHands hands(words);
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  WaitingRead reader(hands, 1);
  EXPECT_TRUE(reader.waits());
  ASSERT_TRUE(writer.commit());
  EXPECT_TRUE(reader.join().commit());
}

/// Two transactions that have each read dirty from the other.
class MutualDependency : public testing::Test {
 protected:
  static PolicyInWords words() {
    PolicyInWords words = dirty_reads_of_published_writes();
    words.publishes(kReader, kUpdateLater).waits_for_commit(kReader, kReadLater, kReader);
    return words;
  }

  void SetUp() override {
    ASSERT_TRUE(publish(first_, 10, 1));
    ASSERT_TRUE(publish(second_, 20, 2));
    ASSERT_EQ(first_.read(20), 2);
    ASSERT_EQ(second_.read(10), 1);
  }

  /// At a state that does not follow the dirty read: no latch is kept for it.
  static bool publish(const Hand& hand, std::uint64_t key, std::int64_t value) {
    return hand.at({.update = hand_state(kReader, kUpdateLater)}).write(key, value);
  }

  /// Makes `worker` appear to wait for `other`'s running transaction.
  void pretend_waiting(int worker, int other) {
    hands_.runtime.contexts[worker].waits_for.store(
        TransactionContext<M>::pack_reference(other, hands_.runtime.contexts[other].incarnation()),
        std::memory_order_seq_cst);
  }

  PolicyHands hands_{words()};
  Hand first_ = hands_.begin(0, kReader);
  Hand second_ = hands_.begin(1, kReader);
};

/// Waiting is advisory.
TEST_F(MutualDependency, WaitThatClosesACycleIsSkippedDuringExecution) {
  pretend_waiting(0, 1);
  EXPECT_EQ(second_.at(later_states(kReader)).read(30), 3000);
  EXPECT_EQ(second_.txn().waited(), 0U);
  EXPECT_EQ(hands_.waits_for(1), 0U);
  second_.abort();
  first_.abort();
}

TEST_F(MutualDependency, WaitThatClosesACycleAtCommitAborts) {
  pretend_waiting(0, 1);
  EXPECT_FALSE(second_.commit());
  EXPECT_EQ(second_.reason(), AbortReason::wait_cycle);
  EXPECT_FALSE(first_.commit());
  EXPECT_EQ(first_.reason(), AbortReason::dirty_source);
}

TEST_F(MutualDependency, CycleOfThreeIsFound) {
  const Hand third = hands_.begin(2, kReader);
  ASSERT_EQ(third.read(20), 2);
  ASSERT_TRUE(publish(third, 30, 3));
  pretend_waiting(0, 2);
  pretend_waiting(1, 0);
  EXPECT_FALSE(third.commit());
  EXPECT_EQ(third.reason(), AbortReason::wait_cycle);
  first_.abort();
  second_.abort();
}

TEST_F(MutualDependency, WaitForATransactionThatHasEndedIsNoCycle) {
  pretend_waiting(0, 1);
  const std::uint64_t stale = hands_.waits_for(0);
  second_.abort();
  const Hand next = hands_.begin(1, kReader);
  ASSERT_TRUE(publish(next, 30, 3)) << "another transaction of the same worker";
  hands_.runtime.contexts[0].waits_for.store(stale, std::memory_order_seq_cst);
  ASSERT_EQ(next.read(10), 1);
  hands_.forbid_waiting();
  EXPECT_FALSE(next.commit());
  EXPECT_EQ(next.reason(), AbortReason::stopped) << "it would have waited";
  first_.abort();
}

TEST_F(MutualDependency, CommittingInTwoThreadsEnds) {
  bool first_committed = true;
  std::thread thread([&] { first_committed = first_.commit(); });
  hands_.await_waiting(0);
  EXPECT_FALSE(second_.commit());
  EXPECT_EQ(second_.reason(), AbortReason::wait_cycle);
  thread.join();
  EXPECT_FALSE(first_committed) << "its source has aborted";
}

// ---- contexts and access lists ------------------------------------------------------------------

TEST(TransactionContext, RemembersTheLatestOutcomes) {
  TransactionContext<M> context;
  const std::uint64_t first = context.incarnation();
  constexpr std::uint64_t kTransactions = 100;
  for (std::uint64_t i = 0; i < kTransactions; ++i) {
    EXPECT_FALSE(context.finished(first + i));
    context.finish(i % 2 == 0 ? 1000 + i : TransactionContext<M>::kAborted);
    EXPECT_TRUE(context.finished(first + i));
  }
  EXPECT_EQ(context.incarnation(), first + kTransactions);
  for (std::uint64_t i = 0; i < kTransactions; ++i) {
    const bool remembered = kTransactions - i < TransactionContext<M>::kOutcomes;
    const std::uint64_t outcome = i % 2 == 0 ? 1000 + i : TransactionContext<M>::kAborted;
    EXPECT_EQ(context.outcome(first + i), remembered ? outcome : TransactionContext<M>::kAborted)
        << i;
  }
}

TEST(TransactionContext, ProgressIsOfOneIncarnation) {
  TransactionContext<M> context;
  const std::uint64_t first = context.incarnation();
  EXPECT_TRUE(context.reached(first, 0));
  EXPECT_FALSE(context.reached(first, 1));
  context.announce(3);
  EXPECT_TRUE(context.reached(first, 3));
  EXPECT_FALSE(context.reached(first, 4));
  context.finish(77);
  EXPECT_TRUE(context.reached(first, 4)) << "a finished transaction has reached every access";
  EXPECT_FALSE(context.reached(first + 1, 1));
}

/// Commits `count` transactions of worker 0, all of which enter the access lists.
void publish_and_commit(PolicyHands& hands, int count) {
  for (int i = 0; i < count; ++i) ASSERT_TRUE(hands.overwrite(0, kWriter, 60, i));
}

TEST(PolicyContext, OutcomeOfAWriterThatHasMovedOnIsKnown) {
  for (const bool committed : {true, false}) {
    PolicyHands hands(dirty_reads_of_published_writes());
    publish_and_commit(hands, 3);
    const Hand writer = hands.begin(0, kWriter);
    ASSERT_TRUE(writer.write(10, 1));
    const Hand reader = hands.begin(1, kReader);
    ASSERT_EQ(reader.read(10), 1);
    if (committed) {
      ASSERT_TRUE(writer.commit());
    } else {
      writer.abort();
    }
    publish_and_commit(hands, 50);
    EXPECT_EQ(reader.commit(), committed);
  }
}

/// A dependency whose outcome is no longer remembered costs an abort.
TEST(PolicyContext, ForgottenWriterCostsAnAbort) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1);
  ASSERT_TRUE(writer.commit());
  publish_and_commit(hands, 100);
  EXPECT_FALSE(reader.commit());
  EXPECT_EQ(reader.reason(), AbortReason::dirty_source);
}

/// The worker's next transaction writes the same record the same number of times: it is another.
TEST(PolicyContext, NextTransactionOfTheWriterIsAnother) {
  PolicyHands hands(dirty_reads_of_published_writes());
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1);
  writer.abort();
  ASSERT_TRUE(hands.overwrite(0, kWriter, 10, 1));
  EXPECT_FALSE(reader.commit());
}

class AccessListsAfter : public testing::Test {
 protected:
  /// A transaction with reads, writes, an insert and a delete in the lists.
  Hand busy() {
    const Hand hand = hands_.begin(0, kWriter);
    EXPECT_TRUE(hand.read(20));
    EXPECT_TRUE(hand.write(10, 1) && hand.insert(15, 1) && hand.remove(30));
    for (const std::uint64_t key : kKeys) EXPECT_TRUE(hands_.listed(key)) << key;
    for (const std::uint64_t key : kKeys) {
      records_.push_back(Database::record(hands_.db.rows, key));
    }
    return hand;
  }

  void expect_empty() {
    for (const Record<M>* record : records_) {
      EXPECT_TRUE(hands_.runtime.lists.bucket(record).empty());
      EXPECT_EQ(hands_.runtime.lists.bucket(record).first(), nullptr);
      EXPECT_EQ(hands_.runtime.lists.bucket(record).last(), nullptr);
    }
  }

  static constexpr std::array<std::uint64_t, 4> kKeys{10, 15, 20, 30};
  PolicyHands hands_{dirty_reads_of_published_writes()};
  std::vector<const Record<M>*> records_;
};

TEST_F(AccessListsAfter, CommitAreEmpty) {
  ASSERT_TRUE(busy().commit());
  expect_empty();
}

TEST_F(AccessListsAfter, AbortAreEmpty) {
  busy().abort();
  expect_empty();
  EXPECT_EQ(Database::record(hands_.db.rows, 15), nullptr);
}

TEST_F(AccessListsAfter, RefusedCommitAreEmpty) {
  const Hand hand = busy();
  ASSERT_TRUE(hands_.overwrite(1, kThird, 20, 2));
  ASSERT_FALSE(hand.commit());
  expect_empty();
}

/// More records than buckets: some share one, whose latch is taken once.
TEST(PolicyLists, RecordsMayShareABucket) {
  PolicyHands hands(PolicyInWords().publishes(kWriter, kUpdateLater).reads_dirty(kReader));
  constexpr std::uint64_t kRows = 1200;
  for (std::uint64_t i = 0; i < kRows; ++i) hands.db.rows.load(make_key(1000 + i), {});
  const Hand writer = hands.begin(0, kWriter);
  for (std::uint64_t i = 0; i < kRows; ++i) ASSERT_TRUE(writer.write(1000 + i, 7));
  ASSERT_TRUE(writer.at(later_states(kWriter)).write(10, 7));
  const Hand reader = hands.begin(1, kReader);
  for (std::uint64_t i = 0; i < kRows; ++i) ASSERT_EQ(reader.read(1000 + i), 7);
  ASSERT_TRUE(writer.commit());
  EXPECT_TRUE(reader.commit());
  for (std::uint64_t i = 0; i < kRows; ++i) ASSERT_FALSE(hands.listed(1000 + i));
}

// ---- the compiled table -------------------------------------------------------------------------

TEST(CompiledPolicy, TypeWithNoUseForListsIsNative) {
  const CompiledPolicy silo(PolicyInWords().policy());
  for (int type = 0; type < test::kTypeCount; ++type) EXPECT_TRUE(silo.type(type).native);

  const CompiledPolicy policy(
      PolicyInWords().publishes(kWriter).validates(kReader, kScan).policy());
  EXPECT_FALSE(policy.type(kWriter).native);
  EXPECT_FALSE(policy.type(kReader).native);
  EXPECT_TRUE(policy.type(kThird).native);
}

TEST(CompiledPolicy, DirtyReadOfATableWithoutPublicWritesIsClean) {
  PolicyInWords words;
  words.reads_dirty(kReader);
  const CompiledPolicy alone(words.policy());
  EXPECT_FALSE(alone.state(hand_state(kReader, test::kRead)).dirty_read);
  EXPECT_TRUE(alone.type(kReader).native);
  EXPECT_FALSE(alone.links_reads(hand_state(kReader, test::kRead)));

  const CompiledPolicy published(words.publishes(kWriter).policy());
  EXPECT_TRUE(published.state(hand_state(kReader, test::kRead)).dirty_read);
  EXPECT_FALSE(published.state(hand_state(kThird, test::kRead)).dirty_read);
  EXPECT_FALSE(published.type(kReader).native);
  EXPECT_TRUE(published.links_reads(hand_state(kReader, test::kRead)));
  EXPECT_FALSE(published.links_reads(kNoState));
}

TEST(CompiledPolicy, OnlyTypesThatCanHaveDependenciesWait) {
  PolicyInWords words;
  words.waits(kThird, kReadLater, kWriter, kUpdate).waits(kReader, kReadLater, kWriter, kUpdate);
  words.publishes(kWriter).reads_dirty(kReader);
  const CompiledPolicy policy(words.policy());
  EXPECT_FALSE(policy.state(hand_state(kThird, kReadLater)).waits);
  EXPECT_TRUE(policy.type(kThird).native);
  EXPECT_TRUE(policy.state(hand_state(kReader, kReadLater)).waits);
  EXPECT_FALSE(policy.state(hand_state(kReader, kUpdateLater)).waits);
}

TEST(CompiledPolicy, OnlyTypesWaitedForMidwayAnnounceProgress) {
  PolicyInWords words = dirty_reads_of_published_writes();
  words.waits_for_commit(kReader, kReadLater, kWriter);
  EXPECT_FALSE(CompiledPolicy(words.policy()).type(kWriter).announces);
  words.waits(kReader, kUpdateLater, kWriter, kUpdate);
  const CompiledPolicy policy(words.policy());
  EXPECT_TRUE(policy.type(kWriter).announces);
  EXPECT_FALSE(policy.type(kReader).announces);
}

}  // namespace
}  // namespace heddle
