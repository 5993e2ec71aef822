#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "check/history.h"
#include "check/recorder.h"
#include "protocol/outcome.h"
#include "storage/storage.h"
#include "storage/tid.h"

namespace heddle {

/// A run's history while it is made: a log a worker, and how much is in them.
class RecordedHistory {
 public:
  /// @param most bytes of history; what comes near it ends the run
  template <class M>
  RecordedHistory(int workers, std::size_t most, Storage<M>& storage,
                  std::vector<std::string> types)
      : most_(most), sizes_(new Size[static_cast<std::size_t>(workers)]) {
    history_.workers.resize(static_cast<std::size_t>(workers));
    for (const auto* table : storage.tables()) history_.tables.push_back(table->name());
    history_.types = std::move(types);
    history_.reasons.assign(kAbortReasonNames.begin(), kAbortReasonNames.end());
    history_.first_version = tid::first_of_epoch(storage.epochs().current());
    if constexpr (!M::kSingleThreaded) {
      // On real cores the run would wait for memory.
      const std::size_t share = std::min(most, kReserved) / history_.workers.size();
      for (check::WorkerLog& log : history_.workers) log.reserve(share);
    }
  }

  /// Watches one worker's transactions.
  template <class M>
  class Observer : public check::Recorder<M> {
   public:
    Observer(RecordedHistory& history, int worker)
        : check::Recorder<M>(history.history_.workers[static_cast<std::size_t>(worker)],
                             history.order_),
          log_(history.history_.workers[static_cast<std::size_t>(worker)]),
          size_(history.sizes_[worker].bytes) {}

    void begin(int type, bool of_the_past) {
      // relaxed: a hint for who decides when there is enough.
      size_.store(log_.bytes(), std::memory_order_relaxed);
      check::Recorder<M>::begin(type, of_the_past);
    }

   private:
    const check::WorkerLog& log_;
    std::atomic<std::size_t>& size_;
  };

  [[nodiscard]] bool full() const {
    std::size_t bytes = 0;
    for (std::size_t worker = 0; worker < history_.workers.size(); ++worker) {
      bytes += sizes_[worker].bytes.load(std::memory_order_relaxed);  // relaxed: as above
    }
    return bytes >= most_;
  }

  /// Once the workers have ended.
  [[nodiscard]] const check::History& history() const { return history_; }

 private:
  /// How much memory is made ready before the run.
  static constexpr std::size_t kReserved = std::size_t{1} << 30;

  struct alignas(64) Size {
    std::atomic<std::size_t> bytes{0};
  };

  std::size_t most_;
  check::History history_;
  std::uint64_t order_ = 0;
  std::unique_ptr<Size[]> sizes_;
};

}  // namespace heddle
