#include "driver/process_copy.h"

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "driver/session.h"

/// Work in a copy of the process, by itself. What runs do there is in copied_run_test.cc.
namespace heddle {
namespace {

using namespace std::chrono_literals;

const auto kNever = [] { return false; };
constexpr CopyPatience kBriefly{.step_s = 0.2, .finish_s = 0.2};

[[noreturn]] void spin() {
  for (volatile int turns = 0;; turns = 0) {
  }
}

TEST(CopyOfProcess, GivesItsAnswerAndLeavesMemoryAsItWas) {
  int here = 1;
  const auto work = [&here](CopyProgress&) { return std::to_string(++here); };
  EXPECT_EQ(in_copy_of_process(work, {}, kNever), "2");
  EXPECT_EQ(in_copy_of_process(work, {}, kNever), "2");
  EXPECT_EQ(here, 1);
}

TEST(CopyOfProcess, ThrowsWhatItsWorkThrew) {
  const auto work = [](CopyProgress&) -> std::string { throw std::invalid_argument("culprit"); };
  EXPECT_THROW((void)in_copy_of_process(work, {}, kNever), std::invalid_argument);
}

TEST(CopyOfProcess, IsStuckIfItUsesTheProcessorAndDoesNotStep) {
  const auto work = [](CopyProgress& progress) -> std::string {
    (void)progress.step();
    spin();
  };
  try {
    (void)in_copy_of_process(work, kBriefly, kNever);
    FAIL() << "it answered";
  } catch (const CopyLostError&) {
    FAIL() << "it ended";
  } catch (const StuckError& error) {
    EXPECT_NE(std::string(error.what()).find("virtual time has stopped"), std::string::npos);
  }
}

TEST(CopyOfProcess, IsNotStuckIfItOnlyHasToWaitForAProcessor) {
  const auto work = [](CopyProgress& progress) -> std::string {
    (void)progress.step();
    std::this_thread::sleep_for(1s);  // as one that others keep from running
    (void)progress.step();
    return "late";
  };
  EXPECT_EQ(in_copy_of_process(work, kBriefly, kNever), "late");
}

TEST(CopyOfProcess, IsLostIfItDoesNotAnswerInTime) {
  const auto work = [](CopyProgress& progress) -> std::string {
    (void)progress.finish();
    spin();
  };
  EXPECT_THROW((void)in_copy_of_process(work, kBriefly, kNever), CopyLostError);
}

}  // namespace
}  // namespace heddle
