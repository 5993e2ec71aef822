#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machine/shared.h"
#include "protocol/policy_table.h"
#include "protocol/protocol.h"
#include "protocol/snapshot.h"
#include "serializability/checker.h"
#include "serializability/history.h"
#include "serializability/hot_rows.h"
#include "storage/storage.h"
#include "workload/random.h"

namespace heddle::serializability {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// How a checked run is made.
struct Plan {
  int workers = 2;
  /// Off: with more workers than cores the kernel preempts them anywhere.
  bool take_turns = false;
  double seconds = kSanitized ? 0.12 : 0.16;
  std::uint64_t most_transactions = kSanitized ? 6'000 : 30'000;  ///< a worker's
  std::uint64_t seed = 1;
  HotRowsOptions rows;
  std::map<std::string, std::string> protocol_options;
  std::shared_ptr<const CompiledPolicy> policy;
  /// Given to the running executor one after the other, as fast as the run is watched.
  std::vector<std::shared_ptr<const CompiledPolicy>> switches;
};

/// What a run left behind.
struct Made {
  History history;
  std::vector<std::string> leavings;  ///< see HotRows::check()
  std::uint64_t aborts = 0;
  std::vector<std::uint64_t> ended_by_type;
  bool left = false;  ///< the workers ended when told to
};

/// Runs the hot rows under one protocol, each transaction until it ends, and keeps what those that
/// ended saw and did.
template <class M, class P>
class Trial : public std::enable_shared_from_this<Trial<M, P>> {
 public:
  explicit Trial(Plan plan)
      : plan_(std::move(plan)),
        signature_(HotRows<M>::signature(plan_.rows)),
        storage_(plan_.workers),
        rows_(storage_, plan_.rows),
        runtime_(RunSetup<M>{storage_, signature_, plan_.workers, stop_, plan_.protocol_options,
                             plan_.policy}),
        logs_(static_cast<std::size_t>(plan_.workers)) {
    rows_.load(plan_.seed);
  }

  Made run() {
    auto self = this->shared_from_this();  // a worker that hangs keeps all it uses
    const auto end = M::now() + M::ticks(plan_.seconds * 1e6);
    const typename M::Crew crew{
        .workers = plan_.workers, .poll_us = kPollUs, .take_turns = plan_.take_turns};
    Made made;
    made.left = M::run_crew(
        crew, [self](typename M::Member& member) { self->work(member); },
        [this, end] {
          switch_policy();
          if (M::now() < end) return true;
          stop_.store(1, std::memory_order_release);  // release: every wait sees it
          M::unpark(stop_.raw());
          return false;
        });
    if (made.left) collect(made);
    return made;
  }

 private:
  static constexpr std::uint64_t kPollUs = 500;
  using Executor = typename P::template Executor<M>;
  using Input = typename HotRows<M>::Input;

  struct alignas(64) Log {
    ClientLog done;
    std::uint64_t aborts = 0;
  };

  void switch_policy() {
    if constexpr (requires { runtime_.switch_policy(plan_.policy); }) {
      if (plan_.switches.empty()) return;
      runtime_.switch_policy(plan_.switches[next_switch_++ % plan_.switches.size()]);
    }
  }

  [[nodiscard]] bool stopped() const {
    return stop_.load(std::memory_order_relaxed) != 0;  // relaxed: carries no data
  }

  void work(typename M::Member& member) {
    const int worker = member.worker();
    Executor executor(runtime_, storage_, worker);
    SnapshotTransaction<M> snapshot(storage_, worker);
    Random random = Random::stream(plan_.seed, static_cast<std::uint64_t>(worker));
    std::uint64_t attempts = 0;
    Input input{};
    for (std::uint64_t done = 0; done < plan_.most_transactions && !stopped(); ++done) {
      if (member.turn_over(M::now())) {
        storage_.leave(worker);
        member.pass_turn();
      }
      rows_.generate(random, worker, plan_.workers, 0, input);
      run_to_the_end(executor, snapshot, input, attempts);
    }
    storage_.leave(worker);
  }

