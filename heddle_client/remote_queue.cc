#include "remote_queue.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace heddle::client {

namespace {

/// The kinds of frames, as in heddle_client/wire.py.
enum class Kind : std::uint8_t { kSubmit = 1, kEnd = 2, kForce = 3, kPing = 4 };

constexpr std::chrono::seconds kPause{1};

/// Appends a number in the byte order of this machine: both ends are on it.
template <class Number>
void append(std::string& frame, Number number) {
  std::array<char, sizeof(Number)> bytes{};
  std::memcpy(bytes.data(), &number, sizeof(Number));
  frame.append(bytes.data(), bytes.size());
}

/// The beginning of a frame: the length of what follows the ticket, the kind, and the ticket.
std::string frame_of(Kind kind, Queue::Ticket ticket, std::uint32_t length = 0) {
  std::string frame;
  append(frame, length);
  append(frame, static_cast<std::uint8_t>(kind));
  append(frame, ticket);
  return frame;
}

std::string submission(Queue::Ticket ticket, const Request& request) {
  const auto shared = std::partition_point(request.keys.begin(), request.keys.end(),
                                           [](const Key& key) { return key.exclusive; });
  const auto exclusive = static_cast<std::uint32_t>(shared - request.keys.begin());
  const std::size_t length =
      sizeof(std::uint8_t) + sizeof(std::uint32_t) + request.keys.size() * sizeof(std::uint64_t);
  std::string frame = frame_of(Kind::kSubmit, ticket, static_cast<std::uint32_t>(length));
  append(frame, static_cast<std::uint8_t>(request.scheduled));
  append(frame, exclusive);
  for (const Key& key : request.keys) append(frame, key.hash);
  return frame;
}

}  // namespace

Queue::Submitted RemoteQueue::submit(Request request) {
  merge_keys(request.keys);
  if (request.keys.size() > kMostKeys) {
    throw std::invalid_argument("it names " + std::to_string(request.keys.size()) +
                                " keys: a server takes at most " + std::to_string(kMostKeys));
  }
  std::stable_partition(request.keys.begin(), request.keys.end(),
                        [](const Key& key) { return key.exclusive; });
  const std::lock_guard guard(mutex_);
  if (!enabled_) {
    ++counters_.passed;
    return {kUnscheduled, true};
  }
  const Ticket ticket = ++last_;
  const auto [at, added] =
      transactions_.emplace(ticket, Transaction{.connection = connection_, .since = Clock::now()});
  if (!send(submission(ticket, request))) {
    transactions_.erase(at);
    throw ServerLost("the server of the scheduler cannot be reached");
  }
  return {ticket, false};
}

bool RemoteQueue::on_start(Ticket ticket, std::function<void()> call) {
  const std::lock_guard guard(mutex_);
  const auto found = transactions_.find(ticket);
  if (found == transactions_.end() || found->second.state == State::kRuns) return false;
  found->second.call = std::move(call);
  return true;
}

bool RemoteQueue::cancel(Ticket ticket) {
  std::function<void()> dropped;  // it is destroyed without the mutex
  const std::lock_guard guard(mutex_);
  const auto found = transactions_.find(ticket);
  if (found == transactions_.end() || found->second.state == State::kRuns) return false;
  dropped = std::move(found->second.call);
  ++counters_.cancelled;
  end(found);
  return true;
}

void RemoteQueue::release(Ticket ticket) {
  if (ticket == kUnscheduled) return;
  const std::lock_guard guard(mutex_);
  const auto found = transactions_.find(ticket);
  if (found == transactions_.end() || found->second.state != State::kRuns) {
    throw std::invalid_argument("transaction " + std::to_string(ticket) +
                                " does not run: release a transaction once, after it started");
  }
  end(found);
}

void RemoteQueue::force(Ticket ticket) {
  std::function<void()> call;
  {
    const std::lock_guard guard(mutex_);
    const auto found = transactions_.find(ticket);
    if (found == transactions_.end() || found->second.state == State::kRuns) return;
    if (found->second.connection == connection_) send(frame_of(Kind::kForce, ticket));
    ++counters_.forced;
    call = start(found->second, Clock::now());
  }
  if (call) call();
}

std::optional<std::chrono::microseconds> RemoteQueue::poll(Ticket ticket) {
  const std::lock_guard guard(mutex_);
  const auto found = transactions_.find(ticket);
  if (found == transactions_.end() || found->second.state == State::kRuns) return std::nullopt;
  if (found->second.state == State::kLost) {
    throw ServerLost("the server of the scheduler was lost before the transaction started");
  }
  return kPause;
}

