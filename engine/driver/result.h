#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "observe/history.h"
#include "observe/recorded_timeline.h"

namespace heddle {

class RecordedTrace;

/// Latency of one type from its first attempt to its commit, aborts and backoff included, in µs;
/// from its arrival in an open loop, and from its draw where transactions are scheduled. Those that
/// the window's end cut off count with their age (LatencyDistribution).
struct LatencyResult {
  /// The powers of `norms`.
  static constexpr std::array kPowers{2, 3, 4, 6, 8};

  double mean = 0, p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;
  std::array<double, kPowers.size()> norms{};  ///< LatencyDistribution::norm() by power
};

struct TypeResult {
  std::string name;
  std::uint64_t commits = 0;  ///< includes rollbacks specified by the transaction
  std::uint64_t rollbacks = 0;
  std::uint64_t aborts = 0;
  std::uint64_t unfinished = 0;  ///< drawn, and not committed when the run ended
  /// The age of the oldest of these by then, in µs; empty: there are none.
  std::optional<double> oldest_us = {};
  double time_s = 0;      ///< of the workers' time, arrival (or begin) to end, unfinished included
  double throughput = 0;  ///< commits a second
  /// Of the workload's transactions in the long run, 0 to 1; empty: estimated by those drawn.
  std::optional<double> share = {};
  std::optional<double> weight = {};  ///< Inputs::weight()
  /// The backoff by the end of the run, in µs: the geometric mean over the workers whose
  /// transactions have aborted. Empty without any, and unless a table adapts it.
  std::optional<double> backoff_us = {};
  LatencyResult latency_us;
};

/// The workers' time by activity, in seconds summed over workers.
struct TimeResult {
  double useful = 0;   ///< committed attempts, less their waiting and commit time
  double waiting = 0;  ///< for other transactions
  double wasted = 0;   ///< aborted attempts, less their waiting
  double backoff = 0;
  double commit = 0;  ///< the commit protocol of committed attempts
};

/// How a run kept up with an open loop, whose transactions arrive by a clock of their own.
struct ArrivalResult {
  double offered = 0;         ///< transactions per second that arrived in the window
  std::uint64_t backlog = 0;  ///< arrived by its end, but not begun
  double lag_us = 0;          ///< the age of the oldest of these by then
  double idle_s = 0;          ///< time in which workers had nothing to do, summed over them
};

/// The results of a part of the measured window: transactions that began in it.
struct IntervalResult {
  double start_s = 0;                  ///< since the window began
  double seconds = 0;                  ///< how long it was
  std::vector<std::uint64_t> commits;  ///< per type.
  std::vector<std::uint64_t> aborts;   ///< per type.
};

/// A policy switch of the run.
struct SwitchResult {
  double at_s = 0;  ///< since the window began
  std::string policy;
};

/// How transactions were scheduled, with the outcome; counts are transactions.
struct ScheduleResult {
  std::map<std::string, std::string> options;
  std::uint64_t hot = 0, cold = 0;  ///< begun, with a hot key or without one.
  std::uint64_t overtaking = 0;     ///< begun before an older one
  std::uint64_t forced = 0;         ///< begun because of the limit of overtaking.
  std::uint64_t deferred = 0;       ///< number of deferrals.
  std::uint64_t moved = 0;          ///< drawn by one worker and left with another
  /// Time in which workers drew transactions, predicted their hot keys and chose among them.
  double choosing_s = 0;
  double held_s = 0;  ///< time in which workers waited for a start time, summed over them
};

/// The results of a run: one schema from here to JSON and the experiment record.
struct Result {
  std::string protocol;
  std::string policy;
  std::map<std::string, std::string> workload;
  std::string machine;
  int cores = 0;
  std::uint64_t seed = 0;
  double duration_s = 0;
  std::uint64_t commits = 0;
  double throughput = 0;
  /// Commits per second if every type continued at its pace in the mix that the workload draws: the
  /// long-run throughput estimated from a window too short for that mix. On simulated cores 0 if a
  /// type that was begun has no commit; on real ones that type is assumed to end with the window.
  /// In an open loop, where the workers do not set the pace, `throughput`.
  double mixed_throughput = 0;
  double abort_rate = 0;  ///< aborted attempts divided by all attempts
  std::uint64_t partial_retries = 0;
  /// Attempts that the end of the run aborted: part of a history, but not among the aborts. Not
  /// part of the JSON.
  std::uint64_t cut_off_attempts = 0;
  std::vector<TypeResult> types;
  std::map<std::string, std::uint64_t> aborts_by_reason;
  std::vector<std::uint64_t> aborts_by_state;  ///< one per state, then those of no state
  std::vector<double> waiting_by_state_s;      ///< one per state, then at commit
  TimeResult time_s;
  std::optional<ArrivalResult> arrivals;   ///< of an open loop
  std::optional<ScheduleResult> schedule;  ///< unless transactions started as they were drawn
  std::vector<IntervalResult> intervals;   ///< if requested; together they are the window
  std::vector<SwitchResult> switches;      ///< planned switches made in the window
  bool interrupted = false;
  bool short_of_memory = false;  ///< the run was ended because little memory was left
  /// How often an external store waited in the window until data was on disk; empty: there is none.
  std::optional<std::uint64_t> syncs = {};
  /// How often it waited there for an answer of the store's server; empty: there is no server.
  std::optional<std::uint64_t> round_trips = {};
  std::string failure = {};         ///< why an external store ended the run; empty: it did not
  std::int64_t grown_bytes = 0;     ///< of the database in the run
  std::int64_t database_bytes = 0;  ///< size of the database after it, free memory included
  /// Memory that the process uses then. Real cores only, because it differs between runs.
  std::optional<std::uint64_t> resident_bytes;
  /// The workload's consistency conditions that the database violates after the run, if checked.
  std::vector<std::string> violations;
  /// The timeline of the run, if recorded.
  std::shared_ptr<const RecordedTimeline> timeline;
  /// The reads and writes of every transaction, if recorded. Not part of the JSON.
  std::shared_ptr<const check::History> history;
  /// The accesses of every transaction, if recorded. Not part of the JSON.
  std::shared_ptr<const RecordedTrace> trace;

  [[nodiscard]] std::string to_json() const;
};

}  // namespace heddle
