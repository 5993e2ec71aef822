#include "killed/killed_run.h"

#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "driver/session.h"
#include "driver/workload_database.h"
#include "killed/named_server.h"
#include "killed/processes.h"
#include "machine/threads.h"
#include "model/random.h"
#include "protocol/silo.h"
#include "store/opened_stores.h"

namespace heddle::killed {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWorkers = 4;
/// A hang is a failure; no test asserts a time.
constexpr std::chrono::seconds kPatience{120};

constexpr std::string_view name_of(Victim victim) {
  switch (victim) {
    case Victim::heddle: return "Heddle";
    case Victim::server: return "the server";
    case Victim::session: return "a process of the server";
    case Victim::both: return "Heddle and the server";
    case Victim::silent_server: return "the server, which is stopped,";
    case Victim::silent_session: return "a session, which is stopped,";
  }
  return "";
}

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(ends_[0]);
    close_write_end();
  }
  [[nodiscard]] int read_end() const { return ends_[0]; }
  [[nodiscard]] int write_end() const { return ends_[1]; }
  void close_write_end() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{};
};

/// A folder that the users of servers may enter.
class Place {
 public:
  Place() {
    std::string path = "/tmp/heddle-killed-XXXXXX";  // short, for the socket
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder in /tmp");
    path_ = path;
    fs::permissions(path_, fs::perms(0755));
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// What the process that runs the transactions does. It ends without destructors, so that what its
/// server has stays where it is.
/// @param dsn of a server that is there already; empty: there is none
[[noreturn]] void run_transactions(const KilledRun& run, const fs::path& place,
                                   const std::string& dsn, int acknowledged, int report,
                                   pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  std::string text;
  try {
    using M = ThreadsMachine;
    RunOptions options{.protocol = "external",
                       .protocol_options = store::test::options_of(run.store),
                       .seconds = std::chrono::duration<double>(kPatience).count(),
                       .watchdog_s = run.watchdog_s};
    if (dsn.empty()) {
      options.protocol_options["folder"] = place.string();
    } else {
      options.protocol_options["dsn"] = dsn;
    }
    options.protocol_options["durability"] = run.durability;
    options.protocol_options["merge"] = std::to_string(run.merge);
    options.protocol_options["locks"] = run.locks ? "hints" : "off";
    const OptionMap workload{{"acknowledged", std::to_string(acknowledged)},
                             {"group_size", std::to_string(run.merge)}};
    const auto session = make_session<M>(
        std::make_shared<WorkloadDatabase<M, Tally<M>, Registry<Silo>>>(workload, kWorkers), {},
        kWorkers, 1, {});
    const Result result = session->run(options, [] { return false; });
    text = std::to_string(result.commits) + " " + result.failure;
  } catch (const std::exception& error) {
    text = "0 error: " + std::string(error.what());
  }
  (void)!write(report, text.data(), text.size());
  _exit(0);
}

/// The process that runs the transactions, as its parent sees it.
class Running {
 public:
  Running(const KilledRun& run, const fs::path& place, const std::string& dsn) {
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ < 0) throw std::runtime_error("no process");
    if (process_ == 0) {
      run_transactions(run, place, dsn, acknowledged_.write_end(), report_.write_end(), parent);
    }
    acknowledged_.close_write_end();
    report_.close_write_end();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (process_ == 0) return;
    kill(process_, SIGKILL);
    (void)wait();
  }

  [[nodiscard]] pid_t process() const { return process_; }

  /// Reads what it writes until a time, or until it has ended: false.
  bool listen_until(Clock::time_point end) {
    while (open_ && Clock::now() < end) {
      std::array<pollfd, 2> ready{
          {{acknowledged_.read_end(), POLLIN, 0}, {report_.read_end(), POLLIN, 0}}};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      if (poll(ready.data(), ready.size(), static_cast<int>(left.count()) + 1) <= 0) continue;
      const bool more_keys = ready[0].revents == 0 || take(acknowledged_.read_end(), keys_);
      const bool more_text = ready[1].revents == 0 || take(report_.read_end(), text_);
      open_ = more_keys && more_text;
    }
    if (!open_) {
      while (take(acknowledged_.read_end(), keys_)) {
      }
      while (take(report_.read_end(), text_)) {
      }
    }
    return open_;
  }
  /// Waits for its first commit; false: it has ended.
  bool await_first_commit() {
    const auto last = Clock::now() + kPatience;
    while (keys_.empty() && Clock::now() < last) {
      if (!listen_until(Clock::now() + std::chrono::milliseconds(5))) return false;
    }
    return !keys_.empty();
  }
  int wait() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    return status;
  }

