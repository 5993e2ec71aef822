#pragma once

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "driver/run.h"
#include "driver/run_options.h"
#include "driver/run_state.h"
#include "driver/session.h"
#include "machine/memory_guard.h"
#include "machine/pages.h"

namespace heddle {

/// Monitors a run from outside: advances its phases, and detects a worker that hangs.
template <class M>
class Monitor {
 public:
  Monitor(Run<M>& run, const RunOptions& options)
      : run_(run),
        options_(options),
        began_(M::now()),
        had_(Pages::bytes_had()),
        warm_until_(began_ + M::ticks(options.warmup * 1e6)),
        window_(M::ticks(options.seconds * 1e6)),
        patience_(M::ticks(options.watchdog_s * 1e6)),
        interval_(options.intervals == 0 ? 0 : M::ticks(static_cast<double>(interval_us(options)))),
        workers_(static_cast<int>(run.measurements.size())),
        polled_(M::now()),
        seen_(static_cast<std::size_t>(workers_), {0, M::now()}) {
    // Before the first worker starts, or its commits until the first poll would be lost.
    if (options.warmup == 0) start_measuring(M::now());
  }

  /// False once the run is over.
  bool poll(bool interrupted) {
    const auto now = M::now();
    if (!measuring_ && now >= warm_until_) {
      if constexpr (!M::kSingleThreaded) make_pages_ready(now - began_);
      start_measuring(M::now());
    }
    if (measuring_) go_on_in_window(now);
    look_for_stuck(now);
    if (!interrupted && !stuck() && !run_.is_full() && !memory_.is_short() &&
        !run_.protocol->failed() && !(measuring_ && now >= measure_until_)) {
      return true;
    }
    end_measuring(now);
    set_phase(Phase::over);
    // release: every wait sees it soon enough.
    run_.state.stop.store(1, std::memory_order_release);
    M::unpark(run_.state.stop.raw());
    M::unpark_all();
    run_.protocol->interrupt();
    return false;
  }

  [[nodiscard]] bool stuck() const { return !dump_.empty(); }
  /// Whether the run was ended because memory was short.
  [[nodiscard]] bool short_of_memory() const { return memory_.was_short(); }

  [[nodiscard]] std::string report(bool left) const {
    if constexpr (requires { M::left_behind(); }) {
      if (!left) {
        return M::left_behind() + "; the session is abandoned\n" +
               (stuck() ? dump_ : who_waits_for_whom(M::now()));
      }
    }
    std::string text = "a worker made no progress for " +
                       std::to_string(M::microseconds(patience_) / 1e6) + " s\n" + dump_;
    if (!left) text += "it did not leave when it was asked to stop; the session is abandoned\n";
    return text;
  }

 private:
  /// Prepares the memory that the window will need if it needs as much as the warm-up did. The
  /// system clears every page it grants; that took up to a third of TPC-C's time and is no property
  /// of an engine. Other engines allocate all of their memory when they start.
  ///
  /// The workers rest meanwhile: they would use up the memory as fast as it is prepared. Arrivals
  /// do not stop, so in an open loop the workers do not rest.
  void make_pages_ready(typename M::Ticks warmed) {
    if (!run_.database->open_loop()) set_phase(Phase::prepare);
    constexpr double kMargin = 1.25;
    const auto grown = static_cast<double>(Pages::bytes_had() - had_);
    const double wanted =
        kMargin * grown * static_cast<double>(window_) / static_cast<double>(warmed);
    const double most = static_cast<double>(memory_left()) / 4;
    Pages::make_ready(static_cast<std::size_t>(std::min(wanted, most)));
  }

  void start_measuring(typename M::Ticks now) {
    measuring_ = true;
    measure_until_ = now + window_;
    if (run_.timeline != nullptr) run_.timeline->open(now, M::ticks_per_us());
    run_.state.measured_from.store(now, std::memory_order_relaxed);  // set_phase() releases it
    if constexpr (!M::kSingleThreaded) {
      run_.state.measured_until.store(measure_until_, std::memory_order_relaxed);
    }
    if (interval_ != 0) run_.intervals.push_back(now);
    run_.syncs = run_.protocol->syncs();
    run_.round_trips = run_.protocol->round_trips();
    set_phase(Phase::measure);
  }

