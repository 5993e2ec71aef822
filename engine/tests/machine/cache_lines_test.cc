#include "machine/cache_lines.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace heddle {
namespace {

using enum CacheLines::Access;

/// Distinct costs, in ticks.
CostModel distinct_costs() {
  CostModel model;
  model.cores_per_socket = 2;
  model.shared_hit_ns = 10;
  model.memory_ns = 100;
  model.stream_ns = 100;  // no cheaper than any other line
  model.transfer_ns = 30;
  model.far_transfer_ns = 70;
  model.atomic_ns = 5;
  model.private_lines = 4;
  model.shared_lines = 16;
  return model;
}

class Lines : public testing::Test {
 protected:
  static constexpr int kNear = 1;  // in the socket of core 0
  static constexpr int kFar = 2;

  struct alignas(64) Memory {
    std::array<std::byte, 64> bytes;
  };

  CacheLines::Ticks cost_at(CacheLines::Ticks now, int core, CacheLines::Access access) {
    return lines_.cost(core, &memory_[0], access, now);
  }
  /// Long after any earlier access.
  CacheLines::Ticks cost(int core, std::size_t line, CacheLines::Access access) {
    now_ += 1'000'000;
    return lines_.cost(core, &memory_[line], access, now_);
  }

  std::vector<Memory> memory_{64};
  /// A database far larger than the shared cache: untouched lines are in memory.
  static constexpr std::size_t kHuge = std::size_t{1} << 40;
  CacheLines lines_{distinct_costs(), 4, 1.0, kHuge};
  CacheLines::Ticks now_ = 0;
};

TEST_F(Lines, TheFirstTouchComesFromMemoryTheNextFromTheOwnCache) {
  EXPECT_EQ(cost(0, 0, load), 100U);
  EXPECT_EQ(cost(0, 0, load), 0U);
}

TEST_F(Lines, AddressesOfOneLineAreOneLine) {
  (void)lines_.cost(0, memory_[0].bytes.data(), load, 0);
  EXPECT_EQ(lines_.cost(0, memory_[0].bytes.data() + 63, load, 1000), 0U);
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(Lines, WhatTheSocketHasReadIsInItsSharedCache) {
  (void)cost(0, 0, load);
  EXPECT_EQ(cost(kNear, 0, load), 30U) << "the first reader has it alone, and gives it";
  for (std::size_t line = 4; line < 8; ++line) (void)cost(kNear, line, load);
  EXPECT_EQ(cost(kNear, 0, load), 10U) << "it has left the core's own cache";
  EXPECT_EQ(cost(kFar, 0, load), 100U) << "the other socket has a cache of its own";
}

TEST_F(Lines, ASoleReaderOfALineMayWriteIt) {
  (void)cost(0, 0, load);
  EXPECT_EQ(cost(0, 0, exchange), 5U);
}

TEST_F(Lines, ALineThatItsOwnerHasEvictedIsNotInAnotherCoresCache) {
  (void)cost(0, 0, store);
  for (std::size_t line = 4; line < 8; ++line) (void)cost(0, line, load);
  EXPECT_EQ(cost(kNear, 0, load), 10U);
}

/// A core that has touched a line recently need not look it up, and must notice every later change.
TEST_F(Lines, WhatOthersDoToALineThatWasTouchedOfLateIsNoticed) {
  (void)cost(0, 0, store);
  (void)cost(0, 0, exchange);
  (void)cost(kNear, 0, load);
  EXPECT_EQ(cost(0, 0, load), 0U);
  EXPECT_EQ(cost(0, 0, store), 0U) << "the store buffer's; but it has taken the line away";
  EXPECT_EQ(cost(kNear, 0, load), 30U);
  (void)cost(kFar, 0, exchange);
  EXPECT_EQ(cost(0, 0, load), 70U);
  EXPECT_EQ(cost(kNear, 0, load), 10U) << "from the socket's cache, where that load has put it";
}

TEST(LinesFarApart, ShareAPlaceAmongTheRecentOnesAndAreBothKept) {
  constexpr std::size_t kApart = CacheLines::kRecent;
  CostModel costs = distinct_costs();
  costs.private_lines = 4096;
  CacheLines lines(costs, 70, 1.0, std::size_t{1} << 40);
  const std::vector<std::array<std::byte, 64>> memory(2 * kApart);
  (void)lines.cost(0, &memory[1], load, 0);  // the first line of all is in the shared cache
  for (int core = 0; core < 70; ++core) {
    for (int round = 0; round < 3; ++round) {
      const CacheLines::Ticks now = 1'000'000 * static_cast<CacheLines::Ticks>(3 * core + round);
      const auto one = lines.cost(core, &memory[0], load, now);
      const auto other = lines.cost(core, &memory[kApart], load, now);
      EXPECT_EQ(one, other);
      EXPECT_EQ(one == 0, round > 0) << "core " << core;
    }
  }
  EXPECT_EQ(lines.cost(69, &memory[0], exchange, 1'000'000'000), 70U + 5U);
  for (int core = 0; core < 69; ++core) {
    EXPECT_GT(lines.cost(core, &memory[0], load, 2'000'000'000), 0U) << "core " << core;
    EXPECT_EQ(lines.cost(core, &memory[kApart], load, 2'000'000'000), 0U);
  }
}

/// CacheLines according to its description, without optimisations.
class PlainLines {
 public:
  using Ticks = CacheLines::Ticks;

  PlainLines(const CostModel& model, int cores)
      : model_(model),
        own_(static_cast<std::size_t>(cores), Cache(model.private_lines)),
        common_(static_cast<std::size_t>(cores / model.cores_per_socket),
                Cache(model.shared_lines)) {}

  Ticks cost(int core, const void* address, CacheLines::Access access, Ticks now) {
    const auto place = reinterpret_cast<std::uintptr_t>(address) / CacheLines::kLineBytes;
    Line& line = lines_.try_emplace(place, Line{.number = lines_.size()}).first->second;
    const bool alone = line.owner == core && line.readers.empty();
    const bool mine = own(core).holds(line);
    if (mine && (access == load || alone)) return access == exchange ? ns(model_.atomic_ns) : 0;

    Ticks latency = 0;
    if (mine) {
      latency = ns(model_.shared_hit_ns);
      for (const int other : having(line)) {
        if (other != core) latency = std::max(latency, transfer(core, other));
      }
    } else if (line.owner >= 0 && line.owner != core && line.readers.empty() &&
               own(line.owner).holds(line)) {
      latency = transfer(core, line.owner);
      if (access == load) line.readers.insert(line.owner);
    } else {
      latency = ns(common(core).holds(line) ? model_.shared_hit_ns : model_.memory_ns);
    }
    const Ticks arrival = std::max(now, line.arrives) + latency;
    if (access != load) {
      for (const int other : having(line)) own(other).drop(line);
      ++line.writes;
      line.readers.clear();
      line.owner = core;
      line.arrives = arrival;
    } else if (line.readers.empty()) {
      line.owner = core;
    } else {
      line.readers.insert(core);
    }
    own(core).keep(line);
    common(core).keep(line);
    if (access == store) return 0;
    return arrival - now + (access == exchange ? ns(model_.atomic_ns) : 0);
  }

 private:
  struct Line {
    std::size_t number = 0;
    std::size_t writes = 0;
    int owner = -1;
    std::set<int> readers = {};  // while it is shared
    Ticks arrives = 0;
  };
  class Cache {
   public:
    explicit Cache(std::size_t lines) : held_(lines, {kNothing, 0}) {}
    [[nodiscard]] bool holds(const Line& line) const {
      return held_[line.number % held_.size()] == std::pair(line.number, line.writes);
    }
    void keep(const Line& line) { held_[line.number % held_.size()] = {line.number, line.writes}; }
    void drop(const Line& line) {
      if (holds(line)) held_[line.number % held_.size()] = {kNothing, 0};
    }

   private:
    static constexpr std::size_t kNothing = ~std::size_t{0};
    std::vector<std::pair<std::size_t, std::size_t>> held_;
  };

  static Ticks ns(double time) { return static_cast<Ticks>(time); }
  Cache& own(int core) { return own_[static_cast<std::size_t>(core)]; }
  Cache& common(int core) {
    return common_[static_cast<std::size_t>(core / model_.cores_per_socket)];
  }
  [[nodiscard]] Ticks transfer(int core, int other) const {
    const bool near = core / model_.cores_per_socket == other / model_.cores_per_socket;
    return ns(near ? model_.transfer_ns : model_.far_transfer_ns);
  }
  std::vector<int> having(const Line& line) {
    std::vector<int> found;
    for (int core = 0; core < static_cast<int>(own_.size()); ++core) {
      if (own(core).holds(line)) found.push_back(core);
    }
    return found;
  }

  CostModel model_;
  std::vector<Cache> own_;
  std::vector<Cache> common_;
  std::map<std::uintptr_t, Line> lines_;
};

TEST(LinesAtRandom, CostWhatTheyWouldWithoutAShortCut) {
  constexpr int kCores = 6;
  constexpr std::size_t kHot = 40;
  CostModel costs = distinct_costs();
  costs.private_lines = 512;
  costs.shared_lines = 1024;
  CacheLines lines(costs, kCores, 1.0, std::size_t{1} << 60);
  PlainLines plain(costs, kCores);
  struct alignas(64) Memory {
    std::array<std::byte, 64> bytes;
  };
  const std::vector<Memory> memory(3 * CacheLines::kRecent);
  std::mt19937_64 random(7);
  CacheLines::Ticks now = 0;
  for (int step = 0; step < 300'000; ++step) {
    now += random() % 40;
    const int core = static_cast<int>(random() % kCores);
    const std::size_t line = random() % (random() % 2 == 0 ? kHot : memory.size());
    const std::uint64_t draw = random() % 10;
    const CacheLines::Access access = draw < 7 ? load : draw < 9 ? store : exchange;
    const void* const address = &memory[line];
    ASSERT_EQ(lines.cost(core, address, access, now), plain.cost(core, address, access, now))
        << "step " << step << ", core " << core << ", line " << line;
  }
}

TEST_F(Lines, AWrittenLineComesOutOfItsWritersCache) {
  (void)cost(0, 0, store);
  EXPECT_EQ(cost(0, 0, store), 0U) << "it is the writer's until another core reads it";
  EXPECT_EQ(cost(kNear, 0, load), 30U);
  EXPECT_EQ(cost(kNear, 0, load), 0U);
  (void)cost(0, 1, store);
  EXPECT_EQ(cost(kFar, 1, load), 70U);
}

TEST_F(Lines, AWriteTakesTheLineAwayFromItsReaders) {
  (void)cost(0, 0, store);
  (void)cost(kNear, 0, load);
  EXPECT_EQ(cost(0, 0, load), 0U) << "reading is no reason to lose it";
  EXPECT_EQ(cost(0, 0, exchange), 30U + 5U) << "the reader's copy must be invalidated";
  EXPECT_EQ(cost(kNear, 0, load), 30U);
}

TEST_F(Lines, AnAtomicCostsMoreThanAStore) {
  (void)cost(0, 0, store);
  EXPECT_EQ(cost(0, 0, exchange), 5U);
}

TEST_F(Lines, WritersOfOneLineTakeTurns) {
  (void)cost_at(0, 0, exchange);
  EXPECT_EQ(cost_at(1000, kNear, exchange), 30U + 5U);
  EXPECT_EQ(cost_at(1010, 0, exchange), 20U + 30U + 5U)
      << "the line arrives at 1030, and only then leaves";
}

TEST_F(Lines, AStoreContinuesWhileTheLineIsInFlight) {
  (void)cost_at(0, kNear, store);
  EXPECT_EQ(cost_at(1000, 0, store), 0U);
  EXPECT_EQ(lines_.drain(0, 1010), 20U) << "a locked instruction waits for it";
  EXPECT_EQ(cost_at(1010, kNear, load), 20U + 30U) << "and so does a reader of it";
  EXPECT_EQ(lines_.drain(0, 1030), 0U);
}

TEST_F(Lines, ACacheHasAFixedNumberOfLines) {
  for (std::size_t line = 0; line < 5; ++line) (void)cost(0, line, load);
  EXPECT_EQ(cost(0, 4, load), 0U);
  EXPECT_EQ(cost(0, 0, load), 10U) << "the fifth line took its place; the shared cache has it";
  for (std::size_t line = 5; line < 20; ++line) (void)cost(0, line, load);
  EXPECT_EQ(cost(0, 1, load), 100U);
}

class FetchedLines : public Lines {
 protected:
  static CostModel fetching(int fetches) {
    CostModel model = distinct_costs();
    model.private_lines = 16;
    model.fetches = fetches;
    return model;
  }
  CacheLines::Ticks use(CacheLines& lines, std::size_t line, CacheLines::Ticks now) const {
    return lines.cost(0, &memory_[line], load, now);
  }
};

TEST_F(FetchedLines, AreWaitedForAsLongAsTheyAreStillOnTheirWay) {
  CacheLines lines(fetching(8), 4, 1.0, kHuge);
  for (std::size_t line = 0; line < 3; ++line) lines.fetch_ahead(0, &memory_[line], 1000);
  EXPECT_EQ(use(lines, 0, 1030), 70U);
  EXPECT_EQ(use(lines, 0, 1030), 0U) << "it has been waited for";
  EXPECT_EQ(use(lines, 1, 1100), 0U);
  EXPECT_EQ(lines.cost(0, &memory_[2], exchange, 1090), 10U + 5U);
}

TEST_F(FetchedLines, AreBoundedInFlight) {
  CacheLines lines(fetching(2), 4, 1.0, kHuge);
  for (std::size_t line = 0; line < 5; ++line) lines.fetch_ahead(0, &memory_[line], 1000);
  lines.fetch_ahead(1, &memory_[40], 1000);
  EXPECT_EQ(use(lines, 0, 1000), 100U);
  EXPECT_EQ(use(lines, 1, 1000), 100U);
  EXPECT_EQ(use(lines, 2, 1000), 200U);
  EXPECT_EQ(use(lines, 4, 1000), 300U);
  EXPECT_EQ(lines.cost(1, &memory_[40], load, 1000), 100U) << "another core's";
}

TEST_F(FetchedLines, AreFetchedAgainWhereAnotherCoreHasWrittenThemMeanwhile) {
  CacheLines lines(fetching(8), 4, 1.0, kHuge);
  lines.fetch_ahead(0, &memory_[0], 1000);
  (void)lines.cost(kNear, &memory_[0], exchange, 5000);
  EXPECT_EQ(use(lines, 0, 1'000'000), 30U);
}

TEST_F(FetchedLines, AreWaitedForAlsoWhereTheCoreHadThemShortlyBefore) {
  CacheLines lines(fetching(8), 4, 1.0, kHuge);
  (void)use(lines, 0, 1000);
  for (std::size_t line = 1; line < 64; ++line) (void)use(lines, line, 2000);
  const std::vector<Memory> more(64);
  for (const Memory& one : more) (void)lines.cost(0, &one, load, 3000);
  lines.fetch_ahead(0, &memory_[0], 5000);
  EXPECT_GT(use(lines, 0, 5001), 0U);
}

TEST_F(FetchedLines, AreNoneWhereTheModelFetchesNone) {
  CacheLines lines(fetching(0), 4, 1.0, kHuge);
  lines.fetch_ahead(0, &memory_[0], 1000);
  EXPECT_EQ(use(lines, 0, 9000), 100U);
}

TEST(LinesInARow, AreCheapToReadWithinAPage) {
  const Pages memory(Pages::kHugePage);
  CostModel costs = distinct_costs();
  costs.stream_ns = 3;
  CacheLines lines(costs, 2, 1.0, std::size_t{1} << 40);
  const auto read = [&](int core, std::size_t line) {
    return lines.cost(core, memory.start() + 64 * line, load, 0);
  };
  EXPECT_EQ(read(0, 10), 100U);
  EXPECT_EQ(read(0, 11), 3U);
  EXPECT_EQ(read(0, 40), 100U) << "not in a row";
  EXPECT_EQ(read(0, 12), 3U) << "it continues with the first row";
  EXPECT_EQ(read(1, 13), 100U) << "another core's row";
  lines.read_on(1, memory.start() + 64 * 20);
  EXPECT_EQ(read(1, 21), 3U);
  EXPECT_EQ(read(0, 62), 100U);
  EXPECT_EQ(read(0, 63), 3U);
  EXPECT_EQ(read(0, 64), 100U) << "the next page is not fetched ahead";
}

TEST(LinesOfASmallDatabase, AreInTheSharedCacheFromTheStart) {
  std::array<std::byte, 64> memory{};
  const CostModel costs = distinct_costs();
  CacheLines lines(costs, 1, 1.0, costs.shared_lines + costs.private_lines);
  EXPECT_EQ(lines.cost(0, memory.data(), load, 0), 10U);
}

/// The placement of memory must not matter; otherwise no run could be repeated.
TEST(LinesAnywhere, AreNumberedAsTheyAreTouched) {
  struct alignas(64) Memory {
    std::array<std::byte, 64> bytes;
  };
  const auto block = std::make_unique<std::array<Memory, 300'000>>();
  CacheLines upwards(distinct_costs(), 1, 1.0, 0);
  CacheLines downwards(distinct_costs(), 1, 1.0, 0);
  for (std::size_t i = 0; i < block->size(); ++i) {
    EXPECT_EQ(upwards.number_of(&(*block)[i]), i);
    EXPECT_EQ(downwards.number_of(&(*block)[block->size() - 1 - i]), i);
  }
  EXPECT_EQ(upwards.number_of(&(*block)[17]), 17U) << "also after the table has grown";
}

}  // namespace
}  // namespace heddle
