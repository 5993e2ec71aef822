#include "driver/process_copy.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

namespace heddle {

namespace {

constexpr int kPollMs = 5;
constexpr int kGraceMs = 5000;  // for a copy that was asked to end
constexpr int kForkAttempts = 5;

/// The first character of a copy's answer.
enum class Answer : char { given = 'g', wrong = 'w', stuck = 's', memory = 'm', failed = 'f' };

/// Set in the copy when it is to end.
volatile std::sig_atomic_t told_to_end = 0;

/// One end of a pipe.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

/// The progress of the copy, in memory shared with its parent process.
class Progress final : public CopyProgress {
 public:
  Progress()
      : steps_(static_cast<Steps*>(mmap(nullptr, sizeof(Steps), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (steps_ == MAP_FAILED) throw std::bad_alloc();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() override { munmap(steps_, sizeof(Steps)); }

  // relaxed throughout: a number that is only compared.
  bool step() override {
    steps_->fetch_add(1, std::memory_order_relaxed);
    return told_to_end != 0;
  }
  bool finish() override {
    steps_->store(kFinished, std::memory_order_relaxed);
    return told_to_end != 0;
  }
  [[nodiscard]] std::uint64_t steps() const { return steps_->load(std::memory_order_relaxed); }

  static constexpr std::uint64_t kFinished = ~std::uint64_t{0};

 private:
  using Steps = std::atomic<std::uint64_t>;  // fresh pages are zero, the initial value
  static_assert(Steps::is_always_lock_free);
  Steps* steps_;
};

/// A process that is waited for, and killed if it has not ended by itself.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (id_ < 0) return;
    ::kill(id_, SIGKILL);
    (void)wait();
  }
  void tell_to_end() const { ::kill(id_, SIGTERM); }

  /// The processor time that it has used; nothing if it has ended.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> processor_time() const {
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(id_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return {};
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  }

  /// Whether it runs, or waits only for a processor; false if it sleeps or is stopped.
  [[nodiscard]] bool is_runnable() const {
    // `PID (NAME) STATE …`; a name may contain brackets.
    std::ifstream file("/proc/" + std::to_string(id_) + "/stat");
    std::string line;
    if (!std::getline(file, line)) return false;
    const std::size_t name_end = line.rfind(')');
    return name_end != std::string::npos && line.compare(name_end, 3, ") R") == 0;
  }

  /// Its exit status, as waitpid() gives it.
  int wait() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = -1;
    return status;
  }

 private:
  pid_t id_;
};

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("the copy of the process: ") + what + ": " +
                           std::generic_category().message(errno));
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + at, text.size() - at);
    if (count < 0 && errno != EINTR) return;  // the reader is gone
    if (count > 0) at += static_cast<std::size_t>(count);
  }
}

std::string answer(const std::function<std::string(CopyProgress&)>& work, Progress& progress) {
  const auto say = [](Answer kind, const std::string& text) {
    return std::string(1, static_cast<char>(kind)) + text;
  };
  try {
    return say(Answer::given, work(progress));
  } catch (const StuckError& error) {
    return say(Answer::stuck, error.what());
  } catch (const std::invalid_argument& error) {
    return say(Answer::wrong, error.what());
  } catch (const std::bad_alloc&) {
    return say(Answer::memory, "");
  } catch (const std::exception& error) {
    return say(Answer::failed, error.what());
  }
}

/// The body of the copy. The process's other threads are not in it, so nothing here may wait for
/// them.
[[noreturn]] void live_as_copy(const std::function<std::string(CopyProgress&)>& work, pid_t parent,
                               int descriptor, Progress& progress) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  // In particular the pipes of other copies, which would seem to be alive as long as this one is.
  const auto own = static_cast<unsigned>(descriptor);
  if (own > STDERR_FILENO + 1) (void)::close_range(STDERR_FILENO + 1, own - 1, 0);
  (void)::close_range(own + 1, ~0U, 0);
  std::signal(SIGINT, SIG_IGN);  // the parent decides what Ctrl-C means
  std::signal(SIGTERM, [](int) { told_to_end = 1; });
  write_all(descriptor, answer(work, progress));
  ::_exit(0);
}

/// Detects a copy whose virtual time has stopped; the run's own watchdog uses virtual time.
///
/// It counts the processor time that the copy has used since its last step, and the time in which
/// the copy did not need a processor: on a busy machine a healthy copy may have to wait for one.
class Watchdog {
 public:
  Watchdog(const Progress& progress, const Child& child, const CopyPatience& patience)
      : progress_(progress), child_(child), patience_(patience) {}

