#include "machine/threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "machine/concepts.h"

namespace heddle {

static_assert(Machine<ThreadsMachine>);

// On Zen and Skylake a pause takes 40 to 140 cycles: this is some 40 µs, longer than nearly any
// transaction, so that a wait between running cores never pays for a sleep and a wake-up.
constexpr int kSpinsWithOwnCore = 2000;
constexpr int kSpinsOversubscribed = 40;
// Long compared with a hand-over (some 10 µs), short enough not to be noticed.
constexpr double kTurnUs = 2000;
constexpr double kCalibrationUs = 5000;
// Below this a sleep costs more than it saves.
constexpr double kShortestSleepUs = 60;
// A timer may expire 50 µs late by the kernel's timer slack, and the core must also wake up.
constexpr double kAwakeUs = 150;

const bool ThreadsMachine::invariant_tsc_ = ThreadsMachine::detect_invariant_tsc();
const double ThreadsMachine::ticks_per_us_ = ThreadsMachine::calibrate();
std::atomic<int> ThreadsMachine::spins_before_park_{kSpinsWithOwnCore};

ThreadsMachine::Ticks ThreadsMachine::steady_nanoseconds() noexcept {
  return static_cast<Ticks>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::chrono::steady_clock::now().time_since_epoch())
                                .count());
}

bool ThreadsMachine::detect_invariant_tsc() noexcept {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kAdvancedPower = 0x80000007;
  constexpr unsigned kInvariantTsc = 1u << 8;
  return __get_cpuid(kAdvancedPower, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariantTsc) != 0;
#else
  return false;
#endif
}

double ThreadsMachine::calibrate() noexcept {
  if (!invariant_tsc_) return 1000.0;  // now() is in nanoseconds
  const Ticks wall_start = steady_nanoseconds();
  const Ticks start = now();
  Ticks wall = wall_start;
  while (static_cast<double>(wall - wall_start) < kCalibrationUs * 1000.0) {
    wall = steady_nanoseconds();
  }
  return static_cast<double>(now() - start) / (static_cast<double>(wall - wall_start) / 1000.0);
}

void ThreadsMachine::yield() noexcept { sched_yield(); }

void ThreadsMachine::relax_recorded(int& spins) noexcept {
  const bool first = spins == 0;
  const Ticks begin = now();
  relax_unrecorded(spins);
  log_->add_spin(begin, now(), first);
}

namespace {

/// The half of the word that the kernel compares: the one that holds the changing low bits.
const std::uint32_t* futex_half(const std::atomic<std::uint64_t>& word) noexcept {
  static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t));
  const auto* halves = reinterpret_cast<const std::uint32_t*>(&word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return halves;
#else
  return halves + 1;
#endif
}

}  // namespace

void ThreadsMachine::park(const std::atomic<std::uint64_t>& word, std::uint64_t expected,
                          std::uint64_t timeout_us) noexcept {
  timespec timeout{static_cast<time_t>(timeout_us / 1'000'000),
                   static_cast<long>(timeout_us % 1'000'000) * 1000};
  syscall(SYS_futex, futex_half(word), FUTEX_WAIT_PRIVATE, static_cast<std::uint32_t>(expected),
          &timeout, nullptr, 0);
}

