#include "machine/virtual.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "machine/cache_lines.h"
#include "machine/earliest.h"
#include "machine/fiber.h"

namespace heddle {

namespace {

using Ticks = VirtualMachine::Ticks;

constexpr std::size_t kStackBytes = std::size_t{256} << 10;
constexpr double kTicksPerNs = VirtualMachine::kTicksPerUs / 1000;
// A time's low bits are its core's rank: who goes first of two at the same moment.
constexpr int kRankBits = 9;
static_assert((1 << kRankBits) > VirtualMachine::kMostCores + 1);
/// No wait ends later: some two weeks.
constexpr Ticks kLatest = (Ticks{1} << (63 - kRankBits));

/// When the last run of this thread ended.
thread_local Ticks resting_time = 0;
/// The run going on in this thread, or nullptr; and the same while one of its cores is running.
/// initial-exec: every hook asks, and must not pay a call for it.
[[gnu::tls_model("initial-exec")]] thread_local VirtualCores* running = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local VirtualCores* charging = nullptr;
/// Where the events of this thread's run go, or nullptr.
[[gnu::tls_model("initial-exec")]] thread_local Timeline* recorded_into = nullptr;

}  // namespace

/// A run: the cores, their clocks, and who goes on.
class VirtualCores {
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
        cores_(static_cast<std::size_t>(options.workers)),
        ranks_(cores_.size()),
        core_of_rank_(cores_.size() + 1),
        clocks_(cores_.size() + 1) {
    // The monitor ranks first; the cores as the seed has it.
    std::iota(ranks_.begin(), ranks_.end(), 1);
    std::mt19937_64 random(options.machine.seed);
    for (std::size_t i = ranks_.size(); i > 1; --i) std::swap(ranks_[i - 1], ranks_[random() % i]);
    core_of_rank_[0] = monitor();
    for (std::size_t core = 0; core < cores_.size(); ++core) core_of_rank_[ranks_[core]] = core;
  }

  void run(const std::function<bool()>& look_on) {
    clock_ = resting_time;
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      cores_[core].fiber = std::make_unique<Fiber>(
          kStackBytes, [this, core] { work(core); }, [this]() -> Fiber& { return next_fiber(); });
      schedule(core, clock_);
    }
    left_to_do_ = cores_.size();
    for (Ticks poll = clock_; left_to_do_ > 0; poll += poll_) {
      schedule_monitor(poll);
      if (first() != monitor()) outside_.switch_to(next_fiber());
      if (left_to_do_ == 0) break;
      clock_ = poll;
      charging = nullptr;  // whoever looks on from outside costs nothing
      const bool goes_on = look_on();
      charging = this;
      if (goes_on) continue;
      clocks_.set(monitor(), Earliest::kNever);
      outside_.switch_to(next_fiber());
    }
    resting_time = latest_;
  }

  [[nodiscard]] Ticks now() const { return clock_; }

  [[nodiscard]] std::uintptr_t order_of(const void* object, std::uintptr_t address) {
    return std::uintptr_t{lines_.number_of(object)} * CacheLines::kLineBytes |
           address % CacheLines::kLineBytes;
  }