void RemoteQueue::enable(bool on) {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard guard(mutex_);
    enabled_ = on;
    const Clock::time_point now = Clock::now();
    for (auto& [ticket, transaction] : transactions_) {
      if (on || transaction.state == State::kRuns) continue;
      // The server forgets it: nothing of what is let go is to hold up others.
      if (transaction.connection == connection_) send(frame_of(Kind::kEnd, ticket));
      transaction.connection = kNoConnection;
      ++counters_.forced;
      calls.push_back(start(transaction, now));
    }
  }
  for (const std::function<void()>& call : calls) {
    if (call) call();
  }
}

bool RemoteQueue::enabled() const {
  const std::lock_guard guard(mutex_);
  return enabled_;
}

Counters RemoteQueue::counters() const {
  const std::lock_guard guard(mutex_);
  Counters counters = counters_;
  for (const auto& [ticket, transaction] : transactions_) {
    ++(transaction.state == State::kRuns ? counters.running : counters.waiting);
  }
  return counters;
}

std::chrono::microseconds RemoteQueue::oldest_wait() const {
  const std::lock_guard guard(mutex_);
  const Clock::time_point now = Clock::now();
  Clock::duration oldest{0};
  for (const auto& [ticket, transaction] : transactions_) {
    if (transaction.state != State::kRuns) oldest = std::max(oldest, now - transaction.since);
  }
  return std::chrono::duration_cast<std::chrono::microseconds>(oldest);
}

void RemoteQueue::connect(int socket, int wake) {
  const std::lock_guard guard(mutex_);
  socket_ = socket;
  wake_ = wake;
  unsent_.clear();
  ++connection_;
}

bool RemoteQueue::flush() {
  const std::lock_guard guard(mutex_);
  if (socket_ == kNone || unsent_.empty()) return false;
  const std::optional<std::size_t> sent = send_some(unsent_.data(), unsent_.size());
  if (!sent) return false;
  unsent_.erase(0, *sent);
  return !unsent_.empty();
}

std::size_t RemoteQueue::lose(bool start) {
  std::size_t lost = 0;
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard guard(mutex_);
    socket_ = kNone;
    unsent_.clear();
    ++connection_;
    const Clock::time_point now = Clock::now();
    for (auto& [ticket, transaction] : transactions_) {
      if (transaction.state != State::kWaits) continue;
      ++lost;
      if (start) {
        calls.push_back(this->start(transaction, now));
      } else {
        transaction.state = State::kLost;
        calls.push_back(std::exchange(transaction.call, {}));  // it is polled then
      }
    }
  }
  for (const std::function<void()>& call : calls) {
    if (call) call();
  }
  return lost;
}

void RemoteQueue::started(Ticket ticket, bool has_waited) {
  std::function<void()> call;
  {
    const std::lock_guard guard(mutex_);
    const auto found = transactions_.find(ticket);
    if (found == transactions_.end() || found->second.state != State::kWaits) return;
    if (has_waited) ++counters_.waited;
    call = start(found->second, Clock::now());
  }
  if (call) call();
}

void RemoteQueue::ping() {
  const std::lock_guard guard(mutex_);
  send(frame_of(Kind::kPing, kUnscheduled));
}

std::size_t RemoteQueue::size() const {
  const std::lock_guard guard(mutex_);
  return transactions_.size();
}

bool RemoteQueue::send(const std::string& frame) {
  if (socket_ == kNone) return false;
  if (!unsent_.empty()) {
    if (unsent_.size() + frame.size() > kMostUnsent) {
      give_up_socket();
      return false;
    }
    unsent_ += frame;
    return true;
  }
  const std::optional<std::size_t> sent = send_some(frame.data(), frame.size());
  if (!sent) return false;
  if (*sent == frame.size()) return true;
  unsent_ = frame.substr(*sent);
  const char byte = 0;
  // If the pipe is full, its reader is going to wake anyway.
  [[maybe_unused]] const ssize_t written = ::write(wake_, &byte, 1);
  return true;
}

std::optional<std::size_t> RemoteQueue::send_some(const char* data, std::size_t size) {
  const ssize_t sent = ::send(socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS) return 0;
  give_up_socket();
  return std::nullopt;
}

void RemoteQueue::give_up_socket() {
  ::shutdown(socket_, SHUT_RDWR);  // the thread that receives then calls lose()
  socket_ = kNone;
}

void RemoteQueue::end(Transactions::iterator at) {
  if (at->second.connection == connection_) send(frame_of(Kind::kEnd, at->first));
  transactions_.erase(at);
}

std::function<void()> RemoteQueue::start(Transaction& transaction, Clock::time_point now) {
  transaction.state = State::kRuns;
  ++counters_.started;
  const auto wait = std::chrono::duration_cast<std::chrono::microseconds>(now - transaction.since);
  counters_.longest_wait = std::max(counters_.longest_wait, wait);
  return std::exchange(transaction.call, {});
}

}  // namespace heddle::client
