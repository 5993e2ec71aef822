#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

/// Other processes, as /proc shows them.
namespace heddle::killed {

namespace fs = std::filesystem;

inline std::vector<pid_t> all_processes() {
  std::vector<pid_t> all;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    pid_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) all.push_back(number);
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// The processes that run in a folder or in one of its own; one that has ended is in none.
inline std::vector<pid_t> processes_in(const fs::path& folder) {
  std::vector<pid_t> found;
  for (const pid_t process : all_processes()) {
    std::error_code failed;
    const fs::path runs_in = fs::read_symlink("/proc/" + std::to_string(process) + "/cwd", failed);
    if (failed) continue;
    const auto [end, rest] =
        std::mismatch(folder.begin(), folder.end(), runs_in.begin(), runs_in.end());
    if (end == folder.end()) found.push_back(process);
  }
  return found;
}

/// Stops a process, and waits until each of its threads has stopped: the signal comes later. One
/// that has ended has stopped.
inline void stop(pid_t process) {
  if (kill(process, SIGSTOP) != 0) return;
  const auto stopped = [process] {
    std::error_code gone;
    fs::directory_iterator thread("/proc/" + std::to_string(process) + "/task", gone);
    for (; !gone && thread != fs::directory_iterator(); thread.increment(gone)) {
      std::ifstream file(thread->path() / "stat");
      const std::string fields(std::istreambuf_iterator<char>(file), {});
      // `ID (NAME) STATE …`; a name may contain brackets.
      const std::size_t state = fields.rfind(')') + 2;
      if (state < fields.size() && std::string("TZX").find(fields[state]) == std::string::npos) {
        return false;
      }
    }
    return true;
  };
  while (!stopped()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// The processes that a process has started, and that run.
inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const pid_t process : all_processes()) {
    // `PID (NAME) STATE PARENT …`; a name may contain brackets.
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    if (!std::getline(file, line)) continue;
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string::npos || line.size() < name_end + 4) continue;
    const char state = line[name_end + 2];
    if (state != 'Z' && std::atoi(line.c_str() + name_end + 4) == parent) found.push_back(process);
  }
  return found;
}

/// The program of a process and its arguments.
inline std::vector<std::string> command_of(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::ifstream file(folder + "/cmdline");
  std::vector<std::string> command;
  for (std::string text; std::getline(file, text, '\0');) command.push_back(text);
  std::error_code failed;
  const fs::path program = fs::read_symlink(folder + "/exe", failed);
  if (!command.empty() && !failed) command.front() = program.string();
  return command;
}

/// Starts a program as the owner of a folder, in that folder.
/// @param input what it reads, less than a pipe holds
/// @param output the file there that it prints to
inline pid_t start_as_owner(const fs::path& folder, std::vector<std::string> command,
                            const std::string& input, const std::string& output) {
  std::array<int, 2> ends{};
  struct stat owner{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0 || stat(folder.c_str(), &owner) != 0) {
    throw std::runtime_error("no program can be started in " + folder.string());
  }
  std::vector<char*> arguments;
  for (std::string& each : command) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) {
    constexpr int kNotStarted = 127;
    constexpr mode_t kOwnerOnly = 0600;
    const bool changed = geteuid() != 0 || (setgid(owner.st_gid) == 0 && setuid(owner.st_uid) == 0);
    if (!changed || chdir(folder.c_str()) != 0) _exit(kNotStarted);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kNotStarted);
    const int log = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, kOwnerOnly);
    dup2(ends[0], 0);
    dup2(log, 1);
    dup2(log, 2);
    execv(arguments.front(), arguments.data());
    _exit(kNotStarted);
  }
  close(ends[0]);
  (void)!write(ends[1], input.data(), input.size());
  close(ends[1]);
  return process;
}

/// Waits for the end of a process that this one has started; -1: it was killed.
inline int exit_status_of(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Runs a program to its end, and returns its exit status.
inline int run_as_owner(const fs::path& folder, const std::vector<std::string>& command,
                        const std::string& input, const std::string& output) {
  return exit_status_of(start_as_owner(folder, command, input, output));
}

}  // namespace heddle::killed
