#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "driver/arrivals.h"
#include "driver/recorded_history.h"
#include "driver/recorded_trace.h"
#include "driver/recorded_worker.h"
#include "driver/scheduled_worker.h"
#include "driver/session.h"
#include "driver/worker.h"
#include "model/hints.h"
#include "protocol/registry.h"
#include "protocol/snapshot.h"

namespace heddle {

/// A session of one workload on one machine: everything type-specific of running it.
template <class M, class W>
class WorkloadSession final : public Session {
 public:
  WorkloadSession(const OptionMap& options, int workers, std::uint64_t seed,
                  const MachineOptions& machine = {})
      : machine_(machine),
        described_(options),
        workers_(workers),
        parsed_(W::Options::parse(without_workload_name(options))),
        signature_(W::signature(parsed_)),
        body_(std::make_shared<Body>(workers, parsed_)) {
    body_->workload.load(seed);
    loaded_bytes_ = body_->storage.live_bytes();
    for (int type = 0; type < type_count(); ++type) {
      if (body_->workload.is_snapshot(type)) body_->storage.keep_snapshots();
    }
  }

  Result run(const RunOptions& options, const std::function<bool()>& interrupted) override {
    const std::unique_lock one_at_a_time(run_mutex_, std::try_to_lock);
    if (!one_at_a_time) throw std::invalid_argument("this session is running; wait or stop() it");
    M::resume_at(ended_);
    validate(options);
    Result result;
    const bool known = Protocols::visit(
        options.protocol, [&]<class P>(P) { result = run_protocol<P>(options, interrupted); });
    if (!known) {
      throw std::invalid_argument("protocol '" + options.protocol +
                                  "' is not known; valid: " + Protocols::joined_names());
    }
    return result;
  }

  void switch_policy(std::shared_ptr<const CompiledPolicy> policy) override {
    const std::lock_guard lock(switch_mutex_);
    if (!switch_policy_) {
      throw std::invalid_argument("no policy is running: start a run with protocol policy_table");
    }
    if (policy->policy().signature != signature_) {
      throw std::invalid_argument("the policy is for another workload than the one running");
    }
    switch_policy_(std::move(policy));
  }

  void stop() override { stop_requested_.store(true); }

  [[nodiscard]] std::vector<std::string> check() override {
    const std::lock_guard not_running(run_mutex_);
    usable();
    M::resume_at(ended_);
    body_->storage.drain();
    return body_->workload.check();
  }

  [[nodiscard]] DrawnHints draw_hints(std::size_t transactions, std::uint64_t seed) override {
    DrawnHints drawn;
    usable();
    if constexpr (HasHints<W>) {
      const std::lock_guard not_running(run_mutex_);
      Random random(seed);
      typename W::Input input;
      Hints hints;
      for (std::size_t at = 0; at < transactions; ++at) {
        const int worker = static_cast<int>(at % static_cast<std::size_t>(workers_));
        body_->workload.generate(random, worker, workers_, at, input);
        hints.clear();
        body_->workload.hints(input, hints);
        drawn.types.push_back(static_cast<std::uint32_t>(W::type_of(input)));
        drawn.counts.push_back(static_cast<std::uint32_t>(hints.size()));
        drawn.hints.insert(drawn.hints.end(), hints.begin(), hints.end());
      }
    }
    return drawn;
  }

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] bool single_threaded() const override { return M::kSingleThreaded; }
  [[nodiscard]] std::int64_t grown_bytes() const override {
    return body_->storage.live_bytes() - loaded_bytes_;
  }
  [[nodiscard]] std::int64_t memory_bytes() const override {
    return static_cast<std::int64_t>(body_->storage.held_bytes());
  }

 private:
  using Ticks = typename M::Ticks;
  static constexpr double kMostCounted = 1e15;
  static constexpr std::size_t kMostIntervals = 100'000;

  /// What the workers use. Shared, because a stuck worker keeps it for good.
  struct Body {
    Body(int workers, const typename W::Options& options)
        : storage(workers), workload(storage, options) {}
    Storage<M> storage;
    W workload;
  };

