#include "machine/core_recorder.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "machine/sampling.h"
#include "machine/threads.h"

namespace heddle {

constinit thread_local CoreLog* CoreRecorder::own_log_ = nullptr;
constinit thread_local CoreLog* CoreRecorder::log_ = nullptr;

/// The logs of a run's cores. An abandoned worker may still use its log, so that each worker shares
/// them.
class CoreRecorder::Logs {
 public:
  /// Takes the memory for all events, so that cores do not wait for it.
  explicit Logs(Timeline& timeline) : timeline_(timeline), events_(timeline.most()) {}

  /// Divides the memory among the cores.
  void begin(int cores) {
    const Sampling& sampling = timeline_.sampling();
    const Stretches stretches(ThreadsMachine::now(), ThreadsMachine::ticks(Stretches::kUs),
                              sampling.share);
    const std::size_t each = events_.size() / static_cast<std::size_t>(cores);
    for (int core = 0; core < cores; ++core) {
      const std::span<TimelineEvent> own =
          std::span(events_).subspan(each * static_cast<std::size_t>(core), each);
      logs_.push_back(std::make_unique<CoreLog>(static_cast<std::uint16_t>(core), own, stretches,
                                                sampling.skipped_states, any_full_));
    }
  }

  [[nodiscard]] CoreLog& of(int core) { return *logs_[static_cast<std::size_t>(core)]; }

  /// Sets the timeline to the events of all cores, in the order of time.
  void end() const {
    std::vector<TimelineEvent> all;
    std::size_t count = 0;
    for (const auto& log : logs_) count += log->events().size();
    all.reserve(count);
    std::uint64_t dropped = 0;
    for (const auto& log : logs_) {
      all.insert(all.end(), log->events().begin(), log->events().end());
      dropped += log->dropped();
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& one, const auto& two) { return one.time < two.time; });
    timeline_.take(std::move(all), dropped);
  }

 private:
  Timeline& timeline_;
  std::vector<TimelineEvent> events_;  ///< of all cores
  std::atomic<bool> any_full_{false};
  std::vector<std::unique_ptr<CoreLog>> logs_;
};

namespace {

/// Of the next run that this thread starts; nullptr: it is not recorded.
thread_local Timeline* next_timeline = nullptr;

}  // namespace

void CoreRecorder::record_into(Timeline* timeline) { next_timeline = timeline; }

std::shared_ptr<CoreRecorder::Logs> CoreRecorder::begin_run(int cores) {
  Timeline* const timeline = std::exchange(next_timeline, nullptr);
  if (timeline == nullptr) return nullptr;
  auto logs = std::make_shared<Logs>(*timeline);
  logs->begin(cores);
  return logs;
}

void CoreRecorder::end_run(const Logs& logs) { logs.end(); }

CoreRecorder::OnCore::OnCore(Logs* logs, int core) noexcept {
  if (logs != nullptr) own_log_ = &logs->of(core);
}

void CoreRecorder::open_window(std::uint16_t what) noexcept {
  if (own_log_ == nullptr) return;
  own_log_->open();
  own_log_->add(ThreadsMachine::now(), what, 0, 0);
}

void CoreRecorder::record_now(std::uint16_t what, std::uint32_t subject,
                              std::uint64_t number) noexcept {
  log_->add(ThreadsMachine::now(), what, subject, number);
}

void CoreRecorder::sample(Ticks time, std::uint16_t skip) noexcept {
  const bool recorded = own_log_->records(time);
  if (log_ != nullptr && !recorded) log_->add(time, skip, 0, 0);
  log_ = recorded ? own_log_ : nullptr;
}

}  // namespace heddle
