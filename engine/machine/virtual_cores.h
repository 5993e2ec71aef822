#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "machine/cache_lines.h"
#include "machine/cores.h"
#include "machine/delays.h"
#include "machine/earliest.h"
#include "machine/fiber.h"
#include "machine/virtual.h"

namespace heddle {

/// A run on cores with a clock each; the core whose clock is lowest runs.
class VirtualCores final : public Cores {
 public:
  VirtualCores(const VirtualCrewOptions& options, std::function<void(VirtualCrewMember&)> body)
      : body_(std::move(body)),
        lines_(options.machine.model, options.workers, kTicksPerNs,
               options.memory_bytes / CacheLines::kLineBytes),
        word_(ticks(options.machine.model.word_ns)),
        lookup_(ticks(options.machine.model.lookup_ns)),
        insert_(ticks(options.machine.model.insert_ns)),
        row_(ticks(options.machine.model.row_ns)),
        control_(ticks(options.machine.model.control_ns)),
        transaction_(ticks(options.machine.model.transaction_ns)),
        stream_(ticks(options.machine.model.stream_ns)),
        pause_(std::max<Ticks>(1, ticks(options.machine.model.pause_ns))),  // or time stands still
        wake_(ticks(options.machine.model.transfer_ns)),
        skew_(ticks(options.machine.skew_ns) << kRankBits),
        poll_(VirtualMachine::ticks(static_cast<double>(options.poll_us))),
        grace_us_(options.grace_us),
        rescue_(options.machine.schedule.rescues()),
        cores_(static_cast<std::size_t>(options.workers)),
        ranks_(cores_.size()),
        core_of_rank_(cores_.size() + 1),
        clocks_(cores_.size() + 1) {
    // The monitor ranks first; the seed orders the cores.
    std::iota(ranks_.begin(), ranks_.end(), 1);
    std::mt19937_64 random(options.machine.seed);
    for (std::size_t i = ranks_.size(); i > 1; --i) std::swap(ranks_[i - 1], ranks_[random() % i]);
    core_of_rank_[0] = monitor();
    for (std::size_t core = 0; core < cores_.size(); ++core) core_of_rank_[ranks_[core]] = core;
    const ScheduleOptions& schedule = options.machine.schedule;
    if (schedule.kind == ScheduleKind::delays) {
      Delays delays(schedule.delay_every,
                    std::max<Ticks>(1, VirtualMachine::ticks(schedule.delay_us)), random());
      if (schedule.delay_state.has_value()) {
        delayed_state_ = *schedule.delay_state;
        access_delays_ = delays;
        return;
      }
      delays_ = delays;
      word_ = std::max<Ticks>(1, word_);  // or time would stand still, and no step would be seen
    }
  }

  bool run(Ticks begin, const std::function<bool()>& look_on) override {
    clock_ = begin;
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      cores_[core].fiber = std::make_unique<Fiber>([this, core] { work(core); },
                                                   [this]() -> Fiber& { return next_fiber(); });
      schedule(core, clock_);
    }
    left_to_do_ = cores_.size();
    for (Ticks poll = clock_; left_to_do_ > 0; poll += poll_) {
      go_on_until(poll);
      if (left_to_do_ == 0) break;
      clock_ = poll;
      if (leave_those_asleep()) return false;
      if (look_on()) continue;
      go_on_until(poll + VirtualMachine::ticks(static_cast<double>(grace_us_)));
      if (left_to_do_ > 0) return leave_late(grace_us_);
    }
    clock_ = latest_;
    return true;
  }

  [[nodiscard]] std::uintptr_t number_of(const void* object) override {
    const auto address = reinterpret_cast<std::uintptr_t>(object);
    return std::uintptr_t{lines_.number_of(object)} * CacheLines::kLineBytes |
           address % CacheLines::kLineBytes;
  }

