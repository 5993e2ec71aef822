#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "check/checker.h"
#include "check/history_builder.h"

/// A corpus of handmade histories: each anomaly, and a similar history that is serializable.
namespace heddle::check {
namespace {

using Lines = std::initializer_list<const char*>;

constexpr Row kX{1};
constexpr Row kY{2};
constexpr Row kZ{3};
/// Rows that do not exist at first; and the same keys in another record.
constexpr Row kNew{7};
constexpr Row kNewAgain{7, 2};
constexpr Row kOther{8};

void expect_serializable(const Story& story) {
  for (const Anomaly& anomaly : story.check().anomalies) ADD_FAILURE() << anomaly.text;
}

/// Expects one anomaly of this name whose text contains these lines.
void expect_anomaly(const Story& story, const std::string& name, Lines lines) {
  const Report report = story.check();
  ASSERT_EQ(report.anomalies.size(), 1u) << report.to_json();
  EXPECT_EQ(report.anomalies[0].name, name) << report.anomalies[0].text;
  for (const std::string line : lines) {
    EXPECT_NE(report.anomalies[0].text.find(line), std::string::npos) << "no '" << line << "' in:\n"
                                                                      << report.anomalies[0].text;
  }
}

/// Expects a cycle of this name with exactly these edges.
void expect_cycle(const Story& story, const std::string& name, Lines edges) {
  expect_anomaly(story, name, edges);
  const Report report = story.check();
  if (report.anomalies.empty()) return;
  const std::string& text = report.anomalies[0].text;
  std::size_t shown = 0;
  for (std::size_t at = text.find("--> "); at != std::string::npos; at = text.find("--> ", at + 1))
    ++shown;
  EXPECT_EQ(shown, edges.size()) << "not the shortest:\n" << text;
}

// ---- cycles of versions -------------------------------------------------------------------------

TEST(Corpus, SerialHistory) {
  expect_serializable(Story()
                          .commit(1, {read(kX, 0), write(kX, 1)}, {1, 2})
                          .commit(2, {read(kX, 1), write(kX, 2), miss(kNew)}, {3, 4})
                          .commit(1, {miss(kNew), insert(kNew, 1)}, {5, 6})
                          .commit(2, {read(kNew, 1), remove(kNew, 2)}, {7, 8})
                          .commit(3, {miss(kNew), read(kX, 2)}, {9, 10}));
}

TEST(Corpus, AnOrderOtherThanTheClocks) {
  expect_serializable(
      Story().commit(1, {write(kX, 1)}, {1, 2}).commit(2, {read(kX, 0), write(kY, 1)}, {3, 4}));
}

TEST(Corpus, WriteCycle) {
  Story story;
  story.commit(1, {write(kX, 1), write(kY, 2)}).commit(2, {write(kY, 1), write(kX, 2)});
  expect_cycle(story, "G0 (write cycle)", {"w1:0 --ww rows/1--> w2:0", "w2:0 --ww rows/2--> w1:0"});
  expect_serializable(
      Story().commit(1, {write(kX, 1), write(kY, 1)}).commit(2, {write(kY, 2), write(kX, 2)}));
}

TEST(Corpus, CircularInformationFlow) {
  Story story;
  story.commit(1, {write(kX, 1), read(kY, 1)}).commit(2, {write(kY, 1), read(kX, 1)});
  expect_cycle(story, "G1c (circular information flow)",
               {"w1:0 --wr rows/1--> w2:0", "w2:0 --wr rows/2--> w1:0"});
  expect_serializable(
      Story().commit(1, {write(kX, 1), read(kY, 0)}).commit(2, {write(kY, 1), read(kX, 1)}));
}

TEST(Corpus, ReadSkew) {
  Story story;
  story.commit(1, {write(kX, 1), write(kY, 1)}).commit(2, {read(kX, 0), read(kY, 1)});
  expect_cycle(story, "G-single (read skew)",
               {"w1:0 --wr rows/2--> w2:0", "w2:0 --rw rows/1--> w1:0"});
  expect_serializable(
      Story().commit(1, {write(kX, 1), write(kY, 1)}).commit(2, {read(kX, 0), read(kY, 0)}));
}

TEST(Corpus, ReadThatDoesNotRepeat) {
  Story story;
  story.commit(1, {write(kX, 1)}).commit(2, {read(kX, 0), read(kX, 1)});
  expect_cycle(story, "G-single (read skew)",
               {"w1:0 --wr rows/1--> w2:0", "w2:0 --rw rows/1--> w1:0"});
  expect_serializable(Story().commit(1, {write(kX, 1)}).commit(2, {read(kX, 1), read(kX, 1)}));
}

TEST(Corpus, LostUpdate) {
  Story story;
  story.commit(1, {read(kX, 0), write(kX, 1)}).commit(2, {read(kX, 0), write(kX, 2)});
  expect_cycle(story, "G-single (lost update)",
               {"w1:0 --ww rows/1--> w2:0", "w2:0 --rw rows/1--> w1:0"});
  expect_serializable(
      Story().commit(1, {read(kX, 0), write(kX, 1)}).commit(2, {read(kX, 1), write(kX, 2)}));
}

TEST(Corpus, WriteSkew) {
  Story story;
  story.commit(1, {read(kX, 0), read(kY, 0), write(kX, 1)})
      .commit(2, {read(kX, 0), read(kY, 0), write(kY, 1)});
  expect_cycle(story, "G2-item (write skew)",
               {"w1:0 --rw rows/2--> w2:0", "w2:0 --rw rows/1--> w1:0"});
  expect_serializable(Story()
                          .commit(1, {read(kX, 0), read(kY, 0), write(kX, 1)})
                          .commit(2, {read(kX, 1), read(kY, 0), write(kY, 1)}));
}

/// Fekete, O'Neil and O'Neil (SIGMOD Record, 2004): a read-only transaction makes it
/// unserializable.
TEST(Corpus, ReadOnlyTransactionAnomaly) {
  Story story;
  story.commit(1, {read(kY, 0), write(kY, 1)})
      .commit(2, {read(kX, 0), read(kY, 0), write(kX, 1)})
      .commit(3, {read(kX, 0), read(kY, 1)});
  expect_cycle(
      story, "G2-item (write skew)",
      {"w2:0 --rw rows/2--> w1:0", "w1:0 --wr rows/2--> w3:0", "w3:0 --rw rows/1--> w2:0"});
  expect_serializable(Story()
                          .commit(1, {read(kY, 0), write(kY, 1)})
                          .commit(2, {read(kX, 0), read(kY, 0), write(kX, 1)})
                          .commit(3, {read(kX, 0), read(kY, 0)}));
}

/// Of a component with several cycles the most serious is shown, and of that kind the shortest.
TEST(Corpus, TheGravestAndShortestCycleIsShown) {
  Story long_one;
  long_one.commit(1, {write(kX, 1), write(kZ, 2)})
      .commit(2, {write(kX, 2), write(kY, 1)})
      .commit(3, {write(kY, 2), write(kZ, 1)});
  expect_cycle(
      long_one, "G0 (write cycle)",
      {"w1:0 --ww rows/1--> w2:0", "w2:0 --ww rows/2--> w3:0", "w3:0 --ww rows/3--> w1:0"});
  // A shorter cycle of a less serious kind in the same component is not preferred.
  long_one.commit(4, {read(kX, 1), write(kX, 3)});
  expect_cycle(
      long_one, "G0 (write cycle)",
      {"w1:0 --ww rows/1--> w2:0", "w2:0 --ww rows/2--> w3:0", "w3:0 --ww rows/3--> w1:0"});
}

TEST(Corpus, EachComponentIsShown) {
  Story story;
  story.commit(1, {read(kX, 0), read(kX, 1)})
      .commit(2, {write(kX, 1)})
      .commit(3, {write(kY, 1), write(kZ, 2)})
      .commit(4, {write(kZ, 1), write(kY, 2)});
  const Report report = story.check();
  ASSERT_EQ(report.anomalies.size(), 2u) << report.to_json();
}

TEST(Corpus, WhatIsRolledBackHadToBeRightAllTheSame) {
  Story story;
  story.commit(1, {write(kX, 1), write(kY, 1)})
      .roll_back(2, {read(kX, 0), taken_back(kZ), read(kY, 1)});
  expect_cycle(story, "G-single (read skew)",
               {"w1:0 --wr rows/2--> w2:0", "w2:0 --rw rows/1--> w1:0"});
  expect_anomaly(story, "G-single (read skew)", {"rolled back"});
  // A write that it took back orders no other transaction.
  expect_serializable(
      Story().commit(1, {write(kX, 1), read(kZ, 0)}).roll_back(2, {read(kX, 1), taken_back(kZ)}));
}

TEST(Corpus, InconsistentPast) {
  Story story;
  story.commit(1, {write(kX, 1), write(kY, 1)}, {1, 2})
      .read_the_past(2, {read(kX, 0), read(kY, 1)}, {10, 11});
  expect_cycle(story, "G-single (read skew)",
               {"w1:0 --wr rows/2--> w2:0", "w2:0 --rw rows/1--> w1:0"});
  expect_anomaly(story, "G-single (read skew)", {"reads a snapshot"});
  expect_serializable(Story()
                          .commit(1, {write(kX, 1), write(kY, 1)}, {1, 2})
                          .commit(1, {write(kX, 2), write(kY, 2)}, {3, 4})
                          .read_the_past(2, {read(kX, 1), read(kY, 1)}, {10, 11}));
}

// ---- reads of versions that must not be read ----------------------------------------------------

TEST(Corpus, ReadOfWhatWasAborted) {
  Story story;
  story.abort(1, 5).commit(2, {dirty_read(kX, 1, 5)});
  expect_anomaly(story, "G1a (aborted read)",
                 {"w2:0", "rows/1 = the uncommitted write 1 of w1:0, which was aborted"});
  Story rolled_back;
  rolled_back.roll_back(1, {taken_back(kX)}, {}, 5).commit(2, {dirty_read(kX, 1, 5)});
  expect_anomaly(rolled_back, "G1a (aborted read)", {"w2:0", "w1:0 (type, rolled back"});
  expect_serializable(
      Story().abort(1, 5).publish(1, 6, {write(kX, 1)}).commit(2, {dirty_read(kX, 1, 6)}));
}

TEST(Corpus, ReadOfWhatHadNotEnded) {
  Story story;
  story.commit(2, {dirty_read(kX, 1, 5)});
  expect_anomaly(story, "G1a (aborted read)", {"w2:0", "rows/1", "which did not commit"});
}

TEST(Corpus, ReadOfAVersionNeverCommitted) {
  Story story;
  story.commit(1, {write(kX, 1)}).commit(2, {read(kX, 2)});
  expect_anomaly(story, "G1a (aborted read)", {"w2:0", "read rows/1 = version 3.1"});
  expect_serializable(Story().commit(1, {write(kX, 2)}).commit(2, {read(kX, 2)}));
}

TEST(Corpus, ReadOfAnIntermediateVersion) {
  Story story;
  story.publish(1, 5, {write(kX, 1, 2)}).commit(2, {dirty_read(kX, 1, 5, 1)});
  expect_anomaly(story, "G1b (intermediate read)", {"w2:0", "w1:0", "rows/1"});
  expect_serializable(
      Story().publish(1, 5, {write(kX, 1, 2)}).commit(2, {dirty_read(kX, 1, 5, 2)}));
}

TEST(Corpus, ReadOfAnIntermediateVersionByItsNumber) {
  Story story;
  story.commit(1, {write(kX, 1, 2)}).commit(2, {Step{operation(Kind::read, kX, version(1, 1))}});
  expect_anomaly(story, "G1b (intermediate read)", {"w2:0", "w1:0", "rows/1"});
}

TEST(Corpus, ReadOfARowThatItsWriterNeverWrote) {
  Story story;
  story.publish(1, 5, {write(kY, 1)}).commit(2, {dirty_read(kX, 1, 5)});
  expect_anomaly(story, "G1b (intermediate read)", {"w2:0", "w1:0", "rows/1"});
  expect_serializable(Story().publish(1, 5, {write(kY, 1)}).commit(2, {dirty_read(kY, 1, 5)}));
}

TEST(Corpus, DirtyReadsArePartOfCycles) {
  Story story;
  story.publish(1, 5, {write(kX, 1), dirty_read(kY, 2, 9)})
      .publish(2, 9, {write(kY, 1), dirty_read(kX, 1, 5)});
  expect_cycle(story, "G1c (circular information flow)",
               {"w1:0 --wr rows/1--> w2:0", "w2:0 --wr rows/2--> w1:0"});
}

TEST(Corpus, ReadOfADeletedRow) {
  Story story;
  Step of_the_grave = read(kX, 1);
  of_the_grave[0].version |= 2;
  story.commit(1, {remove(kX, 1)}).commit(2, {of_the_grave});
  expect_anomaly(story, "impossible", {"w1:0", "w2:0", "rows/1", "a deleted row"});
  expect_serializable(Story().commit(1, {remove(kX, 1)}).commit(2, {read(kX, 0)}));
}

TEST(Corpus, ReadOfWhatItWroteItselfLater) {
  Story story;
  story.commit(1, {read(kX, 1), write(kX, 1)});
  expect_anomaly(story, "impossible", {"w1:0", "rows/1", "which it wrote itself later on"});
  Step own = read(kX, 0);
  own[0].flags = flag::kOwn;
  expect_serializable(Story().commit(1, {write(kX, 1), own}));
}

TEST(Corpus, VersionMadeTwice) {
  Story story;
  story.commit(1, {write(kX, 1)}).commit(2, {write(kX, 1)});
  expect_anomaly(story, "version made twice", {"w1:0", "w2:0", "rows/1"});
  // Two records are independent of each other.
  expect_serializable(Story().commit(1, {write(kX, 1)}).commit(2, {write(kY, 1)}));
}

TEST(Corpus, TwoVersionsFromBeforeTheRun) {
  Story story;
  Step older = read(kX, 0);
  --older[0].version;
  story.commit(1, {read(kX, 0)}).commit(2, {older});
  expect_anomaly(story, "impossible", {"w2:0", "rows/1", "two versions from before the run"});
}

TEST(Corpus, TornOrMistakenContent) {
  Story torn;
  torn.commit(1, {write_content(kX, 1, 77)}).commit(2, {read(kX, 1, 78)});
  expect_anomaly(torn, "torn or mistaken read", {"w1:0", "w2:0", "rows/1"});
  expect_serializable(Story().commit(1, {write_content(kX, 1, 77)}).commit(2, {read(kX, 1, 77)}));
  // Two readers of one version read different contents.
  Story readers;
  readers.commit(1, {read(kX, 0, 77)}).commit(2, {read(kX, 0, 78)});
  expect_anomaly(readers, "torn or mistaken read", {"w2:0", "rows/1"});
  // Contents of different lengths cannot be compared.
  expect_serializable(Story().commit(1, {read(kX, 0, 77, 8)}).commit(2, {read(kX, 0, 78, 16)}));
  // Of several lengths.
  Story lengths;
  for (std::uint16_t bytes = 8; bytes <= 24; bytes += 8) lengths.commit(1, {read(kX, 0, 1, bytes)});
  expect_serializable(lengths);
  lengths.commit(2, {read(kX, 0, 2, 24)});
  expect_anomaly(lengths, "torn or mistaken read", {"w2:0", "rows/1"});
}

TEST(Corpus, WhatIsBrokenByItself) {
  for (int fault = 1; fault < static_cast<int>(Fault::count_); ++fault) {
    Story story;
    story.commit(1, {read(kX, 0), broken(static_cast<Fault>(fault), kX)});
    expect_anomaly(story, "broken", {"w1:0", "rows/1"});
  }
  expect_serializable(Story().commit(1, {read(kX, 0)}));
}

// ---- inserts and deletes of rows ----------------------------------------------------------------

TEST(Corpus, Phantom) {
  Story story;
  story.commit(1, {insert(kNew, 1), write(kX, 1)}).commit(2, {range(5, 9, {}), read(kX, 1)});
  expect_cycle(story, "G-single (phantom)",
               {"w1:0 --wr rows/1--> w2:0", "w2:0 --predicate-rw rows/7--> w1:0"});
  expect_serializable(
      Story().commit(1, {insert(kNew, 1), write(kX, 1)}).commit(2, {range(5, 9, {}), read(kX, 0)}));
  expect_serializable(Story()
                          .commit(1, {insert(kNew, 1), write(kX, 1)})
                          .commit(2, {range(5, 9, {read(kNew, 1)}), read(kX, 1)}));
  // Beyond the bounds of the range.
  expect_serializable(Story()
                          .commit(1, {insert(kNew, 1), write(kX, 1)})
                          .commit(2, {range(8, 9, {}), range(3, 6, {}), read(kX, 1)}));
}

TEST(Corpus, PhantomOfAPoint) {
  Story story;
  story.commit(1, {insert(kNew, 1), write(kX, 1)}).commit(2, {miss(kNew), read(kX, 1)});
  expect_cycle(story, "G-single (read skew)",
               {"w1:0 --wr rows/1--> w2:0", "w2:0 --rw rows/7--> w1:0"});
  expect_serializable(
      Story().commit(1, {insert(kNew, 1), write(kX, 1)}).commit(2, {miss(kNew), read(kX, 0)}));
}

TEST(Corpus, PhantomSkew) {
  Story story;
  story.commit(1, {range(8, 8, {}), insert(kNew, 1)})
      .commit(2, {range(7, 7, {}), insert(kOther, 1)});
  expect_cycle(story, "G2 (phantom skew)",
               {"w1:0 --predicate-rw rows/8--> w2:0", "w2:0 --predicate-rw rows/7--> w1:0"});
  expect_serializable(Story()
                          .commit(1, {range(8, 8, {}), insert(kNew, 1)})
                          .commit(2, {range(7, 7, {read(kNew, 1)}), insert(kOther, 1)}));
}

/// A range that misses many rows is not placed row by row.
TEST(Corpus, RangesOverManyInsertedAndDeletedRows) {
  const auto queue = [](Step (*change)(Row, std::uint64_t), std::uint64_t number, Step more) {
    std::vector<Step> steps{std::move(more)};
    for (std::uint64_t key = 100; key < 1000; ++key) steps.push_back(change({key}, number));
    return steps;
  };
  const auto story = [&](const Step& early, const Step& late) {
    Story story;
    story.commit(1, queue(insert, 1, write(kX, 1)), {11, 12})
        .commit(2, queue(remove, 2, write(kY, 1)), {21, 22})
        .commit(3, {range(5, 2000, {}), early}, {1, 13})
        .commit(4, {range(120, 999, {}), late}, {30, 31});
    return story;
  };
  expect_serializable(story(read(kX, 0), read(kY, 1)));
  expect_cycle(story(read(kX, 1), read(kY, 1)), "G-single (phantom)",
               {"w1:0 --wr rows/1--> w3:0", "w3:0 --predicate-rw rows/100--> w1:0"});
  expect_cycle(story(read(kX, 0), read(kY, 0)), "G-single (read skew)",
               {"w2:0 --wr rows/120--> w4:0", "w4:0 --rw rows/2--> w2:0"});
}

TEST(Corpus, RowsOfARangeAreReads) {
  Story story;
  story.commit(1, {write(kX, 1), write(kY, 1)})
      .commit(2, {range(1, 2, {read(kX, 0), read(kY, 1)})});
  expect_cycle(story, "G-single (read skew)",
               {"w1:0 --wr rows/2--> w2:0", "w2:0 --rw rows/1--> w1:0"});
}

TEST(Corpus, MissedThoughItWasThereAllTheTime) {
  Story loaded;
  loaded.commit(1, {read(kX, 0)}).commit(2, {miss(kX)});
  expect_anomaly(loaded, "impossible",
                 {"rows/1", "missed although it existed all the time", "w2:0"});
  Story written;
  written.commit(1, {write(kX, 1)}).commit(2, {range(1, 1, {})});
  expect_anomaly(written, "impossible", {"rows/1", "missed although it existed all the time"});
  Story timed;
  timed.commit(1, {insert(kNew, 1)}, {1, 2})
      .commit(2, {miss(kNew)}, {3, 4})
      .commit(3, {remove(kNew, 2)}, {5, 6});
  expect_anomaly(timed, "impossible",
                 {"rows/7", "missed although it existed all the time", "w2:0"});
  expect_serializable(Story()
                          .commit(1, {insert(kNew, 1)}, {1, 2})
                          .commit(2, {miss(kNew)}, {3, 6})
                          .commit(3, {remove(kNew, 2)}, {5, 7}));
  // A row that was never read or written does not exist.
  expect_serializable(Story().commit(1, {miss(kX)}).commit(2, {range(1, 1, {})}));
}

TEST(Corpus, InsertedWhereItWasAlready) {
  Story one_record;
  one_record.commit(1, {insert(kNew, 1)}).commit(2, {insert(kNew, 2)});
  expect_anomaly(one_record, "impossible", {"rows/7", "inserted although it existed", "w1:0"});
  Story over_the_loaded;
  over_the_loaded.commit(1, {read(kX, 0)}).commit(2, {insert(kX, 1)});
  expect_anomaly(over_the_loaded, "impossible", {"rows/1", "was read as it was before the run"});
  Story two_records;
  two_records.commit(1, {insert(kNew, 1)}, {1, 2}).commit(2, {insert(kNewAgain, 1)}, {3, 4});
  expect_anomaly(two_records, "impossible", {"rows/7", "inserted although it existed"});
  expect_serializable(Story()
                          .commit(1, {insert(kNew, 1)}, {1, 2})
                          .commit(3, {remove(kNew, 2)}, {2, 3})
                          .commit(2, {insert(kNewAgain, 1)}, {3, 4}));
}

TEST(Corpus, OverwrittenAfterItWasDeleted) {
  Story story;
  story.commit(1, {remove(kX, 1)}).commit(2, {write(kX, 2)});
  expect_anomaly(story, "impossible", {"rows/1", "overwritten after it was deleted"});
  expect_serializable(Story().commit(1, {remove(kX, 1)}).commit(2, {insert(kX, 2)}));
}

TEST(Corpus, DeletesAndInsertsInOneRecordAreOrderedByVersions) {
  // The transaction that missed it came after the delete and before the insert, whatever the clock.
  Story between;
  between.commit(1, {remove(kX, 1), write(kY, 1)})
      .commit(2, {insert(kX, 2), write(kZ, 1)})
      .commit(3, {miss(kX), read(kY, 1), read(kZ, 0)});
  expect_serializable(between);
  // It missed the row, though it read what its inserter wrote and not what came after.
  Story within;
  within.commit(1, {remove(kX, 1)}, {1, 2})
      .commit(2, {insert(kX, 2), write(kY, 1)}, {3, 4})
      .commit(3, {miss(kX), read(kY, 1)}, {3, 5});
  expect_cycle(within, "G-single (read skew)",
               {"w2:0 --wr rows/2--> w3:0", "w3:0 --rw rows/1--> w2:0"});
}

/// A row that was deleted and inserted again in another record: only the clock gives the order.
TEST(Corpus, TheClockOrdersRecords) {
  const auto story = [](Time first, Time second) {
    Story story;
    story.commit(1, {insert(kNew, 1), read(kX, 0)}, first)
        .commit(1, {remove(kNew, 2), write(kX, 1)}, {first.began + 2, first.ended + 2})
        .commit(2, {insert(kNewAgain, 1), read(kX, 1)}, second)
        .commit(2, {remove(kNewAgain, 2)}, {second.began + 2, second.ended + 2});
    return story;
  };
  expect_serializable(story({1, 2}, {11, 12}));
  // The other way round: the second came first, but read what the first wrote.
  expect_cycle(story({11, 12}, {1, 2}), "G1c (circular information flow)",
               {"w1:0 --ww rows/7--> w1:1", "w1:1 --wr rows/1--> w2:0", "w2:0 --ww rows/7--> w2:1",
                "w2:1 --ww rows/7--> w1:0"});
}

TEST(Corpus, TheOrderOfRecordsIsLeftOpenWhereNothingTellsIt) {
  Story open;
  open.commit(1, {insert(kNew, 1)})
      .commit(1, {remove(kNew, 2)})
      .commit(2, {insert(kNewAgain, 1)})
      .commit(2, {remove(kNewAgain, 2)});
  expect_serializable(open);
  EXPECT_EQ(open.check().choices, 1u);
}

/// Found by brute force: the first and the last of three lives, each ended after the other began.
TEST(Corpus, LivesThatAreNotNeighboursCannotOverlapEither) {
  const auto story = [](std::uint64_t seen) {
    Story story;
    story.commit(1, {insert(kNew, 1), write(kX, 1)})
        .commit(2, {remove(kNew, 2), read(kY, 1)})
        .commit(3, {insert(kNewAgain, 1)})
        .commit(4, {remove(kNewAgain, 2)})
        .commit(5, {insert({7, 3}, 1), write(kY, 1)})
        .commit(6, {remove({7, 3}, 2), read(kX, seen)});
    return story;
  };
  expect_anomaly(story(1), "G1c (circular information flow)", {"rows/7", "other way round"});
  expect_serializable(story(0));
}

/// Other reads decide the order, in either direction.
TEST(Corpus, TheOrderOfRecordsFollowsFromReads) {
  const auto lives = [](const Step& at_the_first, const Step& at_the_second) {
    Story story;
    story.commit(1, {insert(kNew, 1), remove(kNew, 2), at_the_first})
        .commit(2, {insert(kNewAgain, 1), remove(kNewAgain, 2), at_the_second});
    return story;
  };
  expect_serializable(lives(write(kX, 1), read(kX, 1)));
  expect_serializable(lives(write(kX, 1), read(kX, 0)));
}

/// A row was inserted and deleted while w3 ran: only its other reads tell which absence it saw.
Story in_doubt() {
  Story story;
  story.commit(1, {insert(kNew, 1), write(kX, 1)}, {2, 3})
      .commit(2, {remove(kNew, 2), write(kY, 1)}, {4, 5});
  return story;
}

TEST(Corpus, WhichAbsenceWasSeen) {
  expect_serializable(in_doubt().commit(3, {miss(kNew), read(kX, 0), read(kY, 0)}, {1, 6}));
  expect_serializable(in_doubt().commit(3, {miss(kNew), read(kX, 1), read(kY, 1)}, {1, 6}));
  Story open = in_doubt().commit(3, {miss(kNew)}, {1, 6});
  expect_serializable(open);
  EXPECT_EQ(open.check().choices, 1u);
}

TEST(Corpus, AnAbsenceThatFitsNowhere) {
  Story story = in_doubt().commit(3, {miss(kNew), read(kX, 1), read(kY, 0)}, {1, 6});
  expect_anomaly(story, "G-single (read skew)",
                 {"w1:0 --wr rows/1--> w3:0", "w3:0 --rw rows/7--> w1:0", "other way round",
                  "w2:0 --wr rows/7--> w3:0", "w3:0 --rw rows/2--> w2:0"});
}

TEST(Corpus, MissedWhatItThenOverwrote) {
  Story story;
  story.commit(1, {insert(kNew, 1)}).commit(2, {miss(kNew), write(kNew, 2)});
  expect_cycle(story, "G-single (lost update)",
               {"w1:0 --ww rows/7--> w2:0", "w2:0 --rw rows/7--> w1:0"});
  Story scan;
  scan.commit(1, {insert(kNew, 1)}).commit(2, {range(5, 9, {}), write(kNew, 2)});
  expect_cycle(scan, "G-single (phantom)",
               {"w1:0 --ww rows/7--> w2:0", "w2:0 --predicate-rw rows/7--> w1:0"});
  Story deleted;
  deleted.commit(1, {insert(kNew, 1)}).commit(2, {miss(kNew), remove(kNew, 2)});
  expect_cycle(deleted, "G-single (lost update)",
               {"w1:0 --ww rows/7--> w2:0", "w2:0 --rw rows/7--> w1:0"});
  Story loaded;
  loaded.commit(2, {range(1, 1, {}), remove(kX, 1)});
  expect_anomaly(loaded, "impossible", {"rows/1", "missed although it existed all the time"});
  // It missed the row before its insert, and misses it after its delete.
  expect_serializable(Story().commit(1, {miss(kNew), range(5, 9, {}), insert(kNew, 1)}));
  expect_serializable(
      Story().commit(1, {insert(kNew, 1)}).commit(2, {remove(kNew, 2), range(5, 9, {})}));
}

TEST(Corpus, ASnapshotReaderMayMissExistingRows) {
  const auto story = [](std::uint64_t seen) {
    Story story;
    story.commit(1, {insert(kNew, 1), write(kX, 1)}, {1, 2})
        .read_the_past(2, {miss(kNew), range(5, 9, {}), read(kX, seen)}, {5, 6});
    return story;
  };
  expect_serializable(story(0));
  expect_anomaly(story(1), "G-single (read skew)",
                 {"w1:0 --wr rows/1--> w2:0", "w2:0 --rw rows/7--> w1:0"});
}

/// The state that was read lies between the writers of the versions read and those that overwrote
/// them.
TEST(Corpus, TheReadsOfASnapshotReaderDateIt) {
  const auto story = [](std::uint64_t seen) {
    Story story;
    story.commit(1, {insert(kNew, 1)}, {1, 2})
        .commit(1, {remove(kNew, 2)}, {11, 12})
        .commit(3, {write(kX, 1)}, {5, 6})
        .commit(3, {write(kX, 2)}, {7, 8})
        .commit(3, {write(kX, 3)}, {15, 16})
        .read_the_past(2, {miss(kNew), read(kX, seen)}, {25, 26});
    return story;
  };
  expect_serializable(story(0));
  expect_serializable(story(2));
  expect_serializable(story(3));
  expect_anomaly(story(1), "impossible", {"rows/7", "missed although it existed all the time"});
}

// ---- records that no run can produce ------------------------------------------------------------

TEST(Contradiction, EndsBeforeItBegins) {
  expect_anomaly(Story().commit(1, {write(kX, 1)}, {5, 4}), "contradiction",
                 {"w1:0 ended before it began"});
  expect_serializable(Story().commit(1, {write(kX, 1)}, {5, 5}));
}

TEST(Contradiction, AttemptsOfAWorkerInAnotherOrder) {
  Story story;
  story.commit(1, {write(kX, 1)}, {5, 6}).commit(1, {write(kY, 2)}, {1, 4});
  expect_anomaly(story, "contradiction", {"w1:1 ended before an earlier one of its worker began"});
  // Clocks of cores differ a little, so that attempts one after the other may seem to overlap.
  expect_serializable(Story().commit(1, {read(kX, 0)}, {5, 9}).commit(1, {read(kY, 0)}, {4, 12}));
}

TEST(Contradiction, RestsOnWhatCameLater) {
  const auto story = [](Time writer, Time reader) {
    return Story().commit(1, {write(kX, 1)}, writer).commit(2, {read(kX, 1)}, reader);
  };
  expect_serializable(story({5, 8}, {1, 5}));
  expect_anomaly(
      story({5, 8}, {1, 4}), "contradiction",
      {"w2:0 depends on w1:0, which began when it had ended", "w1:0 --wr rows/1--> w2:0"});
  expect_anomaly(Story().commit(1, {write(kX, 1)}, {5, 8}).commit(2, {write(kX, 2)}, {1, 4}),
                 "contradiction", {"w1:0 --ww rows/1--> w2:0"});
  // A stale read is no contradiction: the reverse of the clock's order is an order.
  expect_serializable(Story().commit(1, {write(kX, 1)}, {1, 4}).commit(2, {read(kX, 0)}, {5, 8}));
}

TEST(Contradiction, OperationsOfAnAbortedAttempt) {
  History history = Story().commit(1, {read(kX, 0)}).history();
  history.workers[1].attempts[0].end = End::aborted;
  const Report report = check_history(history);
  ASSERT_EQ(report.anomalies.size(), 1U);
  EXPECT_EQ(report.anomalies[0].text,
            "contradiction: w1:0 was aborted, but its operations were kept\n");
}

TEST(Contradiction, WritesThatARollbackKept) {
  expect_serializable(Story().roll_back(1, {read(kX, 0), taken_back(kX)}));
  expect_anomaly(Story().roll_back(1, {write(kX, 1)}), "contradiction",
                 {"w1:0 has write rows/1 = version 2.1, which a rollback takes back"});
}

TEST(Contradiction, WritesOfASnapshotReader) {
  expect_anomaly(Story().read_the_past(1, {write(kX, 1)}), "contradiction",
                 {"although it read a snapshot, where no transaction writes"});
}

TEST(Contradiction, VersionsFromBeforeTheRun) {
  expect_anomaly(Story().commit(1, {write(kX, 0)}), "contradiction",
                 {"a version from before the run"});
}

TEST(Contradiction, RangesWithoutTheirRows) {
  Step rows = range(1, 3, {read(kX, 0), read(kY, 0)});
  expect_serializable(Story().commit(1, {rows}));
  Step fewer = rows;
  fewer.pop_back();
  expect_anomaly(Story().commit(1, {fewer}), "contradiction", {"of 2 rows, and 1 follow"});
  Step outside = rows;
  outside[2].key = 9;
  expect_anomaly(Story().commit(1, {outside}), "contradiction",
                 {"of a range that does not precede it, or does not contain it"});
  expect_anomaly(Story().commit(1, {Step{rows[1]}}), "contradiction",
                 {"of a range that does not precede it"});
}

TEST(Contradiction, FlagsThatDoNotGoWithTheOperation) {
  Step step = write(kX, 1);
  step[0].flags = flag::kUncommitted;
  expect_anomaly(Story().commit(1, {step}), "contradiction", {"can't be of an uncommitted"});
  step = read(kX, 0);
  step[0].flags = flag::kInserted;
  expect_anomaly(Story().commit(1, {step}), "contradiction", {"which can't insert"});
  step = miss(kNew);
  step[0].flags = flag::kOwn;
  expect_anomaly(Story().commit(1, {step}), "contradiction", {"which can't be its own"});
}

}  // namespace
}  // namespace heddle::check
