#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "machine/sampling.h"
#include "machine/timeline.h"
#include "protocol/timeline.h"
#include "storage/storage.h"

namespace heddle {

/// The events of the measured window of a run, and the names needed to print them.
class RecordedTimeline {
 public:
  /// @param most events
  /// @param packed to_json() packs the events: a tenth of the time and half of the memory
  /// @param sampling the part to record, on a machine that samples
  explicit RecordedTimeline(std::size_t most, bool packed = false, Sampling sampling = {})
      : timeline_(most, static_cast<std::uint16_t>(timeline::What::attempt), std::move(sampling)),
        packed_(packed) {}

  template <class M>
  void name_tables(const Storage<M>& storage) {
    for (const auto* table : storage.tables()) tables_.push_back(table->name());
  }

  [[nodiscard]] bool full() const { return timeline_.full(); }

  /// The timeline that receives the events.
  [[nodiscard]] Timeline& events() { return timeline_; }

  /// Called when the window begins.
  void open(std::uint64_t now, double ticks_per_us) {
    timeline_.open();
    began_ = now;
    ticks_per_ns_ = ticks_per_us / 1000;
  }

  /// `tables`: their names. `dropped`: the number of events above the limit. `events`: in the order
  /// in which they happened, each a list: nanoseconds since the window began (less than 0 in
  /// attempts in progress at that time), core, what, and then
  ///
  ///     attempt       type's number, aborts before it
  ///     access        state or -1, kind, table's number, first word of the key
  ///     access_end    of the access begun last
  ///     replayed      the access begun last was served from the log
  ///     wait          core waited for; goal: 0 a lock, n that many accesses, -1 its end
  ///     wait_end      of the wait begun last
  ///     wait_skipped  of the wait begun last, at once: it would have closed a cycle.
  ///     spun          core waited for or -1, nanoseconds
  ///     dependency    core
  ///     validation    state, 1 if it succeeded or 0.
  ///     publication   state, writes that became visible
  ///     retry         from the last validated point
  ///     commit        begins
  ///     end           commit, rollback or abort; reason; state or -1
  ///     backoff, backoff_end
  ///     window        of this core begins: the result counts the transactions that follow.
  ///     transaction   begins: type's number, nanoseconds since it arrived
  ///     transaction_end  its latency in nanoseconds.
  ///     hold, hold_end   admission held back the next attempt.
  ///     validate, install, release  steps of the commit after the locks on its write set
  ///     undo          of the attempt begins
  ///     wake          core whose wait for a lock it ends
  ///     skip          the core's next transactions are not recorded, up to a `transaction`
  ///
  /// Packed, it has `packed` in place of `events`: the TimelineEvents, their bytes in base 64.
  /// Their times and durations are ticks; `ticks_per_us`, `began` (the window), `whats` (the names
  /// by number) and `nobody` explain them.
  [[nodiscard]] std::string to_json() const;

 private:
  Timeline timeline_;
  bool packed_;
  std::vector<std::string> tables_;
  std::uint64_t began_ = 0;
  double ticks_per_ns_ = 1;
};

}  // namespace heddle