  /// Closes the window, which is empty if it never opened. set_phase() publishes what is stored.
  void end_measuring(typename M::Ticks now) {
    if (!measuring_) {
      run_.state.measured_from.store(now, std::memory_order_relaxed);
    } else if constexpr (!M::kSingleThreaded) {
      // A late monitor does not extend the window: the workers count nothing after its end.
      now = std::min(now, measure_until_);
    }
    run_.state.measured_until.store(now, std::memory_order_relaxed);
    if (run_.syncs) *run_.syncs = *run_.protocol->syncs() - *run_.syncs;
    if (run_.round_trips) *run_.round_trips = *run_.protocol->round_trips() - *run_.round_trips;
  }

  /// Makes the policy switches that are due, and begins the interval that is due.
  void go_on_in_window(typename M::Ticks now) {
    const typename M::Ticks passed = now - run_.state.measured_from.peek();
    while (run_.switches.size() < options_.switches.size()) {
      const PlannedSwitch& next = options_.switches[run_.switches.size()];
      if (passed < M::ticks(next.at_s * 1e6)) break;
      run_.switch_policy(next.policy);
      run_.switches.push_back(now);
    }
    if (interval_ == 0 || passed / interval_ < next_interval_) return;
    if (passed / interval_ >= options_.intervals) return;
    // An interval that ended before a poll saw it is skipped; the one before it was longer instead.
    next_interval_ = passed / interval_ + 1;
    run_.intervals.push_back(now);
    set_phase(phase_of_interval(run_.intervals.size() - 1));
  }

  static constexpr double kLongestGapUs = 100'000;

  struct Seen {
    std::uint64_t beats;
    typename M::Ticks since;
    typename M::Ticks watched = 0;  ///< time since then in which this thread ran, too
  };

  void set_phase(Phase phase) {
    // release: pairs with the workers' acquire.
    run_.state.phase.store(static_cast<std::uint64_t>(phase), std::memory_order_release);
  }

  void look_for_stuck(typename M::Ticks now) {
    bool found = false;
    // While this thread did not run, the workers probably did not either: a process that is
    // stopped, frozen or starved is not stuck.
    const auto passed = std::min(now - polled_, M::ticks(kLongestGapUs));
    polled_ = now;
    for (int worker = 0; worker < workers_; ++worker) {
      Seen& seen = seen_[static_cast<std::size_t>(worker)];
      // relaxed: only compared.
      const auto beats = run_.heartbeats[worker].beats.load(std::memory_order_relaxed);
      if (beats != seen.beats) {
        seen = {beats, now};
      } else {
        seen.watched += passed;
        found = found || seen.watched > patience_;
      }
    }
    if (found && !stuck()) dump_ = who_waits_for_whom(now);
  }

  [[nodiscard]] std::string who_waits_for_whom(typename M::Ticks now) const {
    std::ostringstream text;
    for (int worker = 0; worker < workers_; ++worker) {
      const Seen& seen = seen_[static_cast<std::size_t>(worker)];
      const int other = run_.protocol->waits_for(worker);
      text << "worker " << worker << ": " << seen.beats << " attempts, the last begun "
           << M::microseconds(now - seen.since) / 1e6 << " s ago";
      if (other >= 0) text << ", waits for worker " << other;
      text << '\n';
    }
    text << run_.protocol->calls_in_progress();
    return text.str();
  }

  Run<M>& run_;
  const RunOptions& options_;
  typename M::Ticks began_;
  std::uint64_t had_;  ///< Pages::bytes_had() then
  typename M::Ticks warm_until_;
  typename M::Ticks window_;
  typename M::Ticks patience_;
  typename M::Ticks interval_;  ///< 0: none are counted
  typename M::Ticks next_interval_ = 1;
  typename M::Ticks measure_until_ = 0;
  int workers_;
  typename M::Ticks polled_;
  MemoryWatch memory_;
  bool measuring_ = false;
  std::vector<Seen> seen_;
  std::string dump_;
};

}  // namespace heddle
