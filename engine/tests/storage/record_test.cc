#include "storage/record.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <thread>

#include <gtest/gtest.h>

#include "machine/threads.h"

namespace heddle {
namespace {

using M = ThreadsMachine;

// ---- the TID word -------------------------------------------------------------------------------

TEST(Tid, CarriesEpochSequenceAndWrites) {
  const std::uint64_t version = tid::first_of_epoch(7) + 3 * tid::kStep;
  const std::uint64_t word = tid::committed(version, 2, false);
  EXPECT_EQ(tid::epoch(word), 7U);
  EXPECT_EQ(tid::version(word), version);
  EXPECT_FALSE(tid::locked(word));
  EXPECT_FALSE(tid::absent(word));
  EXPECT_FALSE(tid::dead(word));
  EXPECT_TRUE(tid::absent(tid::committed(version, 2, true)));
  EXPECT_EQ(tid::version(tid::committed(version, 2, true)), version);
}

/// The number of writes of the record is part of a version's identity, as far as it is counted.
TEST(Tid, VersionsOfDifferentWriteCountsDiffer) {
  const std::uint64_t version = tid::first_of_epoch(7);
  for (std::uint64_t writes = 1; writes < tid::kMaxWrites; ++writes) {
    EXPECT_NE(tid::committed(version, writes, false), tid::committed(version, writes + 1, false));
    EXPECT_EQ(tid::version(tid::committed(version, writes, false)), version);
  }
  EXPECT_EQ(tid::committed(version, tid::kMaxWrites, false), tid::committed(version, 1000, false));
  EXPECT_EQ(tid::version(tid::committed(version, 1000, true)), version);
}

TEST(Tid, VersionsGrowWithTheEpochThenTheSequence) {
  EXPECT_GT(tid::first_of_epoch(8), tid::first_of_epoch(7) + 1000 * tid::kStep);
  EXPECT_GT(tid::first_of_epoch(7) + tid::kStep, tid::committed(tid::first_of_epoch(7), 15, true));
}

TEST(Tid, PlaceholdersAndLoadedRowsAreDistinguished) {
  EXPECT_TRUE(tid::absent(tid::kPlaceholder));
  EXPECT_EQ(tid::version(tid::kPlaceholder), 0U);
  EXPECT_FALSE(tid::absent(tid::kLoaded));
  EXPECT_EQ(tid::epoch(tid::kLoaded), 1U);
}

// ---- reading and writing a record ---------------------------------------------------------------

using Payload = std::array<std::uint64_t, 8>;

/// A record with space for its payload.
class RecordAndPayload {
 public:
  RecordAndPayload() { record_ = new (memory_.data()) Record<M>{}; }
  Record<M>& operator*() { return *record_; }

 private:
  alignas(16) std::array<std::byte, sizeof(Record<M>) + sizeof(Payload)> memory_{};
  Record<M>* record_;
};

TEST(Record, ReadGivesWhatWasWritten) {
  RecordAndPayload record;
  const Payload given{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(lock_record(*record), 0U);
  copy_to_record<M>((*record).payload(), given.data(), sizeof(given));
  unlock_record(*record, tid::kLoaded);
  Payload read{};
  EXPECT_EQ(read_stable(*record, read.data(), sizeof(read)), tid::kLoaded);
  EXPECT_EQ(read, given);
  Payload prefix{};
  (void)read_stable(*record, prefix.data(), 3 * sizeof(std::uint64_t));
  EXPECT_EQ(prefix, (Payload{1, 2, 3}));
}

TEST(Record, LockKeepsTheWordAndShows) {
  RecordAndPayload record;
  const std::uint64_t word = tid::committed(tid::first_of_epoch(7), 3, true);
  (*record).word.store(word, std::memory_order_relaxed);
  EXPECT_EQ(lock_record(*record), word);
  EXPECT_EQ((*record).word.peek(), word | tid::kLock);
  unlock_record(*record, word);
  EXPECT_EQ((*record).word.peek(), word);
}

#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kRounds = 2000;
#else
constexpr std::uint64_t kRounds = 100'000;
#endif

/// A copy is of one version, and comes with that version's word.
TEST(Record, CopiesAreOfOneVersion) {
  RecordAndPayload record;
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      Payload payload;
      payload.fill(round);
      lock_record(*record);
      copy_to_record<M>((*record).payload(), payload.data(), sizeof(payload));
      unlock_record(*record, round * tid::kStep);
    }
    over = true;
  });
  bool torn = false;
  std::uint64_t last = 0;
  while (!over) {
    Payload read{};
    const std::uint64_t version = read_stable(*record, read.data(), sizeof(read)) / tid::kStep;
    for (const std::uint64_t word : read) torn = torn || word != version;
    torn = torn || version < last;
    last = version;
  }
  writer.join();
  EXPECT_FALSE(torn);
}

TEST(Record, LockExcludes) {
  RecordAndPayload record;
  std::uint64_t counter = 0;  // plain: the test is that the lock orders the accesses
  const auto count = [&] {
    for (std::uint64_t round = 0; round < kRounds / 10; ++round) {
      const std::uint64_t word = lock_record(*record);
      ++counter;
      unlock_record(*record, word + tid::kStep);
    }
  };
  std::thread thread(count);
  count();
  thread.join();
  EXPECT_EQ(counter, kRounds / 10 * 2);
  EXPECT_EQ((*record).word.peek(), kRounds / 10 * 2 * tid::kStep);
}

}  // namespace
}  // namespace heddle
