#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "check/checker.h"
#include "check/faulty_machine.h"
#include "driver/recorded_history.h"
#include "machine/preemptions.h"
#include "model/random.h"
#include "protocol/mvschedo.h"
#include "protocol/mvto.h"
#include "protocol/policy_table.h"
#include "protocol/silo.h"
#include "protocol/snapshot.h"
#include "protocol/two_phase_locking.h"
#include "storage/storage.h"
#include "tables.h"
#include "workload/generic.h"

/// Two or three transactions of a few accesses each, under every schedule with at most so many
/// preemptions, each made at any access to shared memory; every history is checked.
namespace heddle::test {
namespace {

using M = FaultyMachine;

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kCases = 7;
constexpr std::uint64_t kMostSchedules = 300;
#else
constexpr std::uint64_t kCases = 56;
constexpr std::uint64_t kMostSchedules = 3'000;
#endif

/// MVSchedO that is told of every attempt that it will write some rows, drawn at random: often it
/// does not, or writes others.
struct Guessed : MvSchedO {
  template <class Machine>
  class Executor : public MvSchedO::Executor<Machine> {
   public:
    Executor(Runtime<Machine>& runtime, Storage<Machine>& storage, int worker)
        : MvSchedO::Executor<Machine>(runtime, storage, worker),
          random_(static_cast<std::uint64_t>(worker)) {}

    template <class W, class Observer>
    Attempt<Machine> attempt(W& workload, const typename W::Input& input, int type,
                             std::uint32_t prior_aborts, Observer& observer) {
      std::vector<ExpectedAccess> guesses(random_.below(4));
      for (ExpectedAccess& guess : guesses) {
        guess = {random_.below(3), static_cast<std::uint8_t>(random_.below(2)),
                 random_.below(4) != 0};
      }
      this->expect(guesses);
      return MvSchedO::Executor<Machine>::attempt(workload, input, type, prior_aborts, observer);
    }

   private:
    Random random_;
  };
};

/// A few transactions, one a core.
struct Case {
  std::uint64_t seed = 0;
  int workers = 2;
  GenericOptions rows;
  std::vector<Generic<M>::Input> inputs;
  std::shared_ptr<const CompiledPolicy> policy;
};

Case drawn_case(std::uint64_t seed) {
  Random random(seed);
  Case one;
  one.seed = seed;
  one.workers = static_cast<int>(random.between(2, 3));
  one.rows = {.program = seed,
              .types = 2,
              .accesses = 4,
              .ordered_keys = 3,
              .hash_keys = 2,
              .rollbacks = 10};
  one.policy = tables::random(Generic<M>::signature(one.rows), seed);
  Storage<M> storage(1);
  const Generic<M> drawing(storage, one.rows);
  for (int worker = 0; worker < one.workers; ++worker) {
    drawing.generate(random, worker, one.workers, 0, one.inputs.emplace_back());
  }
  return one;
}

/// Runs each transaction until it ends. Returns what was wrong, or "".
template <class P>
std::string run_under(const Case& one, const Script& script) {
  constexpr std::uint32_t kMostAttempts = 200;
  M::resume_at(0);
  Storage<M> storage(one.workers);
  Generic<M> rows(storage, one.rows);
  rows.load(1);
  Shared<M, std::uint64_t> stop{0};
  const Signature signature = Generic<M>::signature(one.rows);
  typename P::template Runtime<M> runtime(
      RunSetup<M>{storage, signature, one.workers, stop, {}, one.policy});
  RecordedHistory history(one.workers, std::size_t{1} << 20, storage,
                          Generic<M>::type_names(one.rows));
  // Not on the cores' stacks: a core that is left behind would keep what they hold.
  std::deque<RecordedHistory::Observer<M>> observers;
  std::deque<typename P::template Executor<M>> executors;
  for (int worker = 0; worker < one.workers; ++worker) {
    observers.emplace_back(history, worker);
    executors.emplace_back(runtime, storage, worker);
  }
  bool starved = false;
  const bool left = M::run_crew(
      {.workers = one.workers,
       .machine = {.kind = "virtual",
                   .schedule = {.kind = ScheduleKind::script, .script = script}}},
      [&](M::Member& member) {
        const int worker = member.worker();
        const auto& input = one.inputs[static_cast<std::size_t>(worker)];
        auto& observer = observers[static_cast<std::size_t>(worker)];
        for (std::uint32_t aborts = 0;; ++aborts) {
          storage.boundary(worker, M::now());
          observer.begin(input.type, false);
          const auto attempt = executors[static_cast<std::size_t>(worker)].attempt(
              rows, input, input.type, aborts, observer);
          if (attempt.outcome != Outcome::abort) break;
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
  for (const std::string& violation : rows.check()) return violation;
  return "";
}

std::string run_case(const Case& one, int protocol, const Script& script) {
  switch (protocol) {
    case 0: return run_under<Silo>(one, script);
    case 1: return run_under<TwoPhaseLocking>(one, script);
    case 2: return run_under<Mvto>(one, script);
    case 3: return run_under<Guessed>(one, script);
    default: return run_under<PolicyTable>(one, script);
  }
}

std::string words(const Script& script) {
  std::string text;
  for (const Switch& change : script) {
    text += "{" + std::to_string(change.step) + ", " + std::to_string(change.core) + "} ";
  }
  return text;
}

/// Goes through the schedules of a case until one fails or there were enough.
struct Search {
  std::uint64_t schedules = 0;
  std::string found;
};
Search search(std::uint64_t seed, int preemptions, std::uint64_t most) {
  const Case one = drawn_case(seed);
  const int protocol = static_cast<int>(seed % 7);
  Search result;
  const auto run = [&](const Script& script) {
    result.found = run_case(one, protocol, script);
    if (!result.found.empty()) {
      const Script small = shrink(
          script, [&](const Script& smaller) { return !run_case(one, protocol, smaller).empty(); });
      result.found = "case " + std::to_string(seed) + ", switches " + words(small) + "\n" +
                     run_case(one, protocol, small);
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

/// A search that could not find anything would prove nothing.
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
                                  SeededFault::skip_node_validation,
                                  SeededFault::release_before_install, SeededFault::lost_wake_up,
                                  SeededFault::write_behind_readers};
#if !defined(__SANITIZE_ADDRESS__)
  faults.push_back(SeededFault::skip_source_check);  // takes the longest
#endif
  return faults;
}

INSTANTIATE_TEST_SUITE_P(Some, EveryScheduleWith, testing::ValuesIn(some_faults()),
                         [](const testing::TestParamInfo<SeededFault>& param) {
                           return std::string(
                               kSeededFaultNames.at(static_cast<std::size_t>(param.param)));
                         });

}  // namespace
}  // namespace heddle::test