  /// One run's shared state, likewise.
  template <class P>
  struct Run {
    Run(WorkloadSession& session, const RunOptions& options)
        : body(session.body_),
          runtime(RunSetup<M>{session.body_->storage, session.signature_, session.workers_,
                              state.stop, options.protocol_options, options.policy}),
          heartbeats(new Heartbeat<M>[static_cast<std::size_t>(session.workers_)]) {
      const auto states = static_cast<int>(session.signature_.state_count());
      for (int worker = 0; worker < session.workers_; ++worker) {
        measurements.emplace_back(session.type_count(), states, options.intervals);
      }
      loops.resize(measurements.size());
      if constexpr (HasHints<W>) {
        admission = make_admission_state<M, W>(options.schedule, options.protocol, session.workers_,
                                               session.signature_);
      }
      if (options.timeline_events != 0) {
        timeline = std::make_shared<RecordedTimeline>(options.timeline_events);
        timeline->name_tables(body->storage);
      }
      if (options.history_bytes != 0) {
        history = std::make_shared<RecordedHistory>(session.workers_, options.history_bytes,
                                                    body->storage, W::type_names(session.parsed_));
      }
      if constexpr (!M::kSingleThreaded) {
        if (options.trace_bytes != 0) {
          trace = std::make_shared<RecordedTrace>(session.workers_, options.trace_bytes, M::now());
        }
      }
    }
    std::shared_ptr<Body> body;
    RunState<M> state;
    typename P::template Runtime<M> runtime;
    std::unique_ptr<Heartbeat<M>[]> heartbeats;
    std::vector<Measurements<M>> measurements;
    /// The workers, kept until all have ended: what they published may still be looked at, and on a
    /// simulated machine its memory must not become somebody else's meanwhile.
    std::vector<std::shared_ptr<void>> loops;
    std::shared_ptr<AdmissionState<M, W>> admission;  ///< nullptr: nothing is scheduled
    std::shared_ptr<RecordedTimeline> timeline;       ///< nullptr: not wanted
    std::shared_ptr<RecordedHistory> history;         ///< likewise
    std::shared_ptr<RecordedTrace> trace;             ///< likewise
    std::vector<Ticks> intervals;                     ///< when each began, where they are wanted
    std::vector<Ticks> switches;                      ///< when each was made that was planned
  };

  [[nodiscard]] int type_count() const { return static_cast<int>(W::type_names(parsed_).size()); }

  void usable() const {
    if (stuck_) throw StuckError("this session has a stuck worker; open a new one");
  }

  void validate(const RunOptions& options) const {
    usable();
    const auto refuse = [](const std::string& what) { throw std::invalid_argument(what); };
    if (!(options.seconds > 0) || !std::isfinite(options.seconds)) {
      refuse("seconds must be positive, not " + std::to_string(options.seconds));
    }
    if (!(options.warmup >= 0) || !std::isfinite(options.warmup)) {
      refuse("warmup must not be negative, not " + std::to_string(options.warmup));
    }
    if (!(options.backoff_us >= 0) || !std::isfinite(options.backoff_us)) {
      refuse("backoff_us must not be negative, not " + std::to_string(options.backoff_us));
    }
    if (!(options.epoch_us > 0) || !std::isfinite(options.epoch_us)) {
      refuse("epoch_us must be positive, not " + std::to_string(options.epoch_us));
    }
    const bool executes_policy = options.protocol == PolicyTable::kName;
    if (executes_policy && options.policy == nullptr) {
      refuse("protocol policy_table needs a policy");
    }
    if (!executes_policy && options.policy != nullptr) {
      refuse("protocol " + options.protocol + " does not execute a policy; use policy_table");
    }
    if (parse_backoff(options.backoff) == BackoffKind::policy && options.policy == nullptr) {
      refuse("backoff policy needs a policy, whose backoff table it follows");
    }
    if (!HasHints<W> && schedules(options.schedule)) {
      refuse("workload " + std::string(W::kName) +
             " passes no hints of its keys, so nothing can be scheduled: use schedule.policy=fifo");
    }
    if (options.timeline_events != 0 && !M::kRecords) {
      refuse("what happens on real cores can't be recorded; open the session on machine virtual");
    }
    if (options.trace_bytes != 0 && M::kSingleThreaded) {
      refuse("a trace is recorded on real cores; open the session on machine threads");
    }
    if (options.trace_bytes != 0 && options.history_bytes != 0) {
      refuse("a run records its history or a trace, not both");
    }
    if (options.policy != nullptr && options.policy->policy().signature != signature_) {
      refuse("the policy is for another workload: its signature differs");
    }
    if (options.intervals > kMostIntervals) {
      refuse("intervals must be at most " + std::to_string(kMostIntervals) + ", not " +
             std::to_string(options.intervals));
    }
    if (options.intervals != 0 && interval_us(options) == 0) {
      refuse("the window of " + std::to_string(options.seconds) + " s can't be divided into " +
             std::to_string(options.intervals) + " intervals of whole microseconds");
    }
    if (!options.switches.empty() && !executes_policy) {
      refuse("protocol " + options.protocol + " does not execute a policy; use policy_table");
    }
    double earlier = 0;
    for (const PlannedSwitch& one : options.switches) {
      if (!(one.at_s >= earlier) || !(one.at_s < options.seconds)) {
        refuse("a switch must be within the window of " + std::to_string(options.seconds) +
               " s, and not before an earlier one; not at " + std::to_string(one.at_s));
      }
      earlier = one.at_s;
      if (one.policy == nullptr || one.policy->policy().signature != signature_) {
        refuse("a policy to switch to is for another workload: its signature differs");
      }
    }
  }