void ThreadsMachine::unpark(const std::atomic<std::uint64_t>& word) noexcept {
  syscall(SYS_futex, futex_half(word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void ThreadsMachine::idle(Ticks duration, const std::atomic<std::uint64_t>& stop) noexcept {
  const Ticks end = now() + duration;
  const bool crowded = spins_before_park() == kSpinsOversubscribed;
  while (true) {
    // relaxed: the flag carries no data; seeing it a moment later only idles a moment longer.
    if (stop.load(std::memory_order_relaxed) != 0) return;
    const Ticks time = now();
    if (time >= end) return;
    const double left_us = microseconds(end - time);
    if (left_us > kShortestSleepUs) {
      // The kernel wakes a sleeper some 50 µs late, so the thread spins for the last stretch.
      park(stop, 0, static_cast<std::uint64_t>(left_us - kShortestSleepUs / 2));
    } else if (crowded) {
      yield();
    } else {
      pause();
    }
  }
}

namespace {

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

void pin_to(int core) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  // Best effort: a container may forbid it, and the run is correct without it.
  (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

}  // namespace

/// Assigns cores where there are more workers than cores: first come, first served.
class Turns {
 public:
  explicit Turns(int at_once) : free_(at_once) {}

  /// Waits for a turn.
  void take(CrewMember& member) {
    std::unique_lock lock(mutex_);
    enqueue_and_wait(lock);
    start(member);
  }

  void pass(CrewMember& member) {
    std::unique_lock lock(mutex_);
    if (!waiting_.empty()) {
      hand_over();
      enqueue_and_wait(lock);
    }
    start(member);
  }

  /// Ends a worker's turn.
  void leave() {
    const std::lock_guard lock(mutex_);
    hand_over();
  }

 private:
  struct Ticket {
    std::condition_variable called;
    bool go = false;
  };

  static void start(CrewMember& member) {
    member.turn_end_ = ThreadsMachine::now() + ThreadsMachine::ticks(kTurnUs);
  }

  void enqueue_and_wait(std::unique_lock<std::mutex>& lock) {
    if (free_ > 0) {
      --free_;
      return;
    }
    Ticket ticket;
    waiting_.push_back(&ticket);
    ticket.called.wait(lock, [&ticket] { return ticket.go; });
  }

  void hand_over() {
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    Ticket* next = waiting_.front();
    waiting_.pop_front();
    next->go = true;
    next->called.notify_one();
  }

  std::mutex mutex_;
  std::deque<Ticket*> waiting_;
  int free_;
};

namespace {

/// The state shared by the calling thread and the workers; outlives an abandoned worker.
struct Roll {
  std::mutex mutex;
  std::condition_variable all_done;
  int running = 0;
  std::unique_ptr<Turns> turns;
};

}  // namespace

void CrewMember::pass_turn() { turns_->pass(*this); }

void CrewMember::rest(std::uint64_t duration, const std::atomic<std::uint64_t>& stop) {
  if (crowded()) {
    turns_->leave();
    ThreadsMachine::idle(duration, stop);
    turns_->take(*this);
    return;
  }
  // A thread with a core of its own stays awake long enough to be on time.
  const auto awake = ThreadsMachine::ticks(kAwakeUs);
  ThreadsMachine::idle(duration > awake
                           ? duration - awake
                           : std::min(duration, ThreadsMachine::ticks(kShortestSleepUs)),
                       stop);
}

int ThreadsMachine::cores() noexcept { return static_cast<int>(usable_cores().size()); }

bool ThreadsMachine::run_crew(const CrewOptions& options, std::function<void(Member&)> body,
                              const std::function<bool()>& monitor) {
  const std::vector<int> cores = usable_cores();
  const bool crowded = options.workers > static_cast<int>(cores.size());
  // relaxed: the threads started below see it through their creation.
  const bool turns = crowded && options.take_turns;
  spins_before_park_.store(crowded && !turns ? kSpinsOversubscribed : kSpinsWithOwnCore,
                           std::memory_order_relaxed);
  auto roll = std::make_shared<Roll>();
  if (turns) roll->turns = std::make_unique<Turns>(static_cast<int>(cores.size()));
  roll->running = options.workers;
  auto shared_body = std::make_shared<std::function<void(Member&)>>(std::move(body));
  const std::shared_ptr<Logs> logs = begin_run(options.workers);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(options.workers));
  for (int worker = 0; worker < options.workers; ++worker) {
    // More workers than cores are left to the kernel, which moves them to whatever core is free.
    const int core = options.pin && !crowded ? cores[static_cast<std::size_t>(worker)] : -1;
    threads.emplace_back([roll, shared_body, logs, worker, core] {
      if (core >= 0) pin_to(core);
      CrewMember member(worker, roll->turns.get());
      if (member.crowded()) roll->turns->take(member);
      {
        const OnCore recorded(logs.get(), worker);
        (*shared_body)(member);
      }
      if (member.crowded()) roll->turns->leave();
      const std::lock_guard lock(roll->mutex);
      if (--roll->running == 0) roll->all_done.notify_all();
    });
  }

  std::unique_lock lock(roll->mutex);
  const auto done = [&roll] { return roll->running == 0; };
  const auto poll = std::chrono::microseconds(options.poll_us);
  bool watching = true;
  while (watching && !roll->all_done.wait_for(lock, poll, done)) {
    lock.unlock();
    watching = monitor();
    lock.lock();
  }
  const bool left =
      roll->all_done.wait_for(lock, std::chrono::microseconds(options.grace_us), done);
  lock.unlock();
  for (std::thread& thread : threads) {
    if (left) {
      thread.join();
    } else {
      thread.detach();
    }
  }
  if (left && logs != nullptr) end_run(*logs);
  return left;
}

}  // namespace heddle
