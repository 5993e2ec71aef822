#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/histogram.h"
#include "driver/latency_distribution.h"
#include "driver/measurements.h"
#include "driver/result.h"
#include "driver/run.h"
#include "driver/session.h"
#include "model/inputs.h"

namespace heddle {

namespace summary {

/// Each worker runs one transaction after the other, drawing types by the workload's mix. In the
/// long run its time per transaction is the mean over the mix of each type's time, and a type's
/// time is the time spent on it divided by its commits. Transactions that have not ended count with
/// the time they have had: a short window misses those that wait longest.
///
/// If draws are independent, the types drawn are the mix, however slow a worker is. If they follow
/// a queue, a worker that is held up by one type leaves the others to the remaining workers, which
/// draw more of them than the mix has; the workload then gives the shares.
///
/// Neither is a sample where some workers run one type only: the workload gives weights.
///
/// A worker may be without a transaction for a part of the window: on real cores without a
/// processor or its turn, on any core in a transaction that began before the window and so does not
/// count. Only the part of the window that transactions have taken counts; with a single type, its
/// commits.
///
/// On real cores a type that was begun and has no commit is assumed to end just now: runs are not
/// reproducible to the bit, and one window without a commit must not count as 0.
///
/// @param window_us length of the measured window, in microseconds
template <class M>
[[nodiscard]] double mixed_throughput(const std::vector<Measurements<M>>& workers,
                                      const Inputs& inputs, double window_us) {
  double begun = 0;
  double all_us = 0;
  double mean = 0;  // microseconds per transaction, times `begun`
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
    if (commits == 0) {
      if constexpr (M::kSingleThreaded) return 0;
      commits = unfinished;
      unfinished = 0;
    }
    all_us += us;
    const int number = static_cast<int>(type);
    const double drawn = inputs.share(number).value_or(commits + unfinished);
    const double weight = inputs.weight(number).value_or(drawn);
    begun += weight;
    mean += weight * us / commits;
  }
  if (mean == 0 || window_us == 0) return 0;
  return all_us / window_us * 1e6 * begun / mean;
}

/// The latencies of a type's transactions, summed over the workers.
struct Latencies {
  Histogram ended;
  Histogram cut_off;  ///< by the window's end, at that age
};

/// Throughput over the run's window. On simulated cores a worker that was inside a transaction when
/// the window opened has a shorter window of its own: its pace there does not reflect the rest.
template <class M>
void add(Result& result, std::vector<Latencies>& latencies, const Measurements<M>& worker) {
  for (std::size_t type = 0; type < result.types.size(); ++type) {
    const auto& counts = worker.by_type[type];
    result.types[type].commits += counts.commits;
    result.types[type].rollbacks += counts.rollbacks;
    result.types[type].aborts += counts.aborts;
    result.types[type].unfinished += counts.unfinished;
    result.types[type].time_s += M::microseconds(counts.time) / 1e6;
    if (result.duration_s > 0) {
      result.types[type].throughput += static_cast<double>(counts.commits) / result.duration_s;
    }
    latencies[type].ended.merge(counts.latency);
    latencies[type].cut_off.merge(counts.cut_off);
  }
  for (std::size_t reason = 1; reason < kAbortReasonNames.size(); ++reason) {
    const std::uint64_t count = worker.aborts_by_reason[reason];
    if (count != 0) result.aborts_by_reason[std::string(kAbortReasonNames[reason])] += count;
  }
  for (std::size_t state = 0; state < worker.aborts_by_state.size(); ++state) {
    result.aborts_by_state[state] += worker.aborts_by_state[state];
  }
  result.partial_retries += worker.partial_retries;
  result.cut_off_attempts += worker.cut_off_attempts;
  const auto seconds_of = [](typename M::Ticks ticks) { return M::microseconds(ticks) / 1e6; };
  result.time_s.useful += seconds_of(worker.useful);
  result.time_s.waiting += seconds_of(worker.waiting);
  result.time_s.wasted += seconds_of(worker.wasted);
  result.time_s.backoff += seconds_of(worker.backoff);
  result.time_s.commit += seconds_of(worker.commit);
}

template <class M>
void add_intervals(Result& result, const Run<M>& run) {
  using Ticks = typename M::Ticks;
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

template <class M>
[[nodiscard]] LatencyResult in_microseconds(const LatencyDistribution& ticks) {
  const auto us = [](double value) { return value / M::ticks_per_us(); };
  LatencyResult result{.mean = us(ticks.mean()),
                       .p50 = us(ticks.quantile(0.5)),
                       .p90 = us(ticks.quantile(0.9)),
                       .p99 = us(ticks.quantile(0.99)),
                       .p999 = us(ticks.quantile(0.999)),
                       .max = us(ticks.max())};
  for (std::size_t at = 0; at < LatencyResult::kPowers.size(); ++at) {
    result.norms[at] = us(ticks.norm(LatencyResult::kPowers[at]));
  }
  return result;
}

/// To what time the backoff of a type has adapted: the geometric mean over the workers that know.
template <class M>
[[nodiscard]] std::optional<double> adapted_backoff_us(const std::vector<Measurements<M>>& workers,
                                                       std::size_t type) {
  double sum = 0;
  int count = 0;
  for (const Measurements<M>& worker : workers) {
    if (!worker.by_type[type].backoff_us) continue;
    sum += std::log(*worker.by_type[type].backoff_us);
    ++count;
  }
  if (count == 0) return {};
  return std::exp(sum / count);
}

/// How a run kept up with its arrivals.
template <class M>
[[nodiscard]] ArrivalResult arrivals_of(const Run<M>& run) {
  using Ticks = typename M::Ticks;
  constexpr double kMostCounted = 1e15;
  const Inputs& workload = *run.database;
  const ArrivalClock<M>& clock = run.state.arrivals;
  // The window is that of every worker: see Worker::may_be_late().
  const Measurements<M>& window = run.measurements.front();
  const double from = clock.shows(window.start);
  const double until = clock.shows(window.end);
  ArrivalResult result;
  if (until > from) {
    result.offered = (workload.arrived(until) - workload.arrived(from)) * 1e6 / (until - from);
  }
  // Transactions begun after the window's end may make it negative.
  const double backlog = std::max(0.0, workload.arrived(until) - workload.begun());
  result.backlog = static_cast<std::uint64_t>(std::min(backlog, kMostCounted));
  for (int worker = 0; worker < static_cast<int>(run.measurements.size()); ++worker) {
    result.lag_us = std::max(result.lag_us, until - workload.next_arrival_us(worker));
    const Ticks idle = run.measurements[static_cast<std::size_t>(worker)].idle;
    result.idle_s += M::microseconds(std::min(idle, window.end - window.start)) / 1e6;
  }
  return result;
}

}  // namespace summary

/// The measurements of a run's workers as a result.
/// @param described the workload's options
template <class M>
[[nodiscard]] Result summarize(const Run<M>& run, const RunOptions& options,
                               const OptionMap& described) {
  using Ticks = typename M::Ticks;
  const Signature& signature = run.database->signature();
  Result result;
  result.protocol = options.protocol;
  result.policy = options.policy == nullptr ? "" : options.policy->policy().name;
  result.workload = described;
  result.machine = M::kKind;
  result.cores = static_cast<int>(run.measurements.size());
  result.seed = options.seed;
  const std::vector<std::string>& names = run.database->type_names();
  result.types.resize(names.size());
  std::vector<summary::Latencies> latencies(names.size());
  result.aborts_by_state.assign(signature.state_count() + 1, 0);
  result.waiting_by_state_s.assign(signature.state_count() + 1, 0);
  for (std::size_t type = 0; type < names.size(); ++type) {
    result.types[type].name = names[type];
    result.types[type].share = run.database->share(static_cast<int>(type));
    result.types[type].weight = run.database->weight(static_cast<int>(type));
    result.types[type].backoff_us = summary::adapted_backoff_us(run.measurements, type);
  }
  const Ticks began = run.state.measured_from.peek();
  const double window_us = M::microseconds(run.state.measured_until.peek() - began);
  result.duration_s = window_us / 1e6;
  for (const Measurements<M>& worker : run.measurements) summary::add(result, latencies, worker);
  for (int worker = 0; worker < result.cores; ++worker) {
    const WaitTimes<M>* times = run.protocol->wait_times(worker);
    if (times == nullptr) break;
    for (std::size_t state = 0; state < times->ticks.size(); ++state) {
      result.waiting_by_state_s[state] += M::microseconds(times->ticks[state]) / 1e6;
    }
  }
  summary::add_intervals(result, run);
  for (std::size_t at = 0; at < run.switches.size(); ++at) {
    result.switches.push_back({.at_s = M::microseconds(run.switches[at] - began) / 1e6,
                               .policy = options.switches[at].policy->policy().name});
  }
  std::uint64_t aborts = 0;
  for (std::size_t type = 0; type < names.size(); ++type) {
    result.types[type].latency_us =
        summary::in_microseconds<M>({latencies[type].ended, latencies[type].cut_off});
    if (latencies[type].cut_off.count() != 0) {
      result.types[type].oldest_us =
          static_cast<double>(latencies[type].cut_off.max()) / M::ticks_per_us();
    }
    result.commits += result.types[type].commits;
    result.throughput += result.types[type].throughput;
    aborts += result.types[type].aborts;
  }
  result.mixed_throughput = summary::mixed_throughput(run.measurements, *run.database, window_us);
  if (run.database->open_loop()) {
    result.arrivals = summary::arrivals_of(run);
    result.mixed_throughput = result.throughput;
  }
  if (run.admission != nullptr) {
    result.schedule = run.admission->result(run.measurements);
    // A worker that draws for others waits for them, so the worker time of a type is unknown; but
    // nothing overtakes there, and the mix is kept.
    if (result.schedule->moved != 0) result.mixed_throughput = result.throughput;
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

}  // namespace heddle
