#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "observe/history.h"
#include "observe/log_sizes.h"
#include "observe/recorder.h"
#include "protocol/observer.h"
#include "protocol/outcome.h"
#include "storage/storage.h"
#include "storage/tid.h"

namespace heddle {

/// The history of a run in progress: one log per worker, and their sizes.
class RecordedHistory {
 public:
  /// @param most bytes of history; a run that gets near the limit ends
  template <class M>
  RecordedHistory(int workers, std::size_t most, Storage<M>& storage,
                  std::vector<std::string> types)
      : sizes_(workers, most) {
    history_.workers.resize(static_cast<std::size_t>(workers));
    for (const auto* table : storage.tables()) history_.tables.push_back(table->name());
    history_.types = std::move(types);
    history_.reasons.assign(kAbortReasonNames.begin(), kAbortReasonNames.end());
    history_.first_version = tid::first_of_epoch(storage.epochs().current());
    if constexpr (!M::kSingleThreaded) {
      // On real cores the run would wait for memory.
      for (check::WorkerLog& log : history_.workers) log.reserve(sizes_.reserved_each());
    }
  }

  /// An observer of one worker's transactions.
  template <class M>
  [[nodiscard]] std::unique_ptr<Observer<M>> observer(int worker) {
    return std::make_unique<WorkerObserver<M>>(*this, worker);
  }

  [[nodiscard]] bool full() const { return sizes_.full(); }

  /// After the workers have ended.
  [[nodiscard]] const check::History& history() const { return history_; }

 private:
  template <class M>
  class WorkerObserver final : public check::Recorder<M> {
   public:
    WorkerObserver(RecordedHistory& history, int worker)
        : check::Recorder<M>(history.log_of(worker), history.order_),
          log_(history.log_of(worker)),
          sizes_(history.sizes_),
          worker_(worker) {}

    void begin(int type, bool on_snapshot) override {
      sizes_.tell(worker_, log_.bytes());
      check::Recorder<M>::begin(type, on_snapshot);
    }

   private:
    const check::WorkerLog& log_;
    LogSizes& sizes_;
    int worker_;
  };

  [[nodiscard]] check::WorkerLog& log_of(int worker) {
    return history_.workers[static_cast<std::size_t>(worker)];
  }

  LogSizes sizes_;
  check::History history_;
  std::uint64_t order_ = 0;
};

}  // namespace heddle