  /// How long an interval is; 0 if that is no whole number of microseconds.
  static std::uint64_t interval_us(const RunOptions& options) {
    constexpr double kRounding = 1e-6;
    const double us = options.seconds * 1e6 / static_cast<double>(options.intervals);
    const double whole = std::round(us);
    return std::abs(us - whole) > kRounding ? 0 : static_cast<std::uint64_t>(whole);
  }

  /// How often a run is looked after whose intervals are to end on time: the longest time between
  /// two looks, up to what is usual, that divides an interval.
  static std::uint64_t poll_us(const RunOptions& options, std::uint64_t usual) {
    if (options.intervals == 0) return usual;
    const std::uint64_t interval = interval_us(options);
    std::uint64_t poll = std::min(usual, interval);
    while (interval % poll != 0) --poll;
    return poll;
  }

  template <class P>
  Result run_protocol(const RunOptions& options, const std::function<bool()>& interrupted) {
    if (options.history_bytes != 0 && has_run_) {
      // What is there already is told by its epoch from what this run leaves.
      (void)body_->storage.epochs().advance(M::now());
    }
    has_run_ = true;
    body_->storage.epochs().set_period(options.epoch_us);
    auto run = std::make_shared<Run<P>>(*this, options);
    offer_switch(run);
    const BackoffKind backoff = parse_backoff(options.backoff);
    stop_requested_.store(false);
    const auto work = [run, options, backoff, workers = workers_,
                       types = type_count()](typename M::Member& member) {
      const auto at = static_cast<std::size_t>(member.worker());
      const WorkerSetup<M, W, P> setup{.member = member,
                                       .workers = workers,
                                       .seed = options.seed,
                                       .workload = run->body->workload,
                                       .storage = run->body->storage,
                                       .runtime = run->runtime,
                                       .state = run->state,
                                       .heartbeat = run->heartbeats[at],
                                       .measurements = run->measurements[at],
                                       .backoff = Backoff(backoff, options.backoff_us, types),
                                       .admission = run->admission.get()};
      if (run->history != nullptr) {
        return run_recorded_worker(setup, *run->history, run->loops[at]);
      }
      if constexpr (!M::kSingleThreaded) {
        if (run->trace != nullptr) {
          return run_recorded_worker(setup, *run->trace, run->loops[at]);
        }
      }
      if constexpr (HasHints<W>) {
        if (run->admission != nullptr) return run_scheduled_worker(setup, run->loops[at]);
      }
      const auto loop = std::make_shared<Worker<M, W, P, Unobserved>>(setup, Unobserved{});
      run->loops[at] = loop;
      loop->run();
    };
    if constexpr (M::kRecords) {
      M::record_into(run->timeline == nullptr ? nullptr : &run->timeline->events());
    }
    start_arrivals(run->state);
    Monitor<P> monitor(*this, *run, options);
    bool was_interrupted = false;
    typename M::Crew crew =
        M::crew(machine_, workers_, options.take_turns, body_->storage.held_bytes());
    crew.poll_us = poll_us(options, crew.poll_us);
    const bool left = M::run_crew(crew, work, [&] {
      was_interrupted = was_interrupted || interrupted() || stop_requested_.load();
      return monitor.poll(was_interrupted);
    });
    if constexpr (M::kRecords) M::record_into(nullptr);
    ended_ = M::now();
    withdraw_switch();
    if (!left || monitor.stuck()) {
      stuck_ = stuck_ || !left;
      throw StuckError(monitor.report(left));
    }
    Result result = summarize(*run, options);
    result.interrupted = was_interrupted;
    return result;
  }

