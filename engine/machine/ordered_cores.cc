#include "machine/ordered_cores.h"

#include <algorithm>
#include <string>
#include <utility>

namespace heddle {

namespace {

using Ticks = Cores::Ticks;

constexpr std::size_t kLineBytes = 64;
/// The duration of a step: about its average under the cost model.
constexpr double kStepUs = 0.02;

}  // namespace

OrderedCores::OrderedCores(const VirtualCrewOptions& options,
                           std::function<void(VirtualCrewMember&)> body,
                           std::unique_ptr<TurnOrder> order)
    : body_(std::move(body)),
      order_(std::move(order)),
      poll_(VirtualMachine::ticks(static_cast<double>(options.poll_us))),
      grace_(VirtualMachine::ticks(static_cast<double>(options.grace_us))),
      grace_us_(options.grace_us),
      rescue_(options.machine.schedule.rescues()),
      cores_(static_cast<std::size_t>(options.workers)) {
  const bool scripted = options.machine.schedule.kind == ScheduleKind::script;
  step_time_ = scripted ? 1 : VirtualMachine::ticks(kStepUs);
  pause_time_ = step_time_;
  most_steps_ = scripted ? options.machine.schedule.most_steps : kNever;
}

bool OrderedCores::run(Ticks begin, const std::function<bool()>& look_on) {
  clock_ = polls_at_ = polled_at_ = begin;
  for (std::size_t core = 0; core < cores_.size(); ++core) {
    cores_[core].fiber = std::make_unique<Fiber>([this, core] { work(core); },
                                                 [this]() -> Fiber& { return next_fiber(); });
    able_.set(core);
  }
  left_to_do_ = cores_.size();
  bool over = false;
  while (left_to_do_ > 0) {
    if (!left_behind().empty()) return false;
    if (clock_ >= polls_at_) {
      if (over) return leave_late(grace_us_);
      if (leave_those_asleep(polled_at_)) return false;
      polled_at_ = clock_;
      over = !look_on();
      polls_at_ = clock_ + (over ? grace_ : poll_);
    }
    Fiber& next = std::exchange(interrupted_, false) ? *cores_[index()].fiber : next_fiber();
    if (&next != &outside_) outside_.switch_to(next);
  }
  return true;
}

/// Whether a core that was parked before a time has slept through its wake-up.
bool OrderedCores::leave_those_asleep(Ticks before) {
  for (std::size_t core = 0; core < cores_.size(); ++core) {
    const Parking& parking = cores_[core].parking;
    if (parking.since < before && parking.missed_its_wake_up()) return !leave_asleep(core);
  }
  return false;
}

std::uintptr_t OrderedCores::number_of(const void* object) {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  const auto number =
      lines_.try_emplace(address / kLineBytes, static_cast<std::uint32_t>(lines_.size()));
  return std::uintptr_t{number.first->second} * kLineBytes | address % kLineBytes;
}

void OrderedCores::pause() {
  clock_ += pause_time_;
  ++pauses_;
  order_->spun(index());
  give_way();
}

TimelineEvent OrderedCores::spin(const void* /*on*/) {
  return event(Timeline::kSpun, Timeline::kNobody, pause_time_);
}

void OrderedCores::park(const Word& word, std::uint64_t expected, Ticks timeout) {
  if (all_woken_ && !rescue_) return pause();
  sleep({.word = &word, .expected = expected, .since = clock_, .ends = rescue_},
        rescue_ ? clock_ + timeout : kNever);
}

void OrderedCores::idle(const Word& stop, Ticks duration) {
  sleep({.word = &stop, .since = clock_, .ends = true}, clock_ + duration);
}

void OrderedCores::unpark(const void* word) {
  all_woken_ = all_woken_ || word == nullptr;
  for (Core& core : cores_) {
    if (core.parking.word != nullptr && (word == nullptr || word == core.parking.word)) wake(core);
  }
}

void OrderedCores::sleep(const Parking& parking, Ticks until) {
  Core& core = cores_[index()];
  core.parking = parking;
  core.wakes_at = until;
  able_.reset(index());
  wakes_at_ = std::min(wakes_at_, until);
  give_way();
}

void OrderedCores::wake(Core& core) {
  core.parking = {};
  core.wakes_at = kNever;
  able_.set(static_cast<std::size_t>(&core - cores_.data()));
  attends_at_ = 0;  // it may be the monitor's turn
}

void OrderedCores::wake_sleepers() {
  if (clock_ < wakes_at_) return;
  wakes_at_ = kNever;
  for (Core& core : cores_) {
    if (core.wakes_at <= clock_) {
      wake(core);
    } else {
      wakes_at_ = std::min(wakes_at_, core.wakes_at);
    }
  }
}

/// A core's life from the beginning to the end.
void OrderedCores::work(std::size_t core) {
  VirtualCrewMember member(static_cast<int>(core));
  body_(member);
  able_.reset(core);
  --left_to_do_;
}

/// Before a step: switches if another core is to make a step first.
void OrderedCores::consider() {
  const std::size_t self = index();
  Fiber& own = *cores_[self].fiber;
  if (clock_ >= polls_at_ || too_long()) {
    interrupted_ = !too_long();
    if (too_long()) leave_behind("more than " + std::to_string(most_steps_) + " steps");
    own.switch_to(outside_);
  }
  wake_sleepers();
  const std::size_t next = order_->before(step_, self, able_);
  attend();
  if (next == self) return;
  core_ = static_cast<int>(next);
  own.switch_to(*cores_[next].fiber);
}

/// Computes when consider() is needed again.
void OrderedCores::attend() {
  asks_at_ = std::min(order_->next_say(), most_steps_ - std::min(pauses_, most_steps_));
  attends_at_ = std::min(polls_at_, wakes_at_);
}

/// Lets other cores run, and returns when it is the core's turn again.
void OrderedCores::give_way() {
  const std::size_t self = index();
  Fiber& next = next_fiber();
  if (index() != self || &next == &outside_) cores_[self].fiber->switch_to(next);
}

/// The fiber to continue with if the running core can't continue or spins, or if none is running.
Fiber& OrderedCores::next_fiber() {
  while (left_to_do_ > 0 && clock_ < polls_at_ && left_behind().empty()) {
    wake_sleepers();
    if (too_long()) {
      leave_behind("more than " + std::to_string(most_steps_) + " steps and pauses");
    } else if (able_.any()) {
      core_ = static_cast<int>(order_->next(step_, able_));
      attend();
      return *cores_[index()].fiber;
    } else if (wakes_at_ == kNever) {
      if (!leave_those_asleep(kNever)) leave_parked();
    } else {
      clock_ = std::min(wakes_at_, polls_at_);
    }
  }
  return outside_;
}

}  // namespace heddle
