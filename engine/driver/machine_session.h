#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "driver/admission.h"
#include "driver/database.h"
#include "driver/monitor.h"
#include "driver/run.h"
#include "driver/run_options.h"
#include "driver/sampled_attempts.h"
#include "driver/session.h"
#include "driver/session_factory.h"
#include "driver/summary.h"
#include "driver/worker.h"
#include "machine/concepts.h"
#include "machine/memory_guard.h"
#include "machine/schedule.h"
#include "model/hints.h"
#include "observe/access_observer.h"
#include "protocol/observer.h"

namespace heddle {

/// A session on a machine, of any workload: the part of the driver that is compiled once per
/// machine.
template <Machine M>
class MachineSession final : public Session {
 public:
  MachineSession(std::shared_ptr<Database<M>> database, const OptionMap& described, int workers,
                 std::uint64_t seed, const MachineOptions& machine)
      : machine_(machine),
        described_(described),
        workers_(workers),
        database_(std::move(database)) {
    database_->load(seed);
    loaded_bytes_ = database_->storage().live_bytes();
  }

  Result run(const RunOptions& options, const std::function<bool()>& interrupted) override {
    const std::unique_lock one_at_a_time(run_mutex_, std::try_to_lock);
    if (!one_at_a_time) throw std::invalid_argument("this session is running; wait or stop() it");
    M::resume_at(ended_);
    usable();
    validate(options, {.workload = database_->workload(),
                       .signature = signature(),
                       .has_hints = database_->has_hints(),
                       .hints_optional = database_->hints_optional(),
                       .samples_timelines = M::kSamples,
                       .single_threaded = M::kSingleThreaded});
    return run_validated(options, interrupted);
  }

  void switch_policy(std::shared_ptr<const CompiledPolicy> policy) override {
    const std::lock_guard lock(switch_mutex_);
    if (running_ == nullptr) {
      throw std::invalid_argument("no policy is running: start a run with protocol policy_table");
    }
    if (policy->policy().signature != signature()) {
      throw std::invalid_argument("the policy is for another workload than the one running");
    }
    if (!policy->policy().protocol.empty()) {
      throw std::invalid_argument("a run can't switch to a policy under protocol " +
                                  policy->policy().protocol + "; start another run with it");
    }
    running_->switch_policy(std::move(policy));
  }

  void stop() override { stop_requested_.store(true); }

  [[nodiscard]] std::vector<std::string> check() override {
    const std::lock_guard not_running(run_mutex_);
    usable();
    M::resume_at(ended_);
    database_->storage().drain();
    return database_->check();
  }

  [[nodiscard]] DrawnHints draw_hints(std::size_t transactions, std::uint64_t seed) override {
    DrawnHints drawn;
    usable();
    if (!database_->has_hints()) return drawn;
    const std::lock_guard not_running(run_mutex_);
    Random random(seed);
    InputArray input(*database_, 1);
    Hints hints;
    for (std::size_t at = 0; at < transactions; ++at) {
      const int worker = static_cast<int>(at % static_cast<std::size_t>(workers_));
      const int type = database_->draw(random, worker, workers_, at, input[0]);
      hints.clear();
      database_->hints(input[0], hints);
      drawn.types.push_back(static_cast<std::uint32_t>(type));
      drawn.counts.push_back(static_cast<std::uint32_t>(hints.size()));
      drawn.hints.insert(drawn.hints.end(), hints.begin(), hints.end());
    }
    return drawn;
  }

  [[nodiscard]] const Signature& signature() const override { return database_->signature(); }
  [[nodiscard]] bool single_threaded() const override { return M::kSingleThreaded; }
  [[nodiscard]] std::int64_t grown_bytes() const override {
    return database_->storage().live_bytes() - loaded_bytes_;
  }
  [[nodiscard]] std::int64_t memory_bytes() const override {
    return static_cast<std::int64_t>(database_->storage().held_bytes());
  }

 private:
  using Ticks = typename M::Ticks;

  /// A worker that waits for a silent server gives up after five seconds, and before that it may
  /// have waited as long to cancel what the server does (store/server/waits.h).
  static std::uint64_t grace_of_stores_us(const RunOptions& options) {
    constexpr double kMostUs = 20e6;
    constexpr double kWatchdogs = 24;
    return static_cast<std::uint64_t>(std::min(kMostUs, kWatchdogs * options.watchdog_s * 1e6));
  }

