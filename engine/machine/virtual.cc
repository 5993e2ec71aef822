#include "machine/virtual.h"

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "machine/concepts.h"
#include "machine/cores.h"
#include "machine/ordered_cores.h"
#include "machine/pages.h"
#include "machine/priorities.h"
#include "machine/script.h"
#include "machine/virtual_cores.h"

namespace heddle {

static_assert(Machine<VirtualMachine>);

namespace {

using Ticks = VirtualMachine::Ticks;

/// The end time of this thread's last run.
thread_local Ticks resting_time = 0;
/// The run in progress in this thread, or nullptr.
[[gnu::tls_model("initial-exec")]] thread_local Cores* running = nullptr;
/// The same while one of its cores is running, by the meaning of an access there: a charge or a
/// step. initial-exec: every hook reads it, and must not pay a call for that.
[[gnu::tls_model("initial-exec")]] thread_local VirtualCores* charging = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local OrderedCores* stepping = nullptr;
/// Whether one of its cores is running, and looks ahead.
[[gnu::tls_model("initial-exec")]] thread_local bool looking_ahead = false;
/// The destination of the events of this thread's run, or nullptr.
[[gnu::tls_model("initial-exec")]] thread_local Timeline* recorded_into = nullptr;
/// Of the last scripted run, and of the last run with cores left behind.
thread_local std::vector<ScriptStep> script_steps;
thread_local std::string why_left_behind;

Cores* at_work() {
  return charging != nullptr ? static_cast<Cores*>(charging) : static_cast<Cores*>(stepping);
}

/// Keeps for good the cores of a run that have not all left: the objects on their stacks can't be
/// destroyed.
void keep_for_good(std::unique_ptr<Cores> cores) {
  static std::mutex one_at_a_time;
  static auto* const kept = new std::vector<std::unique_ptr<Cores>>;
  const std::lock_guard lock(one_at_a_time);
  kept->push_back(std::move(cores));
}

}  // namespace

void VirtualMachine::on_load(const void* address, std::size_t bytes) noexcept {
  if (charging != nullptr) return charging->load(address, bytes);
  if (stepping != nullptr) stepping->step();
}
void VirtualMachine::on_store(const void* address, std::size_t bytes) noexcept {
  if (charging != nullptr) return charging->store(address, bytes);
  if (stepping != nullptr) stepping->step();
}
void VirtualMachine::on_exchange(const void* address) noexcept {
  if (charging != nullptr) return charging->exchange(address);
  if (stepping != nullptr) stepping->step();
}
void VirtualMachine::prefetch(const std::byte* from, std::size_t bytes) noexcept {
  if (charging != nullptr) charging->prefetch(from, bytes);
}
bool VirtualMachine::looks_ahead() noexcept { return looking_ahead; }
void VirtualMachine::fetch_ahead(const void* from, std::size_t bytes) noexcept {
  if (charging != nullptr) charging->fetch_ahead(from, bytes);
}
void VirtualMachine::on_lookup() noexcept {
  if (charging != nullptr) charging->lookup();
}
void VirtualMachine::on_insert() noexcept {
  if (charging != nullptr) charging->insert();
}
void VirtualMachine::on_row() noexcept {
  if (charging != nullptr) charging->row();
}
void VirtualMachine::on_control() noexcept {
  if (charging != nullptr) charging->control();
}
void VirtualMachine::on_transaction() noexcept {
  if (charging != nullptr) charging->transaction();
}

void VirtualMachine::on_access(std::uint32_t state) noexcept {
  if (charging != nullptr) charging->access(state);
}

std::uintptr_t VirtualMachine::number_of(const void* object) noexcept {
  if (charging != nullptr) return charging->number_of(object);
  return running != nullptr ? running->number_of(object) : reinterpret_cast<std::uintptr_t>(object);
}

std::uintptr_t VirtualMachine::order_of(const void* object) noexcept {
  return Pages::place(object);
}

VirtualMachine::Ticks VirtualMachine::now() noexcept {
  return running != nullptr ? running->now() : resting_time;
}

void VirtualMachine::resume_at(Ticks time) noexcept { resting_time = time; }

void VirtualMachine::relax(int& spins, const void* on) noexcept {
  const bool first = spins++ == 0;
  if (recorded_into != nullptr && at_work() != nullptr) [[unlikely]] {
    recorded_into->add_spin(at_work()->spin(on), first);
  }
  pause();
}

void VirtualMachine::record_into(Timeline* timeline) noexcept { recorded_into = timeline; }
bool VirtualMachine::recording() noexcept { return recorded_into != nullptr; }
void VirtualMachine::record(std::uint16_t what, std::uint32_t subject,
                            std::uint64_t number) noexcept {
  if (recorded_into == nullptr || at_work() == nullptr) return;
  recorded_into->add(at_work()->event(what, subject, number));
}
void VirtualMachine::pause() noexcept {
  if (charging != nullptr) return charging->pause();
  if (stepping != nullptr) stepping->pause();
}
void VirtualMachine::yield() noexcept { pause(); }

void VirtualMachine::park(const std::atomic<std::uint64_t>& word, std::uint64_t expected,
                          std::uint64_t timeout_us) noexcept {
  // relaxed: there is one thread.
  if (at_work() == nullptr || word.load(std::memory_order_relaxed) != expected) return;
  at_work()->park(word, expected, ticks(static_cast<double>(timeout_us)));
}

void VirtualMachine::unpark(const std::atomic<std::uint64_t>& word) noexcept {
  if (running != nullptr) running->unpark(&word);
}

void VirtualMachine::unpark_all() noexcept {
  if (running != nullptr) running->unpark(nullptr);
}

void VirtualMachine::idle(Ticks duration, const std::atomic<std::uint64_t>& stop) noexcept {
  if (at_work() == nullptr || stop.load(std::memory_order_relaxed) != 0) return;
  at_work()->idle(stop, duration);
}

void VirtualCrewMember::rest(std::uint64_t duration, const std::atomic<std::uint64_t>& stop) {
  VirtualMachine::idle(duration, stop);
}

namespace {

/// Marks a run's cores as at work until the end of the scope, except while the monitor looks on.
class CoresAtWork {
 public:
  CoresAtWork(const VirtualCrewOptions& options, std::function<void(VirtualCrewMember&)> body)
      : looks_ahead_(options.machine.model.fetches > 0) {
    const ScheduleOptions& schedule = options.machine.schedule;
    if (schedule.kind == ScheduleKind::clock || schedule.kind == ScheduleKind::delays) {
      auto cores = std::make_unique<VirtualCores>(options, std::move(body));
      charged_ = cores.get();
      cores_ = std::move(cores);
    } else {
      auto cores =
          std::make_unique<OrderedCores>(options, std::move(body), order(options, schedule));
      stepped_ = cores.get();
      cores_ = std::move(cores);
    }
    running = cores_.get();
  }
  CoresAtWork(const CoresAtWork&) = delete;
  CoresAtWork& operator=(const CoresAtWork&) = delete;
  ~CoresAtWork() {
    set_at_work(false);
    running = nullptr;
  }