  void run_to_the_end(Executor& executor, SnapshotTransaction<M>& snapshot, Input& input,
                      std::uint64_t& attempts) {
    const int worker = static_cast<int>(input.client) - 1;
    Log& log = logs_[static_cast<std::size_t>(worker)];
    for (std::uint32_t prior_aborts = 0; !stopped(); ++prior_aborts) {
      storage_.boundary(worker, M::now());
      input.sequence = ++attempts;
      // acquire: what it reads next is no older than the reading.
      const std::uint64_t began = clock_.load(std::memory_order_acquire);
      Attempt<M> attempt;
      if (rows_.is_snapshot(input.type)) {
        snapshot.begin();
        attempt.outcome = rows_.query(snapshot, input);
      } else {
        attempt = executor.attempt(rows_, input, input.type, prior_aborts);
      }
      if (attempt.outcome != Outcome::abort) {
        // acq_rel: all it did came before.
        const std::uint64_t ended = clock_.fetch_add(1, std::memory_order_acq_rel) + 1;
        log.done.add({.client = input.client,
                      .sequence = input.sequence,
                      .began = began,
                      .ended = ended,
                      .committed = attempt.outcome == Outcome::commit,
                      .of_the_past = rows_.is_snapshot(input.type),
                      .type = input.type},
                     rows_.scratch(worker).steps);
        return;
      }
      ++log.aborts;
      back_off(prior_aborts);
    }
  }

  void back_off(std::uint32_t prior_aborts) {
    constexpr std::uint32_t kPatience = 3;
    constexpr std::uint32_t kMostDoublings = 7;
    if (prior_aborts < kPatience) return;
    const auto us = static_cast<double>(1u << std::min(prior_aborts - kPatience, kMostDoublings));
    M::idle(M::ticks(us), stop_.raw());
  }

  /// The logs, between a loader's and a last look at everything.
  void collect(Made& made) {
    storage_.drain();
    made.leavings = rows_.check();
    made.ended_by_type.assign(HotRows<M>::type_names(plan_.rows).size(), 0);
    made.history.resize(1);
    made.history[kLoader].add({}, rows_.loads());
    for (Log& log : logs_) {
      made.aborts += log.aborts;
      for (const Transaction& one : log.done.transactions) ++made.ended_by_type[one.type];
      made.history.push_back(std::move(log.done));
    }
    const std::uint64_t now = clock_.load(std::memory_order_acquire);
    const auto last = static_cast<std::uint32_t>(made.history.size());
    made.history.emplace_back().add({.client = last, .sequence = 0, .began = now, .ended = now + 1},
                                    rows_.read_everything());
  }

  Plan plan_;
  Signature signature_;
  Storage<M> storage_;
  HotRows<M> rows_;
  alignas(64) Shared<M, std::uint64_t> stop_{0};
  typename P::template Runtime<M> runtime_;
  std::vector<Log> logs_;
  std::size_t next_switch_ = 0;
  alignas(64) std::atomic<std::uint64_t> clock_{0};
};

/// Makes a run and expects it to be serializable. Returns the number of transactions that ended.
template <class M, class P>
std::uint64_t expect_serializable(const Plan& plan) {
  const Made made = std::make_shared<Trial<M, P>>(plan)->run();
  EXPECT_TRUE(made.left) << "a worker did not leave when told to";
  if (!made.left) return 0;
  Checker checker(made.history);
  const std::vector<Anomaly> anomalies = checker.run();
  for (const Anomaly& anomaly : anomalies) ADD_FAILURE() << anomaly.text;
  for (const std::string& leaving : made.leavings) ADD_FAILURE() << leaving;
  for (std::size_t type = 0; type < made.ended_by_type.size(); ++type) {
    // A run cut short by a crowded machine may not have come to every type.
    if (checker.transactions() < 2'000) break;
    EXPECT_GT(made.ended_by_type[type], 0u) << "no transaction of type " << type << " ended";
  }
  return checker.transactions();
}

}  // namespace heddle::serializability
