#include "driver/copied_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

namespace heddle {

namespace {

constexpr int kPollMs = 5;
constexpr int kGraceMs = 5000;  // for a copy that was told to end

/// What a copy's answer begins with.
enum class Answer : char { result = 'r', wrong = 'w', stuck = 's', memory = 'm', failed = 'f' };

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

/// A process that is waited for, and ended if it has not by itself.
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
  throw std::runtime_error(std::string("the run's copy of the database: ") + what + ": " +
                           std::generic_category().message(errno));
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + at, text.size() - at);
    if (count < 0 && errno != EINTR) return;  // nobody listens any more
    if (count > 0) at += static_cast<std::size_t>(count);
  }
}

std::string answer(Session& session, const RunOptions& options, bool check) {
  const auto say = [](Answer kind, const std::string& text) {
    return std::string(1, static_cast<char>(kind)) + text;
  };
  try {
    Result result = session.run(options, [] { return told_to_end != 0; });
    if (check) result.violations = session.check();
    return say(Answer::result, result.to_json());
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

/// The copy's life. The other threads of the process are not in it: nothing here may wait for them.
[[noreturn]] void live_as_copy(Session& session, const RunOptions& options, bool check,
                               pid_t parent, int descriptor) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  std::signal(SIGINT, SIG_IGN);  // the parent decides what Ctrl-C means
  std::signal(SIGTERM, [](int) { told_to_end = 1; });
  write_all(descriptor, answer(session, options, check));
  ::_exit(0);
}

/// Everything the copy says until it closes its end.
std::string listen(int descriptor, const Child& child, const std::function<bool()>& interrupted) {
  std::string text;
  std::array<char, 65536> buffer;
  int grace_ms = kGraceMs;
  for (bool told = false;;) {
    pollfd ready{descriptor, POLLIN, 0};
    const int count = ::poll(&ready, 1, kPollMs);
    if (count < 0 && errno != EINTR) fail("poll");
    if (count <= 0) {
      if (told && (grace_ms -= kPollMs) < 0) return "";
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

[[noreturn]] void throw_as(Answer kind, const std::string& text) {
  switch (kind) {
    case Answer::stuck: throw StuckError(text);
    case Answer::wrong: throw std::invalid_argument(text);
    case Answer::memory: throw std::bad_alloc();
    case Answer::result:
    case Answer::failed: break;
  }
  throw std::runtime_error(text);
}

}  // namespace

std::string run_on_copy(Session& session, const RunOptions& options, bool check,
                        const std::function<bool()>& interrupted) {
  if (!session.single_threaded()) {
    throw std::invalid_argument(
        "only a run on the virtual machine can be made on a copy of its database");
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
  Descriptor here(ends[0]);
  Descriptor there(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t id = ::fork();
  if (id < 0) fail("fork");
  if (id == 0) live_as_copy(session, options, check, parent, there.number());
  Child child(id);
  there.close();
  const std::string text = listen(here.number(), child, interrupted);
  if (text.empty()) {
    throw StuckError("the run did not end, or its process was killed, such as for want of memory");
  }
  const int status = child.wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw StuckError("the run's process was killed while it answered");
  }
  const auto kind = static_cast<Answer>(text.front());
  if (kind != Answer::result) throw_as(kind, text.substr(1));
  return text.substr(1);
}

}  // namespace heddle
