#pragma once

#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "driver/session.h"

/// What the tests of runs on copies share.
namespace heddle::copies {

const inline auto kNever = [] { return false; };

inline std::unique_ptr<Session> open(const std::string& kind, int cores) {
  MachineOptions machine;
  machine.kind = kind;
  return open_session({{"name", "tpcc"}, {"warehouses", "1"}}, cores, 1, machine);
}

inline RunOptions briefly(double seconds = 0.001) {
  RunOptions options;
  options.seconds = seconds;
  return options;
}

/// Sends the copy a signal, once. The copy is the only child of this process with its command line.
/// @param command that line, or a part of it; its first letter is put into brackets, so that the
///        shell that searches for it is not found too
inline std::function<bool()> send(const std::string& signal, const std::string& command) {
  return [signal, command, sent = false]() mutable {
    if (!std::exchange(sent, true)) {
      const std::string pattern = "[" + command.substr(0, 1) + "]" + command.substr(1);
      const std::string whom = " -P " + std::to_string(getpid()) + " -f " + pattern;
      (void)std::system(("pkill -" + signal + whom).c_str());
    }
    return false;
  };
}

}  // namespace heddle::copies