  [[nodiscard]] std::vector<std::uint64_t> keys() const {
    std::vector<std::uint64_t> keys(keys_.size() / sizeof(std::uint64_t));
    std::memcpy(keys.data(), keys_.data(), keys.size() * sizeof(std::uint64_t));
    return keys;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static bool take(int from, std::string& to) {
    std::array<char, 65536> buffer;
    const ssize_t bytes = read(from, buffer.data(), buffer.size());
    if (bytes > 0) to.append(buffer.data(), static_cast<std::size_t>(bytes));
    return bytes > 0;
  }

  Pipe acknowledged_;
  Pipe report_;
  pid_t process_ = 0;
  bool open_ = true;
  std::string keys_;
  std::string text_;
};

store::Durability durability_of(const KilledRun& run) {
  return run.durability == "full"     ? store::Durability::full
         : run.durability == "normal" ? store::Durability::normal
                                      : store::Durability::off;
}

/// The server that a process has started; 0: there is none.
pid_t server_of(pid_t heddle) {
  const std::vector<pid_t> children = children_of(heddle);
  return children.empty() ? 0 : children.front();
}

void kill_now(const KilledRun& run, pid_t heddle, pid_t server) {
  switch (run.victim) {
    case Victim::heddle: kill(heddle, SIGKILL); break;
    case Victim::server: kill(server, SIGKILL); break;
    case Victim::session: {
      const std::vector<pid_t> sessions = children_of(server);
      if (sessions.empty()) throw std::runtime_error("the server has no process to kill");
      kill(sessions[static_cast<std::size_t>(run.after_ms * 1000) % sessions.size()], SIGKILL);
      break;
    }
    case Victim::both:
      kill(server, SIGKILL);
      kill(heddle, SIGKILL);
      break;
    case Victim::silent_server:
      stop(server);  // first: it starts no others
      for (const pid_t session : children_of(server)) stop(session);
      break;
    case Victim::silent_session: stop(children_of(server).back()); break;
  }
}

/// A process that is stopped does not end with the others.
void kill_all_in(const fs::path& folder) {
  for (const pid_t process : processes_in(folder)) kill(process, SIGKILL);
}

void await_end_of_processes_in(const fs::path& folder) {
  const auto last = Clock::now() + kPatience;
  // What the killed process has started is this one's now, and must be waited for: a server takes a
  // zombie for a server that runs.
  const auto some_run = [&folder] {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return waitpid(-1, nullptr, WNOHANG) == 0 || !processes_in(folder).empty();
  };
  while (some_run()) {
    if (Clock::now() > last) throw std::runtime_error("the server does not end");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::string joined(const std::vector<std::uint64_t>& keys) {
  constexpr std::size_t kShown = 5;
  std::string text = std::to_string(keys.size()) + ":";
  for (std::size_t at = 0; at < std::min(kShown, keys.size()); ++at) {
    text += " " + std::to_string(keys[at]);
  }
  return text;
}

}  // namespace

std::string KilledRun::describe() const {
  return store + ", durability=" + durability + ", merge=" + std::to_string(merge) +
         (locks ? ", locks=hints" : "") + ": " + std::string(name_of(victim)) + " is killed " +
         std::to_string(after_ms) + " ms after the first commit";
}

Remains remains_of(const KilledRun& run) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Place place;
  Remains remains{.in_flight = kWorkers * run.merge};
  std::optional<NamedServer> named;
  if (run.store == "mariadb") {
    try {
      named.emplace(place.path() / "server", durability_of(run));
    } catch (const std::invalid_argument& error) {
      remains.missing = error.what();
      return remains;
    }
  }
  Running running(run, place.path(), named ? named->dsn() : "");
  const auto take_end = [&] {
    const std::string& text = running.text();
    const std::size_t space = text.find(' ');
    if (space == std::string::npos) return;
    remains.ended = true;
    remains.commits = std::stoull(text);
    remains.failure = text.substr(space + 1);
  };
  if (!running.await_first_commit()) {
    take_end();
    if (remains.failure.find("apt-get install") == std::string::npos) {
      throw std::runtime_error("the run commits nothing: " + running.text());
    }
    remains.missing = remains.failure;
    return remains;
  }
  const pid_t server = named                       ? named->process()
                       : run.store == "postgresql" ? server_of(running.process())
                                                   : 0;
  const std::vector<std::string> command =
      server == 0 ? std::vector<std::string>{} : command_of(server);
  if (run.store == "postgresql" && command.empty()) throw std::runtime_error("there is no server");
  const auto wait = std::chrono::duration<double, std::milli>(run.after_ms);
  const auto moment = Clock::now() + std::chrono::duration_cast<Clock::duration>(wait);
  if (!running.listen_until(moment)) {
    throw std::runtime_error("the run ended before it was killed: " + running.text());
  }
  kill_now(run, running.process(), server);
  if (running.listen_until(Clock::now() + kPatience)) {
    throw std::runtime_error("the run continues without its store");
  }
  (void)running.wait();
  if (named) named->end();
  take_end();
  remains.acknowledged = running.keys();
  const fs::path folder = database_folder(run.store, place.path());
  if (folder.empty()) throw std::runtime_error("the run has left no database");
  if (server != 0) remains.server_folder = folder.string();
  if (is_silent(run.victim)) kill_all_in(folder);
  await_end_of_processes_in(folder);
  if (run.victim != Victim::silent_session) {
    remains.found = read_back(run.store, folder, command);
  }
  return remains;
}

bool is_silent(Victim victim) {
  return victim == Victim::silent_server || victim == Victim::silent_session;
}

bool survives(Victim victim) { return victim != Victim::heddle && victim != Victim::both; }

std::vector<std::string> faults_in(const Remains& remains) {
  if (!remains.found) return {};
  const Found& rows = *remains.found;
  std::vector<std::string> faults = rows.damage;
  std::map<std::uint64_t, std::uint64_t> times;
  std::map<std::uint64_t, std::uint64_t> counted;
  for (const Entry& entry : rows.entries) {
    ++times[entry.key];
    ++counted[entry.counter];
  }
  std::vector<std::uint64_t> lost, twice, unknown;
  const std::set<std::uint64_t> acknowledged(remains.acknowledged.begin(),
                                             remains.acknowledged.end());
  for (const std::uint64_t key : acknowledged) {
    if (!times.contains(key)) lost.push_back(key);
  }
  for (const auto& [key, count] : times) {
    if (count != 1) twice.push_back(key);
    if (!acknowledged.contains(key)) unknown.push_back(key);
  }
  if (acknowledged.size() != remains.acknowledged.size()) faults.emplace_back("acknowledged twice");
  if (!lost.empty()) faults.push_back("acknowledged and lost: " + joined(lost));
  if (!twice.empty()) faults.push_back("there twice: " + joined(twice));
  if (unknown.size() > remains.in_flight) {
    faults.push_back("there and never acknowledged: " + joined(unknown));
  }
  for (std::uint64_t counter = 0; counter < kCounters; ++counter) {
    const auto found = rows.counters.find(counter);
    const std::uint64_t value = found == rows.counters.end() ? 0 : found->second;
    if (found == rows.counters.end() || value != counted[counter]) {
      faults.push_back("counter " + std::to_string(counter) + " is " + std::to_string(value) +
                       " with " + std::to_string(counted[counter]) + " entries");
    }
  }
  return faults;
}

KilledRun draw(const std::string& store, std::uint64_t number) {
  constexpr std::uint64_t kLongestMs = 150;
  constexpr std::size_t kMostMerged = 8;
  Random random = Random::stream(number, std::hash<std::string>{}(store));
  KilledRun run{.store = store};
  run.merge = number % 2 == 0 ? 1 : kMostMerged;
  run.locks = number / 2 % 2 != 0;
  run.after_ms = static_cast<double>(random.next() % (kLongestMs * 1000)) / 1000;
  // Of PostgreSQL `normal` keeps the last commits in the memory of the server.
  if (store != "postgresql" && number / 4 % 2 != 0) {
    run.durability = store == "sqlite" ? "off" : "normal";
  }
  if (store == "postgresql") {
    run.victim = static_cast<Victim>(random.next() % 4);
  } else if (store == "mariadb") {
    run.victim = std::array{Victim::heddle, Victim::server, Victim::both}[random.next() % 3];
  }
  return run;
}

}  // namespace heddle::killed