  /// Watches a run from outside: moves it through its phases, and notices a worker that hangs.
  template <class P>
  class Monitor {
   public:
    Monitor(WorkloadSession& session, Run<P>& run, const RunOptions& options)
        : session_(session),
          run_(run),
          options_(options),
          warm_until_(M::now() + M::ticks(options.warmup * 1e6)),
          window_(M::ticks(options.seconds * 1e6)),
          patience_(M::ticks(options.watchdog_s * 1e6)),
          interval_(options.intervals == 0 ? 0
                                           : M::ticks(static_cast<double>(interval_us(options)))),
          workers_(session.workers_),
          seen_(static_cast<std::size_t>(workers_), {0, M::now()}) {
      // Before the first worker starts, or what it commits until the first poll would be lost.
      if (options.warmup == 0) start_measuring(M::now());
    }

    /// False once the run is over.
    bool poll(bool interrupted) {
      const auto now = M::now();
      if (!measuring_ && now >= warm_until_) start_measuring(now);
      if (measuring_) go_on_in_window(now);
      look_for_stuck(now);
      const bool full = (run_.timeline != nullptr && run_.timeline->full()) ||
                        (run_.history != nullptr && run_.history->full()) ||
                        (run_.trace != nullptr && run_.trace->full());
      if (!interrupted && !stuck() && !full && !(measuring_ && now >= measure_until_)) return true;
      run_.state.measured_until.store(now, std::memory_order_relaxed);  // set_phase() releases it
      set_phase(Phase::over);
      // release: every wait sees it, soon enough.
      run_.state.stop.store(1, std::memory_order_release);
      M::unpark(run_.state.stop.raw());
      M::unpark_all();
      return false;
    }

    [[nodiscard]] bool stuck() const { return !dump_.empty(); }

    [[nodiscard]] std::string report(bool left) const {
      if constexpr (requires { M::left_behind(); }) {
        if (!left) {
          return M::left_behind() + "; the session is abandoned\n" +
                 (stuck() ? dump_ : who_waits_for_whom(M::now()));
        }
      }
      std::string text = "a worker made no progress for " +
                         std::to_string(M::microseconds(patience_) / 1e6) + " s\n" + dump_;
      if (!left) text += "it did not leave when told to stop; the session is abandoned\n";
      return text;
    }

   private:
    void start_measuring(typename M::Ticks now) {
      measuring_ = true;
      measure_until_ = now + window_;
      if constexpr (M::kRecords) {
        if (run_.timeline != nullptr) run_.timeline->open(now, M::kTicksPerUs);
      }
      run_.state.measured_from.store(now, std::memory_order_relaxed);  // set_phase() releases it
      if (interval_ != 0) run_.intervals.push_back(now);
      set_phase(Phase::measure);
    }

    /// Makes the switches that are due, and begins the interval that is.
    void go_on_in_window(typename M::Ticks now) {
      const typename M::Ticks passed = now - run_.state.measured_from.peek();
      while (run_.switches.size() < options_.switches.size()) {
        const PlannedSwitch& next = options_.switches[run_.switches.size()];
        if (passed < M::ticks(next.at_s * 1e6)) break;
        session_.switch_policy(next.policy);
        run_.switches.push_back(now);
      }
      if (interval_ == 0 || passed / interval_ < next_interval_) return;
      if (passed / interval_ >= options_.intervals) return;
      // One that is over before anybody has looked is none: the one before was the longer.
      next_interval_ = passed / interval_ + 1;
      run_.intervals.push_back(now);
      set_phase(phase_of_interval(run_.intervals.size() - 1));
    }

