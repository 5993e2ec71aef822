#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "store/server/account.h"

namespace heddle::store {

/// A program to run.
struct Program {
  std::vector<std::string> command;     ///< the file, and its arguments
  std::string folder;                   ///< that it runs in
  std::string log;                      ///< the file that it prints to, which is appended to
  std::string without = {};             ///< it gets no variable whose name begins so
  std::string store = {};               ///< whose program it is, for messages
  std::optional<Account> account = {};  ///< nothing: that of this process
};

/// A process that ends with this one, also if this one is killed.
///
/// It belongs to a session of its own, so that an interrupt from the terminal does not reach it. A
/// copy of this process, by fork(), leaves it alone.
class Child {
 public:
  /// @throws std::runtime_error naming the program and the error
  explicit Child(Program program);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Ends it with SIGQUIT, also if it is stopped, and with SIGKILL if it has not ended after some
  /// seconds.
  ~Child();

  [[nodiscard]] bool has_ended() const;
  /// Waits for its end and returns its exit status; -1: it was killed.
  /// @param give_up is asked every few milliseconds; if it throws, so does this
  int wait(const std::function<void()>& give_up);

 private:
  /// Starts the program and waits for its end. The system kills a process with the thread that has
  /// started it, so that the thread must live as long.
  void keep(const Program& program);
  void signal(int number) const;

  pid_t owner_;
  mutable std::mutex mutex_;  ///< guards what follows, and that `process_` is not another's
  std::condition_variable changed_;
  pid_t process_ = 0;
  int error_ = 0;  ///< of the start
  std::optional<int> status_;
  std::thread keeper_;
};

}  // namespace heddle::store
