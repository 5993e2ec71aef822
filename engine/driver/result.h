#pragma once

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
/// in an open loop from its arrival, and where transactions are scheduled from its drawing.
struct LatencyResult {
  double mean = 0, p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;
};

struct TypeResult {
  std::string name;
  std::uint64_t commits = 0;  ///< includes rollbacks: the transaction did what it is specified to
  std::uint64_t rollbacks = 0;
  std::uint64_t aborts = 0;
  std::uint64_t unfinished = 0;  ///< drawn, and not committed when the run ended
  double time_s = 0;      ///< of the workers' time, arrival (or beginning) to end, unfinished too
  double throughput = 0;  ///< commits a second
  /// Of the workload's transactions in the long run, 0 to 1; nothing: those drawn say it.
  std::optional<double> share = {};
  LatencyResult latency_us;
};

/// Where the workers' time went, in seconds summed over workers.
struct TimeResult {
  double useful = 0;   ///< attempts that committed, less their waiting and commit
  double waiting = 0;  ///< for other transactions
  double wasted = 0;   ///< attempts that aborted, less their waiting
  double backoff = 0;
  double commit = 0;  ///< the commit protocol of attempts that committed
};

/// How an open loop, whose transactions arrive by a clock of their own, was kept up with.
struct ArrivalResult {
  double offered = 0;         ///< transactions that arrived in the window, a second
  std::uint64_t backlog = 0;  ///< had arrived at its end, and were not begun
  double lag_us = 0;          ///< how long the oldest of these had been there by then
  double idle_s = 0;          ///< in which workers had nothing to do, summed over them
};

/// What happened in a part of the measured window: transactions that began in it.
struct IntervalResult {
  double start_s = 0;                  ///< since the window began
  double seconds = 0;                  ///< how long it was
  std::vector<std::uint64_t> commits;  ///< one a type
  std::vector<std::uint64_t> aborts;   ///< likewise
};

/// A policy that the run went over to.
struct SwitchResult {
  double at_s = 0;  ///< since the window began
  std::string policy;
};

/// How transactions were scheduled, and what came of it; counts are transactions.
struct ScheduleResult {
  std::map<std::string, std::string> options;
  std::uint64_t hot = 0, cold = 0;  ///< begun that named a hot key, or none
  std::uint64_t overtaking = 0;     ///< begun before an older one
  std::uint64_t forced = 0;         ///< begun because so many had overtaken it
  std::uint64_t deferred = 0;       ///< times that one was put off
  std::uint64_t moved = 0;          ///< drawn by one worker and left with another
  /// In which workers drew transactions, predicted their hot keys and chose among them.
  double choosing_s = 0;
  double held_s = 0;  ///< in which workers let time pass until a start, summed over them
};

/// What a run measured (DESIGN §5): one schema from here to JSON and the experiment record.
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
  /// Commits a second if every type went on at its pace in the mix the workload draws: what a
  /// window too short for that mix to come through promises of a long one. On simulated cores 0 if
  /// some type that was begun has no commit; on real ones it is taken to end with the window. In an
  /// open loop, where the pace is not the workers', `throughput`.
  double mixed_throughput = 0;
  double abort_rate = 0;  ///< aborted attempts of all attempts
  std::uint64_t partial_retries = 0;
  std::vector<TypeResult> types;
  std::map<std::string, std::uint64_t> aborts_by_reason;
  std::vector<std::uint64_t> aborts_by_state;  ///< one a state, then those of no state
  std::vector<double> waiting_by_state_s;      ///< one a state, then at commit
  TimeResult time_s;
  std::optional<ArrivalResult> arrivals;   ///< of an open loop
  std::optional<ScheduleResult> schedule;  ///< unless transactions started as they were drawn
  std::vector<IntervalResult> intervals;   ///< where they were asked for; together the window
  std::vector<SwitchResult> switches;      ///< those made in the window that were planned
  bool interrupted = false;
  bool short_of_memory = false;     ///< the run was ended because little memory was left
  std::int64_t grown_bytes = 0;     ///< of the database in the run
  std::int64_t database_bytes = 0;  ///< what the database holds after it, free memory included
  /// What the process has in use then: real cores only, as it is not the same every time.
  std::optional<std::uint64_t> resident_bytes;
  /// The workload's consistency conditions that the database violates after the run, where asked.
  std::vector<std::string> violations;
  /// What happened when, where it was recorded.
  std::shared_ptr<const RecordedTimeline> timeline;
  /// What every transaction read and wrote, where it was recorded. Not part of the JSON.
  std::shared_ptr<const check::History> history;
  /// What every transaction asked for, likewise.
  std::shared_ptr<const RecordedTrace> trace;

  [[nodiscard]] std::string to_json() const;
};

}  // namespace heddle
