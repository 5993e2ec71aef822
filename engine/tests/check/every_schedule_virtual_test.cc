#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "check/checker.h"
#include "driver/input_array.h"
#include "machine/preemptions.h"
#include "machines/faulty.h"
#include "model/random.h"
#include "observe/recorded_history.h"
#include "protocol/aria.h"
#include "protocol/mvschedo.h"
#include "protocol/mvto.h"
#include "protocol/policy_table.h"
#include "protocol/run.h"
#include "protocol/silo.h"
#include "protocol/two_phase_locking.h"
#include "scale.h"
#include "storage/storage.h"
#include "tables.h"

/// Two or three transactions of a few accesses each, under every schedule with a bounded number of
/// preemptions, each possible at any access to shared memory; every history is checked.
namespace heddle::test {
namespace {

using M = FaultyMachine;

const std::uint64_t kCases = kSanitized ? 7 : scaled(28);
const std::uint64_t kMostSchedules = kSanitized ? 300 : 3'000;

/// MVSchedO with random announcements: every attempt announces writes of some rows that it often
/// does not make, or it writes others.
struct Guessed : MvSchedO {
  template <class Machine>
  class Executor : public MvSchedO::Executor<Machine> {
   public:
    Executor(Runtime<Machine>& runtime, Storage<Machine>& storage, int worker)
        : MvSchedO::Executor<Machine>(runtime, storage, worker),
          random_(static_cast<std::uint64_t>(worker)) {}

    template <class P>
    Attempt<Machine> attempt(const P& procedure, int type, std::uint32_t prior_aborts) {
      std::vector<ExpectedAccess> guesses(random_.below(4));
      for (ExpectedAccess& guess : guesses) {
        guess = {random_.below(3), static_cast<std::uint8_t>(random_.below(2)),
                 random_.below(4) != 0};
      }
      this->expect(guesses);
      return MvSchedO::Executor<Machine>::attempt(procedure, type, prior_aborts);
    }

   private:
    Random random_;
  };
};

/// A few transactions, one per core.
struct Case {
  explicit Case(std::uint64_t program)
      : seed(program), random(program), workers(static_cast<int>(random.between(2, 3))) {
    policy = tables::random(make_faulty_database(rows(), 1)->signature(), seed);
  }

  [[nodiscard]] OptionMap rows() const {
    return {{"program", std::to_string(seed)},
            {"types", "2"},
            {"accesses", "4"},
            {"ordered_keys", "3"},
            {"hash_keys", "2"},
            {"rollbacks", "10"}};
  }