  // Nearly every access is to a line at hand: that way is kept so short that it needs no stack
  // frame, and every other is a function of its own.
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
  /// The lines travel together, and with the one that is read next; who reads waits for all.
  void prefetch(const std::byte* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += CacheLines::kLineBytes) lines_.expect(from + at);
    Ticks longest = 0;
    for (std::size_t at = 0; at < bytes; at += CacheLines::kLineBytes) {
      longest = std::max(longest, lines_.cost(core_, from + at, CacheLines::Access::load, clock_));
    }
    prefetched_at_ = clock_ + longest;
  }
  void lookup() { clock_ += lookup_; }
  void insert() { clock_ += insert_; }
  void row() { clock_ += row_; }
  void control() { clock_ += control_; }
  void transaction() { clock_ += transaction_; }

  void pause() { spend(pause_); }

  /// A pause of a core that waits for whoever had a line alone last.
  void spin(const void* on, bool first) {
    const int writer = on == nullptr ? core_ : lines_.owner(on, core_);
    recorded_into->add_spin(
        event(Timeline::kSpun,
              writer == core_ ? Timeline::kNobody : static_cast<std::uint32_t>(writer), pause_),
        first);
    pause();
  }
  void record(std::uint16_t what, std::uint32_t subject, std::uint64_t number) {
    recorded_into->add(event(what, subject, number));
  }

  /// Out of the running until unpark(word), `until` at the latest.
  void park(const void* word, Ticks until) {
    cores_[index()].parked_on = word;
    cores_[index()].parked_at = clock_;
    give_way(until);
    cores_[index()].parked_on = nullptr;
  }

  /// @param word nullptr: wakes everyone
  void unpark(const void* word) {
    for (std::size_t other = 0; other < cores_.size(); ++other) {
      if (cores_[other].parked_on == nullptr) continue;
      if (word != nullptr && cores_[other].parked_on != word) continue;
      cores_[other].parked_on = nullptr;
      // Whoever wakes it may be behind it by the skew.
      const Ticks seen = std::max(clock_ + wake_, cores_[other].parked_at);
      if (clocks_.key(other) > key(other, seen)) schedule(other, seen);
    }
    if (charging != nullptr) set_horizon();
  }

 private:
  struct Core {
    std::unique_ptr<Fiber> fiber;
    const void* parked_on = nullptr;
    Ticks parked_at = 0;
  };

  static Ticks ticks(double ns) { return static_cast<Ticks>(ns * kTicksPerNs); }
  static std::uintptr_t line_of(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) / CacheLines::kLineBytes;
  }

  [[nodiscard]] TimelineEvent event(std::uint16_t what, std::uint32_t subject,
                                    std::uint64_t number) const {
    return {.time = clock_,
            .number = number,
            .subject = subject,
            .core = static_cast<std::uint16_t>(core_),
            .what = what};
  }
  [[nodiscard]] Earliest::Key key(std::size_t core, Ticks time) const {
    return time << kRankBits | ranks_[core];
  }
  void schedule(std::size_t core, Ticks time) { clocks_.set(core, key(core, time)); }
  void schedule_monitor(Ticks time) { clocks_.set(monitor(), time << kRankBits); }
  [[nodiscard]] std::size_t monitor() const { return cores_.size(); }
  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(core_); }
  /// Whose turn it is.
  [[nodiscard]] std::size_t first() const {
    return core_of_rank_[clocks_.first() & ((1U << kRankBits) - 1)];
  }

  /// What a core does from the beginning to the end.
  void work(std::size_t core) {
    VirtualCrewMember member(static_cast<int>(core));
    body_(member);
    latest_ = std::max(latest_, clock_);
    clocks_.set(core, Earliest::kNever);
    --left_to_do_;
  }

  void load_line(const void* address) {
    // The line this core has just read, with nobody running in between.
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

  /// Lets time pass for the running core, and others go on if it is far enough ahead of them.
  void spend(Ticks time) {
    clock_ += time;
    if (clock_ > horizon_) [[unlikely]]
      give_way(clock_);
  }
  /// What the core waits for is there at this time, and what it prefetched.
  void arrive(Ticks time) {
    clock_ = std::max(time, prefetched_at_);
    if (clock_ > horizon_) [[unlikely]]
      give_way(clock_);
  }

  /// Gives the thread away until the core's time has come again.
  [[gnu::noinline]] void give_way(Ticks until) {
    const std::size_t self = index();
    schedule(self, std::min(until, kLatest));
    Fiber& next = next_fiber();
    if (core_ != static_cast<int>(self) || &next == &outside_) {
      cores_[self].fiber->switch_to(next);
    }
  }

  /// Where to go on, settings for it made.
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
  }

  std::function<void(VirtualCrewMember&)> body_;
  CacheLines lines_;
  Ticks word_, lookup_, insert_, row_, control_, transaction_, stream_, pause_, wake_, skew_, poll_;
  std::vector<Core> cores_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::size_t> core_of_rank_;
  Earliest clocks_;  ///< when each core goes on, and, last, the monitor
  int core_ = 0;
  Ticks clock_ = 0;    ///< of the running core
  Ticks horizon_ = 0;  ///< later than this it has to give way
  std::uintptr_t last_read_ = 0;
  Ticks prefetched_at_ = 0;  ///< when the lines asked for ahead have arrived
  std::size_t left_to_do_ = 0;
  Ticks latest_ = 0;  ///< when the last core to leave did
  Fiber outside_;
};

