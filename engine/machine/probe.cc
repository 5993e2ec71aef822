#include "machine/probe.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "machine/pages.h"
#include "machine/threads.h"

namespace heddle::probe {

namespace {

constexpr int kRepeats = 7;

struct alignas(64) Line {
  std::uint64_t next = 0;
  std::array<std::byte, 56> rest{};
};

/// Keeps the compiler from removing an otherwise unused value.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

/// The minimum over several repeats of `work`, which takes `count` steps.
template <class F>
double least_ns(double count, F work) {
  double least = std::numeric_limits<double>::max();
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / count);
  }
  return least;
}

/// The cores the process may use, as the system numbers them.
std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

/// Pins the calling thread to one core for as long as the object lives.
class Pinned {
 public:
  explicit Pinned(int core) {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    sched_setaffinity(0, sizeof(only), &only);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { sched_setaffinity(0, sizeof(before_), &before_); }

 private:
  cpu_set_t before_{};
};

/// The lines of a memory area, each containing the number of the next, so that all are visited in
/// random order (Sattolo's shuffle gives one cycle).
PageArray<Line> ring_of(std::size_t bytes) {
  const std::size_t count = std::max<std::size_t>(2, bytes / sizeof(Line));
  PageArray<Line> lines(count);
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(1);
  for (std::size_t i = count - 1; i > 0; --i) std::swap(order[i], order[random() % i]);
  for (std::size_t i = 0; i < count; ++i) lines[i].next = order[i];
  return lines;
}

}  // namespace

double load_ns(std::size_t bytes) {
  const Pinned pinned(usable_cores().front());
  const PageArray<Line> lines = ring_of(bytes);
  const std::size_t steps = std::max<std::size_t>(lines.size(), std::size_t{1} << 20);
  std::uint64_t at = 0;
  return least_ns(static_cast<double>(steps), [&] {
    for (std::size_t step = 0; step < steps; ++step) at = lines[at].next;
    keep(at);
  });
}

double independent_load_ns(std::size_t bytes) {
  const Pinned pinned(usable_cores().front());
  const PageArray<Line> lines = ring_of(bytes);
  std::vector<std::uint32_t> order(lines.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  return least_ns(static_cast<double>(order.size()), [&] {
    std::uint64_t sum = 0;
    for (const std::uint32_t at : order) sum += lines[at].next;
    keep(sum);
  });
}

double transfer_ns(int one, int other) {
  const std::vector<int> cores = usable_cores();
  const auto count = static_cast<int>(cores.size());
  if (one < 0 || other < 0 || one >= count || other >= count || one == other) {
    throw std::invalid_argument("there are no cores " + std::to_string(one) + " and " +
                                std::to_string(other) + " among the " + std::to_string(count) +
                                " that this process may use");
  }
  constexpr std::uint64_t kRounds = 50'000;
  struct alignas(64) Ball {
    std::atomic<std::uint64_t> count{0};
  };
  Ball ball;
  // relaxed: the ball is all that is passed.
  std::thread partner([&, core = cores[static_cast<std::size_t>(other)]] {
    const Pinned pinned(core);
    for (std::uint64_t turn = 1; turn < 2 * kRounds * kRepeats; turn += 2) {
      while (ball.count.load(std::memory_order_relaxed) != turn) {
      }
      ball.count.store(turn + 1, std::memory_order_relaxed);
    }
  });
  const Pinned pinned(cores[static_cast<std::size_t>(one)]);
  std::uint64_t turn = 0;
  const double ns = least_ns(static_cast<double>(2 * kRounds), [&] {
    for (std::uint64_t round = 0; round < kRounds; ++round, turn += 2) {
      ball.count.store(turn + 1, std::memory_order_relaxed);
      while (ball.count.load(std::memory_order_relaxed) != turn + 2) {
      }
    }
  });
  partner.join();
  return ns;
}

double atomic_ns() {
  const Pinned pinned(usable_cores().front());
  constexpr int kSteps = 1'000'000;
  std::atomic<std::uint64_t> word{0};
  return least_ns(kSteps, [&] {
    for (int step = 0; step < kSteps; ++step) word.fetch_add(1, std::memory_order_relaxed);
  });
}

double pause_ns() {
  const Pinned pinned(usable_cores().front());
  constexpr int kSteps = 100'000;
  return least_ns(kSteps, [] {
    for (int step = 0; step < kSteps; ++step) ThreadsMachine::pause();
  });
}

double stream_ns(std::size_t bytes) {
  const Pinned pinned(usable_cores().front());
  constexpr std::size_t kLines = 16;
  // Copies of one line and of sixteen, from distant places: the difference is the cost of the other
  // fifteen.
  const PageArray<Line> ring = ring_of(bytes / kLines);
  const PageArray<Line> lines(ring.size() * kLines);
  const auto copy = [&](std::size_t count) {
    std::array<Line, kLines> to;
    std::uint64_t at = 0;
    return least_ns(static_cast<double>(ring.size()), [&] {
      for (std::size_t step = 0; step < ring.size(); ++step) {
        std::copy_n(&lines[at * kLines], count, to.begin());
        keep(to.data());
        at = ring[at].next;
      }
    });
  };
  return std::max(0.0, (copy(kLines) - copy(1)) / (kLines - 1));
}

}  // namespace heddle::probe
