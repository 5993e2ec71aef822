#include "store/server/child.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace heddle::store {

namespace {

/// This process's environment, without what the program and the language of its messages depend on.
std::vector<std::string> environment(const std::string& without) {
  std::vector<std::string> kept{"LC_ALL=C"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool dropped =
        text.starts_with(without) || text.starts_with("LC_") || text.starts_with("LANG");
    if (!dropped) kept.emplace_back(text);
  }
  return kept;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// What the new process does until it is another program. Other threads of the process that it is a
/// copy of may have held locks, so it calls nothing that takes any.
class Start {
 public:
  explicit Start(const Program& program)
      : command_(program.command),
        environment_(environment(program.without)),
        arguments_(pointers(command_)),
        variables_(pointers(environment_)),
        folder_(program.folder.c_str()),
        log_(program.log.c_str()),
        account_(program.account),
        parent_(getpid()) {}

  /// @param report where the error goes, if it fails
  [[noreturn]] void run(int report) {
    constexpr int kNotStarted = 127;
    if (!prepare()) {
      const int error = errno;
      (void)!write(report, &error, sizeof(error));
      _exit(kNotStarted);
    }
    execve(arguments_[0], arguments_.data(), variables_.data());
    const int error = errno;
    (void)!write(report, &error, sizeof(error));
    _exit(kNotStarted);
  }

 private:
  bool prepare() {
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD}) {
      std::signal(number, SIG_DFL);
    }
    constexpr mode_t kOwnerOnly = 0600;
    const int log = open(log_, O_WRONLY | O_CREAT | O_APPEND, kOwnerOnly);
    const int nothing = open("/dev/null", O_RDONLY);
    if (log < 0 || nothing < 0) return false;
    if (dup2(nothing, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) return false;
    if (account_ && (setgroups(1, &account_->group) != 0 || setgid(account_->group) != 0 ||
                     setuid(account_->user) != 0)) {
      return false;
    }
    if (chdir(folder_) != 0) return false;
    // After the change of the user, which would undo it.
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (getppid() == parent_) return true;
    errno = ECANCELED;
    return false;
  }

  std::vector<std::string> command_;
  std::vector<std::string> environment_;
  std::vector<char*> arguments_;
  std::vector<char*> variables_;
  const char* folder_;
  const char* log_;
  std::optional<Account> account_;
  pid_t parent_;
};

}  // namespace

Child::Child(Program program) : owner_(getpid()) {
  const std::string file = program.command.front();
  const std::string folder = program.folder;
  const std::string store = program.store;
  std::unique_lock lock(mutex_);
  keeper_ = std::thread([this, kept = std::move(program)] { keep(kept); });
  changed_.wait(lock, [this] { return process_ != 0 || error_ != 0; });
  if (error_ == 0) return;
  lock.unlock();
  keeper_.join();
  throw std::runtime_error("store " + store + ": " + file + " can't be started in " + folder +
                           ": " + std::strerror(error_) +
                           "; with folder= name a folder that the server's user may enter");
}

Child::~Child() {
  if (owner_ != getpid()) {
    keeper_.detach();  // the copy has no such thread
    return;
  }
  // PostgreSQL kills a process of its own that is stopped after five.
  constexpr std::chrono::seconds kPatience{10};
  {
    std::unique_lock lock(mutex_);
    signal(SIGQUIT);
    signal(SIGCONT);
    if (!changed_.wait_for(lock, kPatience, [this] { return status_.has_value(); })) {
      signal(SIGKILL);
    }
  }
  keeper_.join();
}

bool Child::has_ended() const {
  const std::lock_guard lock(mutex_);
  return status_.has_value();
}

int Child::wait(const std::function<void()>& give_up) {
  constexpr std::chrono::milliseconds kBetweenChecks{10};
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kBetweenChecks, [this] { return status_.has_value(); })) {
    lock.unlock();
    give_up();
    lock.lock();
  }
  return *status_;
}

void Child::keep(const Program& program) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);  // this process's signals are for other threads
  Start start(program);
  std::array<int, 2> report{};
  int error = pipe2(report.data(), O_CLOEXEC) == 0 ? 0 : errno;
  pid_t process = -1;
  if (error == 0) {
    process = fork();
    if (process == 0) start.run(report[1]);
    if (process < 0) error = errno;
    close(report[1]);
    // The program's start closes the other end, and nothing arrives.
    if (process > 0 && read(report[0], &error, sizeof(error)) > 0) waitpid(process, nullptr, 0);
    close(report[0]);
  }
  {
    const std::lock_guard lock(mutex_);
    error_ = error;
    if (error == 0) process_ = process;
    changed_.notify_all();
  }
  if (error != 0) return;
  // Its number stays its own until the second call, which is made under the lock.
  siginfo_t ended{};
  while (waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  const std::lock_guard lock(mutex_);
  int status = 0;
  const bool known = waitpid(process, &status, 0) == process && WIFEXITED(status);
  status_ = known ? WEXITSTATUS(status) : -1;
  changed_.notify_all();
}

void Child::signal(int number) const {
  if (!status_) (void)kill(process_, number);
}

}  // namespace heddle::store