  /// To be called about every kPollMs. Time between late calls counts for little: this process did
  /// not run then and, probably, neither did the copy.
  void look() {
    const auto now = std::chrono::steady_clock::now();
    const Seconds used = child_.processor_time().value_or(std::chrono::nanoseconds(0));
    const std::uint64_t steps = progress_.steps();
    if (steps != steps_) {
      steps_ = steps;
      used_ = used;
      blocked_ = {};
    } else if (!child_.is_runnable()) {
      blocked_ += std::min<Seconds>(now - asked_, kLongestGap);
    }
    asked_ = now;
    const double spent_s = (used - used_ + blocked_).count();
    if (steps == Progress::kFinished) {
      if (spent_s > patience_.finish_s) throw CopyLostError(late());
    } else if (spent_s > patience_.step_s) {
      throw StuckError("virtual time has stopped; the run was terminated");
    }
  }

 private:
  using Seconds = std::chrono::duration<double>;
  static constexpr Seconds kLongestGap{0.1};

  [[nodiscard]] std::string late() const {
    std::ostringstream text;
    text << "its process did not answer within " << patience_.finish_s << " s after its run";
    return text.str();
  }

  const Progress& progress_;
  const Child& child_;
  CopyPatience patience_;
  Seconds used_{};     // processor time at its last step
  Seconds blocked_{};  // since its last step
  std::uint64_t steps_ = 0;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

/// Reads everything the copy writes until it closes its end.
std::string listen(int descriptor, const Child& child, Watchdog watchdog,
                   const std::function<bool()>& interrupted) {
  std::string text;
  std::array<char, 65536> buffer;
  int grace_ms = kGraceMs;
  for (bool told = false;;) {
    pollfd ready{descriptor, POLLIN, 0};
    const int count = ::poll(&ready, 1, kPollMs);
    if (count < 0 && errno != EINTR) fail("poll");
    if (count <= 0) {
      if (told) grace_ms -= kPollMs;
      if (grace_ms < 0) throw CopyLostError("its process did not end when it was asked to");
      watchdog.look();
      if (!told && interrupted()) {
        child.tell_to_end();
        told = true;
      }
      continue;
    }
    const ssize_t bytes = ::read(descriptor, buffer.data(), buffer.size());
    if (bytes == 0) return text;
    if (bytes > 0) text.append(buffer.data(), static_cast<std::size_t>(bytes));
    if (bytes < 0 && errno != EINTR) fail("read");
  }
}

/// Retries: a system that is short of processes or memory may have some shortly after.
pid_t fork_patiently() {
  constexpr auto kPause = std::chrono::milliseconds(200);
  for (int attempt = 0;; ++attempt) {
    const pid_t id = ::fork();
    if (id >= 0 || (errno != EAGAIN && errno != ENOMEM) || attempt == kForkAttempts) return id;
    std::this_thread::sleep_for(kPause);
  }
}

[[noreturn]] void throw_as(Answer kind, const std::string& text) {
  switch (kind) {
    case Answer::stuck: throw StuckError(text);
    case Answer::wrong: throw std::invalid_argument(text);
    case Answer::memory: throw std::bad_alloc();
    case Answer::given:
    case Answer::failed: break;
  }
  throw std::runtime_error(text);
}

/// Describes how a process ended that should have answered.
std::string death(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* name = ::sigabbrev_np(signal);
    return "its process ended by signal SIG" + std::string(name == nullptr ? "?" : name) +
           (signal == SIGKILL ? ", possibly because memory was short" : "");
  }
  return "its process ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::string in_copy_of_process(const std::function<std::string(CopyProgress&)>& work,
                               const CopyPatience& patience,
                               const std::function<bool()>& interrupted) {
  Progress progress;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
  Descriptor here(ends[0]);
  Descriptor there(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t id = fork_patiently();
  if (id < 0) fail("fork");
  if (id == 0) live_as_copy(work, parent, there.number(), progress);
  Child child(id);
  there.close();
  const std::string text =
      listen(here.number(), child, Watchdog(progress, child, patience), interrupted);
  const int status = child.wait();
  if (text.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw CopyLostError(death(status));
  }
  const auto kind = static_cast<Answer>(text.front());
  if (kind != Answer::given) throw_as(kind, text.substr(1));
  return text.substr(1);
}

}  // namespace heddle