void VirtualMachine::on_load(const void* address, std::size_t bytes) noexcept {
  if (charging != nullptr) charging->load(address, bytes);
}
void VirtualMachine::on_store(const void* address, std::size_t bytes) noexcept {
  if (charging != nullptr) charging->store(address, bytes);
}
void VirtualMachine::on_exchange(const void* address) noexcept {
  if (charging != nullptr) charging->exchange(address);
}
void VirtualMachine::prefetch(const std::byte* from, std::size_t bytes) noexcept {
  if (charging != nullptr) charging->prefetch(from, bytes);
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

std::uintptr_t VirtualMachine::order_of(const void* object) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  return running != nullptr ? running->order_of(object, address) : address;
}

VirtualMachine::Ticks VirtualMachine::now() noexcept {
  return running != nullptr ? running->now() : resting_time;
}

void VirtualMachine::resume_at(Ticks time) noexcept { resting_time = time; }

void VirtualMachine::relax(int& spins, const void* on) noexcept {
  const bool first = spins++ == 0;
  if (charging == nullptr) return;
  if (recorded_into == nullptr) [[likely]]
    return charging->pause();
  charging->spin(on, first);
}

void VirtualMachine::record_into(Timeline* timeline) noexcept { recorded_into = timeline; }
bool VirtualMachine::recording() noexcept { return recorded_into != nullptr; }
void VirtualMachine::record(std::uint16_t what, std::uint32_t subject,
                            std::uint64_t number) noexcept {
  if (recorded_into != nullptr && charging != nullptr) charging->record(what, subject, number);
}
void VirtualMachine::pause() noexcept {
  if (charging != nullptr) charging->pause();
}
void VirtualMachine::yield() noexcept { pause(); }

void VirtualMachine::park(const std::atomic<std::uint64_t>& word, std::uint64_t expected,
                          std::uint64_t timeout_us) noexcept {
  // relaxed: there is one thread.
  if (charging == nullptr || word.load(std::memory_order_relaxed) != expected) return;
  charging->park(&word, charging->now() + ticks(static_cast<double>(timeout_us)));
}

void VirtualMachine::unpark(const std::atomic<std::uint64_t>& word) noexcept {
  if (running != nullptr) running->unpark(&word);
}

void VirtualMachine::unpark_all() noexcept {
  if (running != nullptr) running->unpark(nullptr);
}

void VirtualMachine::idle(Ticks duration, const std::atomic<std::uint64_t>& stop) noexcept {
  if (charging == nullptr || stop.load(std::memory_order_relaxed) != 0) return;
  charging->park(&stop, charging->now() + duration);
}

bool VirtualMachine::run_crew(const VirtualCrewOptions& options, std::function<void(Member&)> body,
                              const std::function<bool()>& monitor) {
  VirtualCores cores(options, std::move(body));
  const struct Running {
    explicit Running(VirtualCores* those) { running = charging = those; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { running = charging = nullptr; }
  } while_it_runs(&cores);
  cores.run(monitor);
  return true;
}

}  // namespace heddle
