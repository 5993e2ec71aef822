#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "client/queue.h"

namespace heddle::client {

/// The server of a shared queue can't be reached.
class ServerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The transactions of this process in the queue of a server, which orders those of several.
///
/// It sends the requests, and a thread of its owner receives the answers (heddle_client/wire.py has
/// the frames). What the socket does not take at once that thread sends: see connect() and flush().
class RemoteQueue final : public Queue {
 public:
  using Clock = std::chrono::steady_clock;

  /// The most keys of a transaction, as many as a frame has space for.
  static constexpr std::size_t kMostKeys = 131'000;

  /// @throws ServerLost if there is no connection
  /// @throws std::invalid_argument if there are more than kMostKeys keys
  Submitted submit(Request request) override;
  bool on_start(Ticket ticket, std::function<void()> call) override;
  bool cancel(Ticket ticket) override;
  void release(Ticket ticket) override;
  void force(Ticket ticket) override;
  /// @throws ServerLost if the transaction was to wait for a server that is lost
  std::optional<std::chrono::microseconds> poll(Ticket ticket) override;
  void enable(bool on) override;
  [[nodiscard]] bool enabled() const override;
  [[nodiscard]] Counters counters() const override;
  [[nodiscard]] std::chrono::microseconds oldest_wait() const override;

  /// Uses a connected socket, which the caller keeps open until lose().
  /// @param wake a descriptor to which a byte is written when there is something to flush()
  void connect(int socket, int wake);

  /// Sends what the socket did not take before. Returns whether something is left.
  bool flush();

  /// Ends the use of the socket. What waits starts, or is woken and fails when it is polled.
  /// Returns how many.
  std::size_t lose(bool start);

  /// The server has started a transaction. It may have ended here meanwhile.
  void started(Ticket ticket, bool has_waited);

  /// Asks the server for a sign of life.
  void ping();

  /// Transactions that run or wait.
  [[nodiscard]] std::size_t size() const;

 private:
  enum class State : std::uint8_t { kWaits, kRuns, kLost };

  struct Transaction {
    std::uint64_t connection;  ///< which has announced it
    Clock::time_point since;
    State state = State::kWaits;
    std::function<void()> call = {};
  };
  using Transactions = std::unordered_map<Ticket, Transaction>;

  /// Returns false if there is no connection any more.
  bool send(const std::string& frame);
  /// Sends as much as the socket takes. Returns how much that is, or nothing if it is lost.
  std::optional<std::size_t> send_some(const char* data, std::size_t size);
  void give_up_socket();
  void end(Transactions::iterator at);
  /// Lets a waiting transaction run, and returns what to call without the mutex.
  std::function<void()> start(Transaction& transaction, Clock::time_point now);

  mutable std::mutex mutex_;
  int socket_ = kNone;
  int wake_ = kNone;
  std::string unsent_;
  std::uint64_t connection_ = kNoConnection;
  bool enabled_ = true;
  Ticket last_ = kUnscheduled;
  Transactions transactions_;
  Counters counters_;

  static constexpr int kNone = -1;
  static constexpr std::uint64_t kNoConnection = 0;
  /// More unsent bytes mean that the server reads no more.
  static constexpr std::size_t kMostUnsent = std::size_t{64} << 20;
};

}  // namespace heddle::client
