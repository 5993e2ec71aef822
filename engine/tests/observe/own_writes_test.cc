#include "observe/own_writes.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "observe/history.h"

namespace heddle::check {
namespace {

Operation write_of(std::uint8_t table, std::uint64_t key) {
  Operation write;
  write.kind = Kind::write;
  write.table = table;
  write.key = key;
  return write;
}

using Seen = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

TEST(OwnWrites, AreSeenLatestFirstWithTheirEntries) {
  std::vector<Operation> log{write_of(1, 10), write_of(1, 20), write_of(2, 30)};
  OwnWrites writes;
  writes.add(log[0], 7);
  writes.add(log[1], OwnWrites::kNoEntry);
  writes.add(log[2], 0);
  Seen seen;
  writes.look_through([&](const Operation& write, std::uint32_t entry) {
    seen.emplace_back(write.key, entry);
    return true;
  });
  EXPECT_EQ(seen, (Seen{{30, 0}, {20, OwnWrites::kNoEntry}, {10, 7}}));

  seen.clear();
  writes.look_through([&](const Operation& write, std::uint32_t entry) {
    seen.emplace_back(write.key, entry);
    return false;
  });
  EXPECT_EQ(seen, (Seen{{30, 0}})) << "continued after the visitor had returned false";
}

TEST(OwnWrites, AreSettledWithNothingOfTheListLeftInThem) {
  std::vector<Operation> log{write_of(1, 10), write_of(1, 20)};
  OwnWrites writes;
  writes.add(log[0], 3);
  writes.add(log[1], 4);
  Seen seen;
  writes.settle([&](Operation& write, std::uint32_t entry) {
    EXPECT_EQ(write.version, 0U);
    EXPECT_EQ(write.place, 0U);
    write.version = write.place = 99;  // as set at the end of the attempt
    seen.emplace_back(write.key, entry);
  });
  EXPECT_EQ(seen, (Seen{{20, 4}, {10, 3}}));
}

TEST(OwnWrites, AreFoundByTheSpanOfTheirTable) {
  std::vector<Operation> log{write_of(1, 10), write_of(1, 20), write_of(2, 30), write_of(1, 5)};
  OwnWrites writes;
  EXPECT_FALSE(writes.may_be_between(1, 0, 100));
  writes.add(log[0], 0);
  writes.add(log[1], 1);
  writes.add(log[2], 2);
  EXPECT_TRUE(writes.may_be_between(1, 20, 25));
  EXPECT_TRUE(writes.may_be_between(1, 12, 13)) << "it may";
  EXPECT_FALSE(writes.may_be_between(1, 21, 100));
  EXPECT_FALSE(writes.may_be_between(1, 0, 9));
  EXPECT_TRUE(writes.may_be_between(2, 30, 30));
  EXPECT_FALSE(writes.may_be_between(3, 0, 100));
  writes.add(log[3], 3);
  EXPECT_TRUE(writes.may_be_between(1, 0, 9)) << "one written since it was last asked";
}

TEST(OwnWrites, OfAnotherAttemptAreForgotten) {
  std::vector<Operation> log{write_of(1, 10), write_of(1, 50)};
  OwnWrites writes;
  writes.add(log[0], 0);
  EXPECT_TRUE(writes.may_be_between(1, 10, 10));
  writes.clear();
  EXPECT_FALSE(writes.may_be_between(1, 10, 10));
  writes.add(log[1], 0);
  EXPECT_FALSE(writes.may_be_between(1, 10, 10));
  EXPECT_TRUE(writes.may_be_between(1, 50, 50));
}

}  // namespace
}  // namespace heddle::check