  std::uint64_t seed;
  Random random;  ///< of the transactions' inputs
  int workers;
  std::shared_ptr<const CompiledPolicy> policy;
};

/// Starts a protocol in a run of a case.
using Start = std::unique_ptr<ProtocolRun<M>> (*)(const RunSetup<M>& setup);

/// Runs each transaction until it ends. Returns a description of the error, or "".
std::string run_under(Start start, const Case& drawn, const Script& script) {
  constexpr std::uint32_t kMostAttempts = 200;
  M::resume_at(0);
  const auto database = make_faulty_database(drawn.rows(), drawn.workers);
  database->load(1);
  Storage<M>& storage = database->storage();
  Shared<M, std::uint64_t> stop{0};
  const auto protocol =
      start(RunSetup<M>{storage, database->signature(), drawn.workers, stop, {}, drawn.policy});
  RecordedHistory history(drawn.workers, std::size_t{1} << 20, storage, database->type_names());
  Random random = drawn.random;
  InputArray inputs(*database, static_cast<std::size_t>(drawn.workers));
  std::vector<int> types;
  // Not on the cores' stacks: a core that is left behind would keep their memory.
  std::vector<std::unique_ptr<Observer<M>>> observers;
  std::vector<std::unique_ptr<Attempts<M>>> attempts;
  for (int worker = 0; worker < drawn.workers; ++worker) {
    types.push_back(
        database->draw(random, worker, drawn.workers, 0, inputs[static_cast<std::size_t>(worker)]));
    observers.push_back(history.observer<M>(worker));
    attempts.push_back(
        protocol->observed_attempts(*database, storage, worker, *observers.back(), nullptr));
  }
  bool starved = false;
  const bool left = M::run_crew(
      {.workers = drawn.workers,
       .machine = {.kind = "virtual",
                   .schedule = {.kind = ScheduleKind::script, .script = script}}},
      [&](M::Member& member) {
        const int worker = member.worker();
        const auto at = static_cast<std::size_t>(worker);
        for (std::uint32_t aborts = 0;; ++aborts) {
          storage.boundary(worker, M::now());
          if (attempts[at]->attempt(inputs[at], types[at], aborts).outcome != Outcome::abort) break;
          if (aborts == kMostAttempts) {
            starved = true;
            break;
          }
          M::yield();
        }
        storage.leave(worker);
      },
      [] { return true; });
  if (!left) return "stuck: " + M::left_behind();
  if (starved) return "starved: a transaction was aborted again and again";
  const check::Report report = check::check_history(history.history());
  for (const check::Anomaly& anomaly : report.anomalies) return anomaly.text;
  storage.drain();
  for (const std::string& violation : database->check()) return violation;
  return "";
}

std::string run_case(const Case& drawn, int protocol, const Script& script) {
  constexpr auto named = []<class P>(P) -> Start {
    return [](const RunSetup<M>& setup) { return start_protocol<M>(P::kName, setup); };
  };
  constexpr Start kGuessed = [](const RunSetup<M>& setup) -> std::unique_ptr<ProtocolRun<M>> {
    return std::make_unique<RunningProtocol<M, Guessed>>(setup);
  };
  const std::array<Start, 6> starts{named(Silo{}), named(TwoPhaseLocking{}),
                                    named(Mvto{}), kGuessed,
                                    named(Aria{}), named(PolicyTable{})};
  const std::size_t at = std::min<std::size_t>(static_cast<std::size_t>(protocol), 5);
  return run_under(starts[at], drawn, script);
}

std::string words(const Script& script) {
  std::string text;
  for (const Switch& change : script) {
    text += "{" + std::to_string(change.step) + ", " + std::to_string(change.core) + "} ";
  }
  return text;
}

/// Runs the schedules of a case until one fails or the limit is reached.
struct Search {
  std::uint64_t schedules = 0;
  std::string found;
};
Search search(std::uint64_t seed, int preemptions, std::uint64_t most) {
  const Case drawn(seed);
  const int protocol = static_cast<int>(seed % 7);
  Search result;
  const auto run = [&](const Script& script) {
    result.found = run_case(drawn, protocol, script);
    if (!result.found.empty()) {
      const Script small = shrink(script, [&](const Script& smaller) {
        return !run_case(drawn, protocol, smaller).empty();
      });
      result.found = "case " + std::to_string(seed) + ", switches " + words(small) + "\n" +
                     run_case(drawn, protocol, small);
      return false;
    }
    return ++result.schedules < most;
  };
  (void)Preemptions(preemptions).explore(run);
  return result;
}

TEST(EverySchedule, OfAFewTransactionsIsSerializable) {
  std::uint64_t schedules = 0;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const Search result = search(seed, 2, kMostSchedules);
    EXPECT_EQ(result.found, "");
    schedules += result.schedules;
  }
  std::printf("%lu schedules\n", schedules);
}

/// A search that cannot find anything proves nothing.
class EveryScheduleWith : public testing::TestWithParam<SeededFault> {
 protected:
  void SetUp() override { M::seeded_fault = GetParam(); }
  void TearDown() override { M::seeded_fault = SeededFault::none; }
};

TEST_P(EveryScheduleWith, FindsTheFault) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Search result = search(seed, 2, kMostSchedules);
    if (result.found.empty()) continue;
    std::printf("%s\n", result.found.substr(0, 600).c_str());
    return;
  }
  ADD_FAILURE() << "not found";
}

std::vector<SeededFault> some_faults() {
  std::vector<SeededFault> faults{SeededFault::skip_read_validation,
                                  SeededFault::release_before_install, SeededFault::lost_wake_up};
  if (!kSanitized) {  // these take the longest
    faults.insert(faults.end(), {SeededFault::skip_node_validation, SeededFault::skip_source_check,
                                 SeededFault::write_behind_readers});
  }
  return faults;
}

INSTANTIATE_TEST_SUITE_P(Some, EveryScheduleWith, testing::ValuesIn(some_faults()),
                         [](const testing::TestParamInfo<SeededFault>& param) {
                           return std::string(
                               kSeededFaultNames.at(static_cast<std::size_t>(param.param)));
                         });

}  // namespace
}  // namespace heddle::test
