#include "machine/pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(Pages, AreAlignedAndWhole) {
  for (const std::size_t bytes : {std::size_t{1}, Pages::kHugePage, Pages::kHugePage + 1}) {
    const Pages pages(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.start()) % Pages::kHugePage, 0U);
    EXPECT_GE(pages.bytes(), bytes);
    EXPECT_EQ(pages.bytes() % Pages::kHugePage, 0U);
    pages.start()[0] = std::byte{1};
    pages.start()[pages.bytes() - 1] = std::byte{1};
  }
}

TEST(Pages, AreGivenOutOnceEach) {
  Pages first(1);
  std::byte* const kept = first.start();
  Pages second(1);
  EXPECT_NE(second.start(), kept);
  first = Pages(1);  // the exchange returns the memory of `first`
  EXPECT_NE(first.start(), second.start());
  const Pages moved = std::move(second);
  EXPECT_NE(moved.start(), first.start());
}

TEST(Pages, ComeFromAndGoToAnyThread) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 20; ++round) {
        std::vector<Pages> held;
        for (int page = 0; page < 3; ++page) *held.emplace_back(1).start() = std::byte{1};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Pages, AreDistinguishedFromOtherMemory) {
  const std::byte* start = nullptr;
  {
    const Pages pages(2 * Pages::kHugePage);
    start = pages.start();
    EXPECT_TRUE(Pages::hold(start));
    EXPECT_TRUE(Pages::hold(start + pages.bytes() - 1));
  }
  EXPECT_FALSE(Pages::hold(start));
  EXPECT_FALSE(Pages::hold(&start)) << "the stack";
}

TEST(Pages, StandInTheOrderInWhichTheyWereGot) {
  Pages first(2 * Pages::kHugePage);
  const Pages second(1);
  EXPECT_LT(Pages::place(first.start()), Pages::place(first.start() + 1));
  EXPECT_EQ(Pages::place(first.start() + first.bytes() - 1) - Pages::place(first.start()),
            first.bytes() - 1);
  EXPECT_LT(Pages::place(first.start() + first.bytes() - 1), Pages::place(second.start()));

  const auto before = Pages::place(second.start());
  first = Pages(1);
  EXPECT_LT(before, Pages::place(first.start())) << "wherever the system has put it";
}

TEST(Pages, StandElsewhereWhenGotAgain) {
  std::byte* const start = Pages(1).start();  // kept for the next
  const Pages another(Pages::kHugePage + 1);
  const Pages again(1);
  ASSERT_EQ(again.start(), start);
  EXPECT_LT(Pages::place(another.start()), Pages::place(again.start()));
}

TEST(Pages, ThatAreReadyAreHadFirst) {
  constexpr std::size_t kPages = 5;
  Pages::make_ready(kPages * Pages::kHugePage);
  const auto before = Pages::bytes_had();
  std::vector<Pages> held;
  for (std::size_t page = 0; page < kPages; ++page) held.emplace_back(1);
  EXPECT_EQ(Pages::bytes_had() - before, kPages * Pages::kHugePage);
  for (const Pages& page : held) {
    std::array<unsigned char, Pages::kHugePage / 4096> resident{};
    ASSERT_EQ(mincore(page.start(), page.bytes(), resident.data()), 0);
    EXPECT_TRUE(std::ranges::all_of(resident, [](auto small) { return (small & 1) != 0; }));
  }
}

TEST(Pages, MoreThanAvailableIsRefused) {
  EXPECT_THROW(Pages(std::size_t{1} << 50), std::bad_alloc);
}

}  // namespace
}  // namespace heddle