    struct Seen {
      std::uint64_t beats;
      typename M::Ticks since;
    };

    void set_phase(Phase phase) {
      // release: with the workers' acquire.
      run_.state.phase.store(static_cast<std::uint64_t>(phase), std::memory_order_release);
    }

    void look_for_stuck(typename M::Ticks now) {
      bool found = false;
      for (int worker = 0; worker < workers_; ++worker) {
        Seen& seen = seen_[static_cast<std::size_t>(worker)];
        // relaxed: only compared.
        const auto beats = run_.heartbeats[worker].beats.load(std::memory_order_relaxed);
        if (beats != seen.beats) {
          seen = {beats, now};
        } else if (now - seen.since > patience_) {
          found = true;
        }
      }
      if (found && !stuck()) dump_ = who_waits_for_whom(now);
    }

    [[nodiscard]] std::string who_waits_for_whom(typename M::Ticks now) const {
      std::ostringstream text;
      for (int worker = 0; worker < workers_; ++worker) {
        const Seen& seen = seen_[static_cast<std::size_t>(worker)];
        const int other = run_.runtime.waits_for(worker);
        text << "worker " << worker << ": " << seen.beats << " attempts, the last begun "
             << M::microseconds(now - seen.since) / 1e6 << " s ago";
        if (other >= 0) text << ", waits for worker " << other;
        text << '\n';
      }
      return text.str();
    }

    WorkloadSession& session_;
    Run<P>& run_;
    const RunOptions& options_;
    typename M::Ticks warm_until_;
    typename M::Ticks window_;
    typename M::Ticks patience_;
    typename M::Ticks interval_;  ///< 0: none are counted
    typename M::Ticks next_interval_ = 1;
    typename M::Ticks measure_until_ = 0;
    int workers_;
    bool measuring_ = false;
    std::vector<Seen> seen_;
    std::string dump_;
  };

  template <class P>
  void offer_switch([[maybe_unused]] const std::shared_ptr<Run<P>>& run) {
    if constexpr (std::is_same_v<P, PolicyTable>) {
      const std::lock_guard lock(switch_mutex_);
      switch_policy_ = [run](std::shared_ptr<const CompiledPolicy> policy) {
        run->runtime.switch_policy(std::move(policy));
      };
    }
  }

  /// The workload's clock goes on from the first transaction that is not begun yet: what a run
  /// left behind is not late in the next one.
  void start_arrivals([[maybe_unused]] RunState<M>& state) const {
    if constexpr (HasArrivals<W>) {
      const W& workload = body_->workload;
      if (!workload.open_loop()) return;
      double first = workload.next_arrival_us(0);
      for (int worker = 1; worker < workers_; ++worker) {
        first = std::min(first, workload.next_arrival_us(worker));
      }
      state.arrivals = {M::now(), first};
    }
  }

  /// How a run kept up with what arrived.
  template <class P>
  [[nodiscard]] ArrivalResult arrivals_of(const Run<P>& run) const
    requires HasArrivals<W>
  {
    const W& workload = body_->workload;
    const ArrivalClock<M>& clock = run.state.arrivals;
    // The window is every worker's: see Worker::may_be_late().
    const Measurements<M>& window = run.measurements.front();
    const double from = clock.shows(window.start);
    const double until = clock.shows(window.end);
    ArrivalResult result;
    if (until > from) {
      result.offered = (workload.arrived(until) - workload.arrived(from)) * 1e6 / (until - from);
    }
    // What was begun after the window's end may make it negative.
    const double backlog = std::max(0.0, workload.arrived(until) - workload.begun());
    result.backlog = static_cast<std::uint64_t>(std::min(backlog, kMostCounted));
    for (int worker = 0; worker < workers_; ++worker) {
      result.lag_us = std::max(result.lag_us, until - workload.next_arrival_us(worker));
      const Ticks idle = run.measurements[static_cast<std::size_t>(worker)].idle;
      result.idle_s += M::microseconds(std::min(idle, window.end - window.start)) / 1e6;
    }
    return result;
  }

