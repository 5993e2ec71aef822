#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session_runs.h"
#include "driver/workload_database.h"
#include "machine/threads.h"
#include "model/options.h"
#include "model/random.h"
#include "storage/hash_index.h"
#include "storage/table.h"

/// Sessions of a workload that misbehaves, and records its inputs.
namespace heddle {
namespace {

/// The behaviour of the workload below, and what it recorded.
struct Stage {
  static constexpr std::size_t kDrawsKept = 8;

  std::atomic<bool> hangs{false};
  std::atomic<bool> released{false};
  std::atomic<int> hanging{0};
  std::mutex mutex;
  std::vector<std::vector<std::uint64_t>> draws;  // by worker, its first

  static Stage& get() {
    static Stage stage;
    return stage;
  }
  void reset() {
    hangs = false;
    released = false;
    draws.clear();
  }
};

/// Every transaction updates the same row; on command, one hangs while it holds the row.
template <class M>
class Hanging {
 public:
  struct Options {
    static Options parse(const OptionMap&) { return {}; }
  };
  struct Input {};
  static constexpr std::string_view kName = "hanging";

  static Signature signature(const Options&) {
    return {.workload = "hanging",
            .types = {{"touch", {{"row", "ROW", AccessKind::read_modify_write, false}}}}};
  }
  static std::vector<std::string> type_names(const Options&) { return {"touch"}; }

  Hanging(Storage<M>& storage, const Options&) : row_(storage, "ROW", 1) { row_.skip_snapshots(); }
  void load(std::uint64_t) { row_.load(make_key(0), {0}); }

  void generate(Random& random, int worker, int workers, std::uint64_t, Input&) const {
    Stage& stage = Stage::get();
    const std::lock_guard lock(stage.mutex);
    stage.draws.resize(static_cast<std::size_t>(workers));
    auto& own = stage.draws[static_cast<std::size_t>(worker)];
    if (own.size() < Stage::kDrawsKept) own.push_back(random.next());
  }
  static int type_of(const Input&) { return 0; }
  [[nodiscard]] static bool is_snapshot(int) { return false; }

  template <class Txn>
  Outcome execute(Txn& txn, const Input&) {
    const auto row = txn.read(0, row_, make_key(0));
    if (!row) return txn.stop();
    if (!txn.update(0, row_, row, [](Value& value) { ++value.number; })) return txn.stop();
    Stage& stage = Stage::get();
    if (!stage.hangs.exchange(false)) return Outcome::commit;
    stage.hanging.fetch_add(1);
    while (!stage.released.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stage.hanging.fetch_sub(1);
    return Outcome::commit;
  }
  template <class Txn>
  Outcome query(Txn&, const Input&) {
    return Outcome::rollback;
  }
  [[nodiscard]] static std::vector<std::string> check() { return {}; }

 private:
  struct Value {
    std::int64_t number;
  };
  Table<M, Key1, Value, HashIndex> row_;
};

std::unique_ptr<Session> open_hanging() {
  using M = ThreadsMachine;
  using Compiled = Registry<Silo, TwoPhaseLocking>;
  return make_session<M>(
      std::make_shared<WorkloadDatabase<M, Hanging<M>, Compiled>>(OptionMap{}, 2), {}, 2, 1, {});
}

/// The text of the StuckError a run ends in.
std::string stuck(Session& session, const RunOptions& options) {
  try {
    (void)session_runs::run(session, options);
  } catch (const StuckError& error) {
    return error.what();
  }
  return "the run ended well";
}

TEST(SessionWatchdog, ReportsTheStuckWorkerAndTheWaits) {
  Stage::get().reset();
  const auto session = open_hanging();
  Stage::get().hangs = true;
  std::thread rescuer([] {
    while (Stage::get().hanging.load() == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    Stage::get().released = true;
  });
  const std::string text =
      stuck(*session, {.protocol = "two_phase_locking", .seconds = 60, .watchdog_s = 0.3});
  rescuer.join();
  EXPECT_EQ(text.find("a worker made no progress for 0.3"), 0u) << text;
  EXPECT_NE(text.find("worker 0: "), std::string::npos) << text;
  EXPECT_NE(text.find("worker 1: "), std::string::npos) << text;
  EXPECT_NE(text.find(", waits for worker "), std::string::npos) << text;
  EXPECT_EQ(text.find("did not leave"), std::string::npos) << text;

  // It left in the end, so the session works again.
  EXPECT_GT(session_runs::run_until(session_runs::has_commits, *session,
                                    {.seconds = 0.05, .watchdog_s = 5})
                .commits,
            0u);
}

TEST(SessionWatchdog, GivesUpASessionWhoseWorkerNeverLeaves) {
  Stage::get().reset();
  const auto session = open_hanging();
  Stage::get().hangs = true;
  const std::string text = stuck(*session, {.seconds = 60, .watchdog_s = 0.2});
  EXPECT_NE(text.find("it did not leave when it was asked to stop; the session is abandoned"),
            std::string::npos)
      << text;
  const std::string unusable = "this session has a stuck worker; open a new one";
  EXPECT_EQ(stuck(*session, {.seconds = 0.05}), unusable);
  EXPECT_THROW((void)session->check(), StuckError);
  Stage::get().released = true;
  while (Stage::get().hanging.load() != 0) std::this_thread::yield();
}

TEST(SessionWatchdog, LeavesASlowRunAlone) {
  Stage::get().reset();
  const auto session = open_hanging();
  Stage::get().hangs = true;
  std::thread rescuer([] {
    while (Stage::get().hanging.load() == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    Stage::get().released = true;
  });
  EXPECT_EQ(stuck(*session, {.seconds = 0.3, .watchdog_s = 30}), "the run ended well");
  rescuer.join();
}

/// The first draws of each worker, in a run that lasts until all have drawn enough.
std::vector<std::vector<std::uint64_t>> draws_of_run(std::uint64_t seed) {
  Stage::get().reset();
  const auto session = open_hanging();
  const auto all_drew = [] {
    const std::lock_guard lock(Stage::get().mutex);
    const auto& draws = Stage::get().draws;  // sized by the first worker that draws
    return !draws.empty() && std::ranges::all_of(draws, [](const auto& own) {
      return own.size() == Stage::kDrawsKept;
    });
  };
  (void)session->run({.seconds = 60, .seed = seed}, all_drew);
  const std::lock_guard lock(Stage::get().mutex);
  return Stage::get().draws;
}

TEST(SessionSeeds, DecideWhatIsRun) {
  const auto one = draws_of_run(1);
  ASSERT_EQ(one.size(), 2u);
  EXPECT_FALSE(one[0].empty());
  EXPECT_EQ(one, draws_of_run(1)) << "the same seed gives every worker the same transactions";
  EXPECT_NE(one[0], one[1]) << "each worker has its own";
  const auto other = draws_of_run(2);
  EXPECT_NE(one[0], other[0]);
  EXPECT_NE(one[1], other[1]);
}

}  // namespace
}  // namespace heddle