  // Nearly every access is to a line at hand: that path is kept so short that it needs no stack
  // frame, and every other path is a separate function.
  void load(const void* address, std::size_t bytes) {
    if (bytes > CacheLines::kLineBytes) [[unlikely]]
      return load_lines(address, bytes);
    load_line(address);
  }
  void store(const void* address, std::size_t bytes) {
    if (bytes > CacheLines::kLineBytes) [[unlikely]]
      return store_lines(address, bytes);
    store_line(address);
  }
  void exchange(const void* address) {
    clock_ += word_ + lines_.drain(core_, clock_);
    spend(lines_.cost(core_, address, CacheLines::Access::exchange, clock_));
  }
  /// The lines travel together, and with the one that is read next; a reader waits for all of them.
  void prefetch(const std::byte* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += CacheLines::kLineBytes) lines_.expect(from + at);
    Ticks longest = 0;
    for (std::size_t at = 0; at < bytes; at += CacheLines::kLineBytes) {
      longest = std::max(longest, lines_.cost(core_, from + at, CacheLines::Access::load, clock_));
    }
    prefetched_at_ = clock_ + longest;
  }
  /// The core continues meanwhile. The first access to one of the lines waits until it has arrived.
  void fetch_ahead(const void* from, std::size_t bytes) {
    const auto* const first = static_cast<const std::byte*>(from);
    for (std::size_t at = 0; at < bytes; at += CacheLines::kLineBytes) {
      lines_.fetch_ahead(core_, first + at, clock_);
    }
  }
  void lookup() { clock_ += lookup_; }
  void insert() { clock_ += insert_; }
  void row() { clock_ += row_; }
  void control() { clock_ += control_; }
  void transaction() { clock_ += transaction_; }
  void access(std::uint32_t state) {
    if (state == delayed_state_ && access_delays_) [[unlikely]]
      spend(access_delays_->step());
  }

  void pause() override { spend(pause_); }

  /// It waits for the core that last had the line exclusively.
  [[nodiscard]] TimelineEvent spin(const void* on) override {
    const int writer = on == nullptr ? core_ : lines_.owner(on, core_);
    return event(Timeline::kSpun,
                 writer == core_ ? Timeline::kNobody : static_cast<std::uint32_t>(writer), pause_);
  }

  void park(const Word& word, std::uint64_t expected, Ticks timeout) override {
    if (all_woken_ && !rescue_) [[unlikely]]
      return pause();
    sleep({.word = &word, .expected = expected, .since = clock_, .ends = rescue_},
          rescue_ ? clock_ + timeout : kNever);
  }
  void idle(const Word& stop, Ticks duration) override {
    sleep({.word = &stop, .since = clock_, .ends = true}, clock_ + duration);
  }

  void unpark(const void* word) override {
    all_woken_ = all_woken_ || word == nullptr;
    for (std::size_t other = 0; other < cores_.size(); ++other) {
      Parking& parking = cores_[other].parking;
      if (parking.word == nullptr || (word != nullptr && parking.word != word)) continue;
      // The waking core may be behind it by the skew.
      const Ticks seen = std::max(clock_ + wake_, parking.since);
      parking = {};
      if (clocks_.key(other) > key(other, seen)) schedule(other, seen);
    }
    set_horizon();
  }

 private:
  static constexpr double kTicksPerNs = VirtualMachine::kTicksPerUs / 1000;
  /// A time's low bits are its core's rank, which decides between two cores at the same moment.
  static constexpr int kRankBits = 9;
  static_assert((1 << kRankBits) > VirtualMachine::kMostCores + 1);
  /// No wait ends later, unless it does not end by itself: some two weeks.
  static constexpr Ticks kLatest = (Ticks{1} << (63 - kRankBits));
  static constexpr Ticks kNever = ~Ticks{0};

  struct Core {
    std::unique_ptr<Fiber> fiber;
    Parking parking;
  };

  static Ticks ticks(double ns) { return static_cast<Ticks>(ns * kTicksPerNs); }
  static std::uintptr_t line_of(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) / CacheLines::kLineBytes;
  }

  [[nodiscard]] Earliest::Key key(std::size_t core, Ticks time) const {
    return time << kRankBits | ranks_[core];
  }
  void schedule(std::size_t core, Ticks time) { clocks_.set(core, key(core, time)); }
  void schedule_monitor(Ticks time) { clocks_.set(monitor(), time << kRankBits); }
  [[nodiscard]] std::size_t monitor() const { return cores_.size(); }
  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(core_); }
  /// The core whose turn it is.
  [[nodiscard]] std::size_t first() const {
    return core_of_rank_[clocks_.first() & ((1U << kRankBits) - 1)];
  }

  /// A core's life from the beginning to the end.
  void work(std::size_t core) {
    VirtualCrewMember member(static_cast<int>(core));
    body_(member);
    latest_ = std::max(latest_, clock_);
    clocks_.set(core, Earliest::kNever);
    --left_to_do_;
  }

  void load_line(const void* address) {
    // The line that this core has just read, with no other core running in between.
    if (line_of(address) != last_read_) return load_another_line(address);
    spend(word_);
  }
  [[gnu::noinline]] void load_another_line(const void* address) {
    last_read_ = line_of(address);
    if (!lines_.at_hand(core_, address, CacheLines::Access::load)) return load_far_line(address);
    arrive(clock_ + word_);
  }
  [[gnu::noinline]] void load_far_line(const void* address) {
    arrive(clock_ + word_ + lines_.cost(core_, address, CacheLines::Access::load, clock_));
  }
  [[gnu::noinline]] void load_lines(const void* address, std::size_t bytes) {
    load_line(address);
    lines_.read_on(core_, static_cast<const std::byte*>(address) + bytes - 1);
    stream(bytes);
  }
  void store_line(const void* address) {
    if (!lines_.at_hand(core_, address, CacheLines::Access::store)) return store_far_line(address);
    spend(word_);
  }
  [[gnu::noinline]] void store_far_line(const void* address) {
    spend(word_ + lines_.cost(core_, address, CacheLines::Access::store, clock_));
  }
  [[gnu::noinline]] void store_lines(const void* address, std::size_t bytes) {
    store_line(address);
    stream(bytes);
  }
  /// The lines after the first, one after the other.
  void stream(std::size_t bytes) { clock_ += stream_ * ((bytes - 1) / CacheLines::kLineBytes); }

  /// Advances the running core's clock, and lets others run if it is far enough ahead of them.
  void spend(Ticks time) {
    clock_ += time;
    if (clock_ > horizon_) [[unlikely]]
      pass_horizon();
  }
  /// The data that the core waits for has arrived at this time, and so have its prefetched lines.
  void arrive(Ticks time) {
    clock_ = std::max(time, prefetched_at_);
    if (clock_ > horizon_) [[unlikely]]
      pass_horizon();
  }

  /// Where cores are delayed, every step passes through here.
  [[gnu::noinline]] void pass_horizon() {
    if (delays_) [[unlikely]] {
      clock_ += delays_->step();
      if (clock_ <= others_horizon_) return;
    }
    give_way(clock_);
  }

  /// Deschedules the core until another one wakes it, or until a time.
  void sleep(const Parking& parking, Ticks until) {
    cores_[index()].parking = parking;
    give_way(until);
    cores_[index()].parking = {};
  }

  /// Yields the thread until the core's time has come again.
  void give_way(Ticks until) {
    const std::size_t self = index();
    if (until != kNever) [[likely]] {
      schedule(self, std::min(until, kLatest));
    } else {
      clocks_.set(self, Earliest::kNever);
    }
    Fiber& next = next_fiber();
    if (core_ != static_cast<int>(self) || &next == &outside_) {
      cores_[self].fiber->switch_to(next);
    }
  }

  /// The fiber to continue with; updates the state for it.
  Fiber& next_fiber() {
    last_read_ = 0;
    prefetched_at_ = 0;
    const std::size_t next = left_to_do_ == 0 ? monitor() : first();
    if (next == monitor()) return outside_;
    core_ = static_cast<int>(next);
    clock_ = clocks_.first() >> kRankBits;
    set_horizon();
    return *cores_[next].fiber;
  }

  void set_horizon() {
    const Earliest::Key others = clocks_.first_without(index());
    horizon_ = others == Earliest::kNever ? others : (others + skew_) >> kRankBits;
    if (delays_) [[unlikely]]
      others_horizon_ = std::exchange(horizon_, 0);
  }

  /// Lets the cores run until it is the monitor's turn, or all have left.
  void go_on_until(Ticks time) {
    schedule_monitor(time);
    if (first() != monitor()) outside_.switch_to(next_fiber());
  }

  /// Whether there are cores that no other core will wake. Checked at each poll; while others run,
  /// a core that was not parked at the last poll may be about to be woken.
  bool leave_those_asleep() {
    if (rescue_) return false;
    const bool all = clocks_.first_without(monitor()) == Earliest::kNever;
    const Ticks before = all ? kNever : clock_ - std::min(poll_, clock_);
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      const Parking& parking = cores_[core].parking;
      if (parking.since < before && parking.missed_its_wake_up()) return !leave_asleep(core);
    }
    return all && !leave_parked();
  }

  std::function<void(VirtualCrewMember&)> body_;
  CacheLines lines_;
  Ticks word_, lookup_, insert_, row_, control_, transaction_, stream_, pause_, wake_, skew_, poll_;
  std::uint64_t grace_us_;
  bool rescue_;
  std::vector<Core> cores_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::size_t> core_of_rank_;
  Earliest clocks_;    ///< when each core runs next and, last, the monitor
  Ticks horizon_ = 0;  ///< the running core has to yield at a later time
  std::uintptr_t last_read_ = 0;
  Ticks prefetched_at_ = 0;  ///< when the prefetched lines have arrived
  std::size_t left_to_do_ = 0;
  Ticks latest_ = 0;  ///< when the last core left
  std::optional<Delays> delays_;
  std::optional<Delays> access_delays_;  ///< of the accesses of one state
  std::uint32_t delayed_state_ = 0;
  Ticks others_horizon_ = 0;  ///< the horizon, where cores are delayed
  Fiber outside_;
};

}  // namespace heddle