  bool run(const std::function<bool()>& monitor) {
    set_at_work(true);
    const bool left = cores_->run(resting_time, [&] {
      set_at_work(false);  // accesses from outside are not charged
      const bool goes_on = monitor();
      set_at_work(true);
      return goes_on;
    });
    resting_time = cores_->now();
    why_left_behind = cores_->left_behind();
    if (!left) keep_for_good(std::move(cores_));
    return left;
  }

 private:
  static std::unique_ptr<TurnOrder> order(const VirtualCrewOptions& options,
                                          const ScheduleOptions& schedule) {
    if (schedule.kind == ScheduleKind::priorities) {
      return std::make_unique<Priorities>(static_cast<std::size_t>(options.workers), schedule,
                                          options.machine.seed);
    }
    if (options.workers > ScriptedOrder::kMostCores) {
      throw std::invalid_argument("a script is for at most " +
                                  std::to_string(ScriptedOrder::kMostCores) + " cores, not " +
                                  std::to_string(options.workers));
    }
    return std::make_unique<ScriptedOrder>(schedule.script, script_steps);
  }

  void set_at_work(bool at_work) const {
    charging = at_work ? charged_ : nullptr;
    stepping = at_work ? stepped_ : nullptr;
    looking_ahead = at_work && looks_ahead_;
  }

  bool looks_ahead_;
  std::unique_ptr<Cores> cores_;
  VirtualCores* charged_ = nullptr;
  OrderedCores* stepped_ = nullptr;
};

}  // namespace

bool VirtualMachine::run_crew(const VirtualCrewOptions& options, std::function<void(Member&)> body,
                              const std::function<bool()>& monitor) {
  return CoresAtWork(options, std::move(body)).run(monitor);
}

const std::string& VirtualMachine::left_behind() noexcept { return why_left_behind; }

const std::vector<ScriptStep>& steps_of_last_script() noexcept { return script_steps; }

}  // namespace heddle