  void withdraw_switch() {
    const std::lock_guard lock(switch_mutex_);
    switch_policy_ = nullptr;
  }

  template <class P>
  Result summarize(const Run<P>& run, const RunOptions& options) const {
    Result result;
    result.protocol = options.protocol;
    result.policy = options.policy == nullptr ? "" : options.policy->policy().name;
    result.workload = described_;
    result.machine = M::kKind;
    result.cores = workers_;
    result.seed = options.seed;
    const std::vector<std::string> names = W::type_names(parsed_);
    result.types.resize(names.size());
    std::vector<Histogram> latencies(names.size());
    result.aborts_by_state.assign(signature_.state_count() + 1, 0);
    result.waiting_by_state_s.assign(signature_.state_count() + 1, 0);
    for (std::size_t type = 0; type < names.size(); ++type) result.types[type].name = names[type];
    for (const Measurements<M>& worker : run.measurements) add(result, latencies, worker);
    if constexpr (requires { run.runtime.wait_times; }) {
      for (const auto& times : run.runtime.wait_times) {
        for (std::size_t state = 0; state < times.ticks.size(); ++state) {
          result.waiting_by_state_s[state] += M::microseconds(times.ticks[state]) / 1e6;
        }
      }
    }
    add_intervals(result, run);
    const Ticks began = run.state.measured_from.peek();
    for (std::size_t at = 0; at < run.switches.size(); ++at) {
      result.switches.push_back({.at_s = M::microseconds(run.switches[at] - began) / 1e6,
                                 .policy = options.switches[at].policy->policy().name});
    }
    std::uint64_t aborts = 0;
    for (std::size_t type = 0; type < names.size(); ++type) {
      result.types[type].latency_us = in_microseconds(latencies[type]);
      result.commits += result.types[type].commits;
      result.throughput += result.types[type].throughput;
      aborts += result.types[type].aborts;
    }
    result.mixed_throughput = mixed_throughput(run.measurements);
    if constexpr (HasArrivals<W>) {
      if (body_->workload.open_loop()) {
        result.arrivals = arrivals_of(run);
        result.mixed_throughput = result.throughput;
      }
    }
    if constexpr (HasHints<W>) {
      if (run.admission != nullptr) {
        result.schedule = schedule_result(*run.admission, run.measurements);
        // Who draws for others waits for them, so what a type takes of a worker's time is unknown;
        // but nothing overtakes there, and the mix comes through.
        if (result.schedule->moved != 0) result.mixed_throughput = result.throughput;
      }
    }
    result.timeline = run.timeline;
    if (run.history != nullptr) {
      // Shares its owner: the history is a part of it.
      result.history = {run.history, &run.history->history()};
    }
    result.trace = run.trace;
    const auto attempts = static_cast<double>(aborts + result.commits);
    result.abort_rate = attempts == 0 ? 0 : static_cast<double>(aborts) / attempts;
    return result;
  }

  /// Each worker goes from one transaction to the next, drawing types by the workload's mix; so in
  /// the long run it spends on one transaction the mix's mean of what each type takes, and a type
  /// takes the time spent on it over the times it committed. Transactions that have not ended count
  /// with the time they have had: those that wait longest are what a short window misses.
  static double mixed_throughput(const std::vector<Measurements<M>>& workers) {
    double begun = 0;
    double mean = 0;  // microseconds a transaction, times `begun`
    for (std::size_t type = 0; type < workers.front().by_type.size(); ++type) {
      double commits = 0;
      double unfinished = 0;
      double us = 0;
      for (const Measurements<M>& worker : workers) {
        commits += static_cast<double>(worker.by_type[type].commits);
        unfinished += static_cast<double>(worker.by_type[type].unfinished);
        us += M::microseconds(worker.by_type[type].time);
      }
      if (commits + unfinished == 0) continue;
      if (commits == 0) return 0;
      begun += commits + unfinished;
      mean += (commits + unfinished) * us / commits;
    }
    return mean == 0 ? 0 : static_cast<double>(workers.size()) * 1e6 * begun / mean;
  }

