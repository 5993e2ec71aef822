#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "program_file.h"
#include "workload/replay/rotation.h"

namespace heddle::replay {
namespace {

using test::ProgramFile;

constexpr std::uint32_t kSessions = 20;

/// Twenty sessions of one to four transactions, which take turns.
ProgramFile some_sessions(std::uint32_t sessions = kSessions) {
  std::vector<ProgramFile::Transaction> day;
  for (std::uint32_t i = 0; i < 4 * sessions; ++i) {
    const std::uint32_t session = i % sessions;
    if (i / sessions <= session % 4) day.push_back({session, 0, {{0, 0}}});
  }
  return {R"("tables": [{"name": "goods", "rows": 1}],
             "types": [{"name": "look", "accesses": [
               {"name": "look", "table": 0, "kind": "read"}]}])",
          sessions,
          day,
          {0}};
}

/// Follows the workers: the holder of each session, and how often it was replayed.
class Followed {
 public:
  Followed(const Program& program, int workers)
      : program_(program),
        rotation_(program, workers),
        last_(program.sessions(), -1),
        rounds_(program.sessions()),
        holds_(static_cast<std::size_t>(workers), program.sessions()) {}

  void step(int worker) {
    const Turn turn = rotation_.next(worker);
    const std::uint32_t session = program_.session(turn.transaction);
    std::size_t& held = holds_[static_cast<std::size_t>(worker)];
    if (held != session) {
      ASSERT_EQ(std::count(holds_.begin(), holds_.end(), session), 0) << "two hold " << session;
      held = session;
    }
    const auto transaction = static_cast<std::int64_t>(turn.transaction);
    if (turn.round == rounds_[session] + 1) {
      rounds_[session] = turn.round;
    } else {
      ASSERT_EQ(turn.round, rounds_[session]);
      ASSERT_GT(transaction, last_[session]) << "out of the recorded order";
    }
    last_[session] = transaction;
  }

  [[nodiscard]] const std::vector<std::uint32_t>& rounds() const { return rounds_; }
  [[nodiscard]] std::size_t held_by(int worker) const {
    return holds_[static_cast<std::size_t>(worker)];
  }

 private:
  const Program& program_;
  Rotation rotation_;
  std::vector<std::int64_t> last_;
  std::vector<std::uint32_t> rounds_;
  std::vector<std::size_t> holds_;
};

TEST(Rotation, SessionsComeRoundEquallyOftenHoweverFastTheirWorkersAre) {
  const ProgramFile file = some_sessions(200);
  const Program program(file.path());
  Followed followed(program, 3);
  for (int step = 0; step < 200000; ++step) {
    followed.step(0);
    if (step % 7 == 0) followed.step(1);
    if (step % 25 == 0) followed.step(2);
  }
  const auto [least, most] =
      std::minmax_element(followed.rounds().begin(), followed.rounds().end());
  EXPECT_GT(*least, 300U);
  EXPECT_LE(*most - *least, *most / 20);
}

TEST(Rotation, ASessionThatIsHeldStaysWithItsWorkerAndTheOthersGoOn) {
  const ProgramFile file = some_sessions();
  const Program program(file.path());
  Followed followed(program, 2);
  followed.step(1);
  const std::size_t held = followed.held_by(1);
  for (int step = 0; step < 5000; ++step) followed.step(0);
  ASSERT_LT(held, kSessions);
  for (std::size_t session = 0; session < kSessions; ++session) {
    if (session == held) {
      EXPECT_EQ(followed.rounds()[session], 0U);
    } else {
      EXPECT_GT(followed.rounds()[session], 90U);
    }
  }
  for (int step = 0; step < 4; ++step) followed.step(1);
  EXPECT_NE(followed.held_by(1), held) << "it is laid down once it is through";
}

TEST(Rotation, WithAsManyWorkersAsSessionsEachKeepsItsOwn) {
  const ProgramFile file = some_sessions(4);
  const Program program(file.path());
  Followed followed(program, 4);
  for (int step = 0; step < 100; ++step) {
    for (int worker = 0; worker < 4; ++worker) {
      followed.step(worker);
      EXPECT_EQ(followed.held_by(worker), static_cast<std::size_t>(worker));
    }
  }
  EXPECT_THROW(Rotation(program, 5), std::invalid_argument);
}

TEST(Rotation, NoSessionIsTwoThreadsAtOnce) {
  constexpr int kWorkers = 4;
  const ProgramFile file = some_sessions(6);
  const Program program(file.path());
  const Rotation rotation(program, kWorkers);
  std::vector<std::atomic<int>> holder(program.sessions());
  std::atomic<int> clashes{0};
  const auto work = [&](int worker) {
    std::size_t held = program.sessions();
    for (int step = 0; step < 20000; ++step) {
      // Released before the next turn is requested: another worker may take it at once.
      if (held != program.sessions()) holder[held].store(0);
      held = program.session(rotation.next(worker).transaction);
      if (holder[held].exchange(worker + 1) != 0) ++clashes;
    }
    holder[held].store(0);
  };
  {
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < kWorkers; ++worker) threads.emplace_back(work, worker);
  }
  EXPECT_EQ(clashes.load(), 0);
}

}  // namespace
}  // namespace heddle::replay
