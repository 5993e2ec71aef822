#include "driver/process_copy.h"

#include <atomic>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session.h"

/// Work in a copy of the process. Runs in a copy are tested in copied_run_test.cc.
namespace heddle {
namespace {

using namespace std::chrono_literals;

const auto kNever = [] { return false; };
constexpr CopyPatience kBriefly{.step_s = 0.2, .finish_s = 0.2};

[[noreturn]] void spin() {
  for (std::atomic<int> turns = 0;; turns.fetch_add(1, std::memory_order_relaxed)) {
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

TEST(CopyOfProcess, IsStuckIfItSleepsAndDoesNotStep) {
  const auto work = [](CopyProgress& progress) -> std::string {
    (void)progress.step();
    std::this_thread::sleep_for(1h);
    return "late";
  };
  EXPECT_THROW((void)in_copy_of_process(work, kBriefly, kNever), StuckError);
}

/// Keeps every processor busy, each with several threads, as long as it lives.
class Crowd {
 public:
  Crowd() {
    for (unsigned i = 0; i < 8 * std::thread::hardware_concurrency(); ++i) {
      threads_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
        }
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

TEST(CopyOfProcess, IsNotStuckIfItOnlyHasToWaitForAProcessor) {
  const Crowd crowd;
  // It needs half of its limit of processor time, and so several times as much wall-clock time.
  const auto work = [](CopyProgress& progress) -> std::string {
    (void)progress.step();
    for (const auto begin = std::clock(); std::clock() - begin < CLOCKS_PER_SEC / 10;) {
    }
    (void)progress.step();
    return "well";
  };
  EXPECT_EQ(in_copy_of_process(work, kBriefly, kNever), "well");
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
