#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "machine/cores.h"
#include "machine/fiber.h"
#include "machine/turn_order.h"
#include "machine/virtual.h"

namespace heddle {

/// Cores of which one runs at a time, in the order given by a TurnOrder, independent of costs.
///
/// All cores share one clock. Every step and every pause takes a fixed time, so that everything
/// driven by time (epochs, backoff, the monitor) advances, and no core ever sees an earlier time
/// than another did before it. A core that idles is not scheduled until its time comes; if no other
/// core can run, time jumps.
class OrderedCores final : public Cores {
 public:
  OrderedCores(const VirtualCrewOptions& options, std::function<void(VirtualCrewMember&)> body,
               std::unique_ptr<TurnOrder> order);

  /// Called before every access to shared memory.
  void step() {
    clock_ += step_time_;
    if (step_ >= asks_at_ || clock_ >= attends_at_) [[unlikely]]
      consider();
    order_->made(step_, index(), able_);
    ++step_;
  }

  bool run(Ticks begin, const std::function<bool()>& look_on) override;
  [[nodiscard]] std::uintptr_t number_of(const void* object) override;
  void pause() override;
  [[nodiscard]] TimelineEvent spin(const void* on) override;
  void park(const Word& word, std::uint64_t expected, Ticks timeout) override;
  void idle(const Word& stop, Ticks duration) override;
  void unpark(const void* word) override;

 private:
  static constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

  struct Core {
    std::unique_ptr<Fiber> fiber;
    Parking parking;
    Ticks wakes_at = kNever;  ///< by itself
  };

  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(core_); }
  void work(std::size_t core);
  void consider();
  void attend();
  void sleep(const Parking& parking, Ticks until);
  void wake(Core& core);
  void wake_sleepers();
  void give_way();
  Fiber& next_fiber();
  bool leave_those_asleep(Ticks before);
  [[nodiscard]] bool too_long() const { return step_ + pauses_ >= most_steps_; }

  std::function<void(VirtualCrewMember&)> body_;
  std::unique_ptr<TurnOrder> order_;
  Ticks step_time_, pause_time_, poll_, grace_;
  std::uint64_t grace_us_;
  std::uint64_t most_steps_;
  bool rescue_;
  std::vector<Core> cores_;
  TurnOrder::CoreSet able_;  ///< able to run: neither parked nor gone
  std::uint64_t step_ = 0;   ///< the next one
  std::uint64_t pauses_ = 0;
  std::uint64_t asks_at_ = 0;  ///< the step before which the order is consulted
  Ticks attends_at_ = 0;       ///< when the monitor or a sleeper is due
  Ticks wakes_at_ = kNever;    ///< when the first sleeper is due
  Ticks polls_at_ = 0;
  Ticks polled_at_ = 0;       ///< the time of the last poll
  bool interrupted_ = false;  ///< the running core waits for the monitor only
  std::size_t left_to_do_ = 0;
  std::unordered_map<std::uintptr_t, std::uint32_t> lines_;  ///< numbered by first access
  Fiber outside_;
};

}  // namespace heddle