  void usable() const {
    if (stuck_) throw StuckError("this session has a stuck worker; open a new one");
  }

  Result run_validated(const RunOptions& options, const std::function<bool()>& interrupted) {
    Storage<M>& storage = database_->storage();
    if (storage.epochs().used_up()) {
      throw std::runtime_error(
          "this session has used all epochs that versions can hold; open a new one, and give a "
          "longer epoch_us");
    }
    if (options.history_bytes != 0 && has_run_) {
      // The epoch separates existing versions from those of this run.
      (void)storage.epochs().advance(M::now());
    }
    has_run_ = true;
    const std::int64_t grown_before = grown_bytes();
    storage.epochs().set_period(options.epoch_us);
    stop_requested_.store(false);
    bool was_interrupted = false;
    const auto is_interrupted = [&] {
      was_interrupted = was_interrupted || interrupted() || stop_requested_.load();
      return was_interrupted;
    };
    const auto run = std::make_shared<Run<M>>(database_, workers_, options, is_interrupted);
    if (!run->is_observed() && !run->protocol->is_external() &&
        !database_->runs_unobserved(options.protocol)) {
      throw std::invalid_argument("workload " + std::string(database_->workload()) +
                                  " on machine " + std::string(M::kKind) +
                                  " is not built for protocol " + options.protocol +
                                  " in this build, unless the run is recorded");
    }
    if (executes_policy(options.protocol)) offer_switch(run);
    const auto work = [run, options, workers = workers_,
                       delays = machine_.schedule](typename M::Member& member) {
      run_worker(*run, options, delays, workers, member);
    };
    M::record_into(run->timeline == nullptr ? nullptr : &run->timeline->events());
    start_arrivals(run->state, options.seed);
    Monitor<M> monitor(*run, options);
    typename M::Crew crew = M::crew(machine_, workers_, options.take_turns, storage.held_bytes());
    crew.poll_us = poll_us(options, crew.poll_us);
    if constexpr (requires { crew.pin; }) {
      if (run->protocol->is_external()) {
        crew.take_turns = crew.pin = false;
        crew.grace_us = grace_of_stores_us(options);
      }
    }
    const bool left = M::run_crew(crew, work, [&] { return monitor.poll(is_interrupted()); });
    M::record_into(nullptr);
    ended_ = M::now();
    offer_switch(nullptr);
    if (left && monitor.stuck() && run->protocol->is_external()) {
      run->protocol->fail(monitor.report(left));
    } else if (!left || monitor.stuck()) {
      stuck_ = stuck_ || !left;
      throw StuckError(monitor.report(left));
    }
    run->protocol->finish();
    Result result = summarize(*run, options, described_);
    result.failure = run->protocol->failure();
    result.syncs = run->syncs;
    result.round_trips = run->round_trips;
    result.interrupted = was_interrupted;
    result.short_of_memory = monitor.short_of_memory();
    result.grown_bytes = grown_bytes() - grown_before;
    result.database_bytes = memory_bytes();
    if constexpr (!M::kSingleThreaded) result.resident_bytes = resident_bytes();
    return result;
  }

  /// Runs a worker to the end of the run, on its own thread.
  static void run_worker(Run<M>& run, const RunOptions& options, const ScheduleOptions& delays,
                         int workers, typename M::Member& member) {
    const int worker = member.worker();
    const auto at = static_cast<std::size_t>(worker);
    Database<M>& database = *run.database;
    auto [observer, attempts] = make_attempts(run, options, delays, worker);
    WorkerSetup<M> setup{.member = member,
                         .workers = workers,
                         .seed = options.seed,
                         .inputs = database,
                         .storage = database.storage(),
                         .attempts = std::move(attempts),
                         .wait_times = run.protocol->wait_times(worker),
                         .state = run.state,
                         .exclusive_after = options.exclusive_after,
                         .heartbeat = run.heartbeats[at],
                         .measurements = run.measurements[at],
                         .backoff = Backoff(parse_backoff(options.backoff), options.backoff_us,
                                            database.type_count(), options.policy.get(),
                                            run.protocol->backoff_range())};
    if (run.admission == nullptr) {
      run_loop<Unscheduled>(run.loops[at], std::move(observer), std::move(setup));
    } else {
      run_loop<Admission<M>>(run.loops[at], std::move(observer), std::move(setup), *run.admission,
                             std::as_const(static_cast<Inputs&>(database)), worker, workers,
                             database.type_count(), options.seed);
    }
  }

