#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session_runs.h"
#include "driver/workload_database.h"
#include "machine/shared.h"
#include "machine/virtual.h"
#include "model/options.h"
#include "model/random.h"
#include "storage/hash_index.h"
#include "storage/table.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

/// Sessions of a workload whose workers wait for events that never happen.
namespace heddle {
namespace {

using M = VirtualMachine;

/// Every transaction reads a row, and then sleeps until it is woken.
class Sleeping {
 public:
  struct Options {
    static Options parse(const OptionMap&) { return {}; }
  };
  struct Input {};
  static constexpr std::string_view kName = "sleeping";

  static Signature signature(const Options&) {
    return {.workload = "sleeping",
            .types = {{"sleep", {{"row", "ROW", AccessKind::read, false}}}}};
  }
  static std::vector<std::string> type_names(const Options&) { return {"sleep"}; }

  Sleeping(Storage<M>& storage, const Options&) : row_(storage, "ROW", 1) { row_.skip_snapshots(); }
  void load(std::uint64_t) { row_.load(make_key(0), {0}); }

  static void generate(Random&, int, int, std::uint64_t, Input&) {}
  static int type_of(const Input&) { return 0; }
  [[nodiscard]] static bool is_snapshot(int) { return false; }

  template <class Txn>
  Outcome execute(Txn& txn, const Input&) {
    if (!txn.read(0, row_, make_key(0))) return txn.stop();
    M::park(never_.raw(), 0, 1000);
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
  Shared<M, std::uint64_t> never_;
};

std::unique_ptr<Session> open_sleeping(const MachineOptions& machine) {
  using Opened = WorkloadDatabase<M, Sleeping, Registry<Silo>>;
  return make_session<M>(std::make_shared<Opened>(OptionMap{}, 2), {}, 2, 1, machine);
}

std::string stuck(Session& session) {
  try {
    (void)session_runs::run(session, {.seconds = 0.01});
  } catch (const StuckError& error) {
    return error.what();
  }
  return "the run ended well";
}

TEST(SessionWatchdog, AWaitThatNeverEndsIsReported) {
  MachineOptions machine;
  machine.kind = "virtual";
  {
    const auto session = open_sleeping(machine);
    EXPECT_EQ(stuck(*session), "the run ended well") << "a worker that sleeps wakes now and then";
  }
  machine.schedule.kind = ScheduleKind::priorities;
#if defined(__SANITIZE_ADDRESS__)
  // The memory of cores that are left behind is kept for good, as it must be.
  const __lsan::ScopedDisabler kept;
#endif
  const auto session = open_sleeping(machine);
  const std::string text = stuck(*session);
  EXPECT_EQ(text.find("every core that has not left is parked, and no core is left to wake it; the "
                      "session is abandoned\nworker 0: "),
            0U)
      << text;
  EXPECT_NE(text.find("worker 1: "), std::string::npos) << text;
  EXPECT_EQ(stuck(*session), "this session has a stuck worker; open a new one");
}

}  // namespace
}  // namespace heddle
