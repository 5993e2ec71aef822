#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "driver/admission_state.h"
#include "driver/database.h"
#include "driver/measurements.h"
#include "driver/run_state.h"
#include "driver/session.h"
#include "observe/recorded_history.h"
#include "observe/recorded_timeline.h"
#include "observe/recorded_trace.h"
#include "protocol/run.h"

namespace heddle {

/// One run's shared state. Kept for good if a worker is stuck, with the database that it uses.
template <class M>
struct Run {
  using Ticks = typename M::Ticks;

  /// @param interrupted whether the calling thread is; it asks while it waits for a store
  Run(std::shared_ptr<Database<M>> given, int workers, const RunOptions& options,
      const std::function<bool()>& interrupted)
      : database(std::move(given)),
        protocol(database->start(options.protocol,
                                 RunSetup<M>{database->storage(), database->signature(), workers,
                                             state.stop, options.protocol_options, options.policy,
                                             database.get(), options.watchdog_s, interrupted})),
        heartbeats(new Heartbeat<M>[static_cast<std::size_t>(workers)]) {
    const auto states = static_cast<int>(database->signature().state_count());
    for (int worker = 0; worker < workers; ++worker) {
      measurements.emplace_back(database->type_count(), states, options.intervals);
    }
    loops.resize(measurements.size());
    admission = make_admission_state<M>(options.schedule, options.protocol, workers,
                                        database->signature(), database->input_bytes());
    if (options.timeline_events != 0) {
      timeline = std::make_shared<RecordedTimeline>(
          options.timeline_events, options.timeline_packed, options.timeline_sampling);
      timeline->name_tables(database->storage());
    }
    if (options.history_bytes != 0) {
      history = std::make_shared<RecordedHistory>(workers, options.history_bytes,
                                                  database->storage(), database->type_names());
    }
    if constexpr (!M::kSingleThreaded) {
      if (options.trace_bytes != 0) {
        trace = std::make_shared<RecordedTrace>(workers, options.trace_bytes, M::now());
      }
    }
  }

  void switch_policy(std::shared_ptr<const CompiledPolicy> policy) {
    const std::lock_guard one_at_a_time(switch_mutex);
    protocol->switch_policy(std::move(policy));
  }

  [[nodiscard]] bool is_observed() const { return history != nullptr || trace != nullptr; }

  /// The observer of a worker's transactions; nullptr: nothing is recorded.
  [[nodiscard]] std::unique_ptr<Observer<M>> observer(int worker) const {
    if (history != nullptr) return history->observer<M>(worker);
    if (trace != nullptr) return trace->observer<M>(worker, *database);
    return nullptr;
  }

  [[nodiscard]] bool is_full() const {
    return (timeline != nullptr && timeline->full()) || (history != nullptr && history->full()) ||
           (trace != nullptr && trace->full());
  }

  std::shared_ptr<Database<M>> database;
  RunState<M> state;
  std::unique_ptr<ProtocolRun<M>> protocol;
  std::mutex switch_mutex;
  std::unique_ptr<Heartbeat<M>[]> heartbeats;
  std::vector<Measurements<M>> measurements;
  /// The workers, kept until all have ended: data that they published may still be read, and on a
  /// simulated machine its memory must not be reused meanwhile.
  std::vector<std::shared_ptr<void>> loops;
  std::unique_ptr<AdmissionState<M>> admission;  ///< nullptr: nothing is scheduled
  std::shared_ptr<RecordedTimeline> timeline;    ///< nullptr: not recorded
  std::shared_ptr<RecordedHistory> history;      ///< nullptr: not recorded
  std::shared_ptr<RecordedTrace> trace;          ///< nullptr: not recorded
  std::vector<Ticks> intervals;                  ///< the start times, if intervals are counted
  std::vector<Ticks> switches;                   ///< the times of the planned switches made
  /// ProtocolRun::syncs() when the window began, then those in the window.
  std::optional<std::uint64_t> syncs;
  std::optional<std::uint64_t> round_trips;  ///< in the same way
};

}  // namespace heddle