  struct MadeAttempts {
    std::shared_ptr<Observer<M>> observer;  ///< of `attempts`; nullptr: they have none
    std::unique_ptr<Attempts<M>> attempts;
  };

  static MadeAttempts make_attempts(Run<M>& run, const RunOptions& options,
                                    [[maybe_unused]] const ScheduleOptions& delays, int worker) {
    Database<M>& database = *run.database;
    const auto observed = [&](Observer<M>& observer, Attempts<M>* others) {
      return run.protocol->observed_attempts(database, database.storage(), worker, observer,
                                             others);
    };
    std::unique_ptr<Observer<M>> observer = run.observer(worker);
    const bool observes_all = observer != nullptr;
    if constexpr (M::kSamples) {
      std::vector<bool> selected = types_with_recorded_accesses(options, database.signature());
      const bool any = std::find(selected.begin(), selected.end(), true) != selected.end();
      if (any || delays.delay_state.has_value()) {
        observer = std::make_unique<AccessObserver<M>>(
            delays, options.seed + static_cast<std::uint64_t>(worker), std::move(observer));
        if (!observes_all) {
          auto unobserved = unobserved_attempts(run, options.protocol, worker);
          auto others = observed(*observer, unobserved.get());
          return {std::move(observer), std::make_unique<SampledAttempts<M>>(
                                           std::move(unobserved), std::move(others),
                                           std::move(selected), delays.delay_state.has_value())};
        }
      }
    }
    if (observer == nullptr) {
      return {nullptr, unobserved_attempts(run, options.protocol, worker)};
    }
    auto attempts = observed(*observer, nullptr);
    return {std::move(observer), std::move(attempts)};
  }

  static std::unique_ptr<Attempts<M>> unobserved_attempts(Run<M>& run, const std::string& protocol,
                                                          int worker) {
    auto erased = run.protocol->erased_attempts(*run.database);
    return erased != nullptr ? std::move(erased)
                             : run.database->attempts(protocol, *run.protocol, worker);
  }

  /// @param keeper receives the worker before it begins
  template <class Scheduling, class... Args>
  static void run_loop(std::shared_ptr<void>& keeper, std::shared_ptr<Observer<M>> observer,
                       WorkerSetup<M> setup, Args&&... scheduling) {
    struct Loop {
      std::shared_ptr<Observer<M>> observer;
      Worker<M, Scheduling> worker;
    };
    const std::shared_ptr<Loop> loop(
        new Loop{std::move(observer),
                 Worker<M, Scheduling>(std::move(setup), std::forward<Args>(scheduling)...)});
    keeper = loop;
    loop->worker.run();
  }

  void offer_switch(std::shared_ptr<Run<M>> run) {
    const std::lock_guard lock(switch_mutex_);
    running_ = std::move(run);
  }

  /// The clock of a trace continues from the first transaction that has not begun: transactions
  /// left over by a run are not late in the next one.
  void start_arrivals(RunState<M>& state, std::uint64_t seed) const {
    if (!database_->open_loop()) return;
    database_->begin_arrivals(seed);
    double first = database_->next_arrival_us(0);
    for (int worker = 1; worker < workers_; ++worker) {
      first = std::min(first, database_->next_arrival_us(worker));
    }
    state.arrivals = {M::now(), first};
  }

  MachineOptions machine_;
  OptionMap described_;
  Ticks ended_ = 0;  ///< the end time of the last run
  int workers_;
  std::shared_ptr<Database<M>> database_;
  std::int64_t loaded_bytes_ = 0;
  std::atomic<bool> stop_requested_{false};
  bool stuck_ = false;
  bool has_run_ = false;
  std::mutex run_mutex_;
  std::mutex switch_mutex_;
  std::shared_ptr<Run<M>> running_;  ///< the run whose policy can be switched; nullptr: none
};

template <class M>
std::unique_ptr<Session> make_session(std::shared_ptr<Database<M>> database,
                                      const OptionMap& described, int workers, std::uint64_t seed,
                                      const MachineOptions& machine) {
  return std::make_unique<MachineSession<M>>(std::move(database), described, workers, seed,
                                             machine);
}

}  // namespace heddle