  static void add(Result& result, std::vector<Histogram>& latencies,
                  const Measurements<M>& worker) {
    const double seconds = M::microseconds(worker.end - worker.start) / 1e6;
    result.duration_s = std::max(result.duration_s, seconds);
    for (std::size_t type = 0; type < result.types.size(); ++type) {
      const auto& counts = worker.by_type[type];
      result.types[type].commits += counts.commits;
      result.types[type].rollbacks += counts.rollbacks;
      result.types[type].aborts += counts.aborts;
      result.types[type].unfinished += counts.unfinished;
      result.types[type].time_s += M::microseconds(counts.time) / 1e6;
      if (seconds > 0) {
        // Each worker's own window: they enter and leave it at their own transaction boundaries.
        result.types[type].throughput += static_cast<double>(counts.commits) / seconds;
      }
      latencies[type].merge(counts.latency);
    }
    for (std::size_t reason = 1; reason < kAbortReasonNames.size(); ++reason) {
      const std::uint64_t count = worker.aborts_by_reason[reason];
      if (count != 0) result.aborts_by_reason[std::string(kAbortReasonNames[reason])] += count;
    }
    for (std::size_t state = 0; state < worker.aborts_by_state.size(); ++state) {
      result.aborts_by_state[state] += worker.aborts_by_state[state];
    }
    result.partial_retries += worker.partial_retries;
    const auto seconds_of = [](typename M::Ticks ticks) { return M::microseconds(ticks) / 1e6; };
    result.time_s.useful += seconds_of(worker.useful);
    result.time_s.waiting += seconds_of(worker.waiting);
    result.time_s.wasted += seconds_of(worker.wasted);
    result.time_s.backoff += seconds_of(worker.backoff);
    result.time_s.commit += seconds_of(worker.commit);
  }

  template <class P>
  static void add_intervals(Result& result, const Run<P>& run) {
    const Ticks window = run.intervals.empty() ? 0 : run.intervals.front();
    for (std::size_t at = 0; at < run.intervals.size(); ++at) {
      const bool last = at + 1 == run.intervals.size();
      const Ticks end = last ? run.state.measured_until.peek() : run.intervals[at + 1];
      IntervalResult interval{.start_s = M::microseconds(run.intervals[at] - window) / 1e6,
                              .seconds = M::microseconds(end - run.intervals[at]) / 1e6,
                              .commits = std::vector<std::uint64_t>(result.types.size()),
                              .aborts = std::vector<std::uint64_t>(result.types.size())};
      for (const Measurements<M>& worker : run.measurements) {
        for (std::size_t type = 0; type < result.types.size(); ++type) {
          const auto& counts = worker.by_interval.of(at, type);
          interval.commits[type] += counts.commits;
          interval.aborts[type] += counts.aborts;
        }
      }
      result.intervals.push_back(std::move(interval));
    }
  }

  static LatencyResult in_microseconds(const Histogram& ticks) {
    const auto us = [](double value) { return value / M::ticks_per_us(); };
    return {.mean = us(ticks.mean()),
            .p50 = us(ticks.quantile(0.5)),
            .p90 = us(ticks.quantile(0.9)),
            .p99 = us(ticks.quantile(0.99)),
            .p999 = us(ticks.quantile(0.999)),
            .max = us(static_cast<double>(ticks.max()))};
  }

  MachineOptions machine_;
  OptionMap described_;
  typename M::Ticks ended_ = 0;  ///< when the last run did
  int workers_;
  typename W::Options parsed_;
  Signature signature_;
  std::shared_ptr<Body> body_;
  std::int64_t loaded_bytes_ = 0;
  std::atomic<bool> stop_requested_{false};
  bool stuck_ = false;
  bool has_run_ = false;
  std::mutex run_mutex_;
  std::mutex switch_mutex_;
  std::function<void(std::shared_ptr<const CompiledPolicy>)> switch_policy_;
};

}  // namespace heddle
