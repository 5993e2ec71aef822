#include "machine/timeline.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace heddle {
namespace {

constexpr std::uint16_t kBegins = 1;
constexpr std::uint16_t kGoesOn = 2;

TimelineEvent at(std::uint64_t time, std::uint16_t core, std::uint16_t what) {
  return {.time = time, .number = 0, .subject = 0, .core = core, .what = what};
}

TimelineEvent spin(std::uint64_t time, std::uint16_t core) {
  return {.time = time, .number = 10, .subject = 7, .core = core, .what = Timeline::kSpun};
}

std::vector<std::uint64_t> times(const Timeline& timeline) {
  std::vector<std::uint64_t> found;
  for (const TimelineEvent& event : timeline.events()) found.push_back(event.time);
  return found;
}

TEST(Timeline, KeepsWhatFitsAndCountsTheRest) {
  Timeline timeline(2, kBegins);
  timeline.open();
  for (std::uint64_t time = 0; time < 5; ++time) timeline.add(at(time, 0, kGoesOn));
  EXPECT_EQ(times(timeline), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(timeline.dropped(), 3U);
}

TEST(Timeline, OpensWithWhatIsGoingOnAndForgetsWhatWasOver) {
  Timeline timeline(100, kBegins);
  timeline.add(at(1, 0, kBegins));
  timeline.add(at(2, 1, kGoesOn));  // of something begun before anything was recorded
  timeline.add(at(3, 0, kGoesOn));
  timeline.add(at(4, 0, kBegins));
  timeline.add(at(5, 2, kBegins));
  timeline.add(at(6, 0, kGoesOn));
  timeline.open();
  timeline.add(at(7, 1, kBegins));
  EXPECT_EQ(times(timeline), (std::vector<std::uint64_t>{4, 5, 6, 7}));
  EXPECT_EQ(timeline.dropped(), 0U);
}

TEST(Timeline, DropsNothingBeforeItOpens) {
  Timeline timeline(4, kBegins);
  for (std::uint64_t time = 0; time < 100; ++time) timeline.add(at(time, time % 2, kBegins));
  timeline.open();
  EXPECT_EQ(times(timeline), (std::vector<std::uint64_t>{98, 99}));
  EXPECT_EQ(timeline.dropped(), 0U);
}

TEST(Timeline, HoldsNoMoreThanFitsOfWhatWasGoingOnWhenItOpened) {
  Timeline timeline(4, kBegins);
  for (std::uint16_t core = 0; core < 3; ++core) timeline.add(at(core, core, kBegins));
  for (std::uint64_t time = 3; time < 9; ++time) timeline.add(at(time, time % 3, kGoesOn));
  timeline.open();
  EXPECT_EQ(times(timeline), (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(timeline.dropped(), 5U);
  timeline.add_spin(spin(9, 1), false);  // its core's last event has been dropped
  EXPECT_EQ(timeline.events().size(), 4U);
}

TEST(Timeline, ASpinningWaitIsOneEvent) {
  Timeline timeline(100, kBegins);
  timeline.open();
  timeline.add_spin(spin(100, 0), true);
  timeline.add(at(105, 1, kGoesOn));
  timeline.add_spin(spin(115, 0), false);
  timeline.add_spin(spin(130, 0), false);
  timeline.add_spin(spin(150, 0), true);
  ASSERT_EQ(times(timeline), (std::vector<std::uint64_t>{100, 105, 150}));
  EXPECT_EQ(timeline.events().front().number, 40U) << "from 100 to 140";
  EXPECT_EQ(timeline.events().back().number, 10U);
}

TEST(Timeline, ASpinBeyondTheLimitIsDroppedAndChangesNoOtherEvent) {
  Timeline timeline(1, kBegins);
  timeline.open();
  timeline.add_spin(spin(100, 0), true);
  timeline.add(at(120, 0, kGoesOn));
  for (const std::uint64_t time : {500, 510, 520}) timeline.add_spin(spin(time, 0), time == 500);
  ASSERT_EQ(timeline.events().size(), 1U);
  EXPECT_EQ(timeline.events().front().number, 10U);
  EXPECT_EQ(timeline.dropped(), 2U);
  EXPECT_TRUE(timeline.full());
}

TEST(Timeline, ASpinInProgressAtTheOpeningStartsOver) {
  Timeline timeline(100, kBegins);
  timeline.add_spin(spin(100, 0), true);
  timeline.open();
  timeline.add_spin(spin(115, 0), false);
  EXPECT_EQ(times(timeline), (std::vector<std::uint64_t>{115}));
}

}  // namespace
}  // namespace heddle
