#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "store/connection.h"
#include "store/postgresql/handle.h"

namespace heddle::store {

class RunSchema;

/// A connection in libpq's pipeline mode: commands are collected, and a round trip sends them and
/// reads what became of them.
///
/// A command that fails makes the server skip those behind it in the same round trip.
class Pipeline {
 public:
  /// What a command's answer has to be.
  enum class Command : std::uint8_t {
    prepare,   ///< as an error: `prepared` becomes false
    plain,     ///< any
    write,     ///< a row written
    commit,    ///< a commit: PostgreSQL answers otherwise to the COMMIT of a failed transaction
    query,     ///< rows: take_answer()
    rollback,  ///< any; what has failed before it is forgotten
    end,       ///< of a round trip
  };

  /// @param schema it can end what the server executes for this connection
  /// @param stop nonzero: every wait must end, unless it is so already: after a run its rows are
  ///             copied back
  /// @param round_trips is increased by each
  Pipeline(Client client, Address address, RunSchema& schema, ServerWaits& waits,
           const std::atomic<std::uint64_t>* stop, std::atomic<std::uint64_t>& round_trips);

  void add_prepare(const std::string& name, const std::string& sql, bool& prepared);
  /// Adds a prepared statement, with binary parameters and results.
  void add(Command command, const std::string& name, std::span<const Bytes> parameters = {});
  /// Sends what has been added, without waiting for the answers: the next round trip reads them.
  Status send();
  /// Sends what has been added and reads all answers.
  /// @returns the first failure since the last rollback
  Status round_trip();

  /// Whether commands have been added that are not sent.
  [[nodiscard]] bool has_unsent() const {
    return !sent_.empty() && sent_.back().command != Command::end;
  }
  /// The result of the next query of the last round trip, in the order in which they were added.
  [[nodiscard]] Answer take_answer();
  /// Whether the server has no transaction, as far as answers have been read.
  [[nodiscard]] bool is_idle() const { return PQtransactionStatus(client_.get()) == PQTRANS_IDLE; }
  [[nodiscard]] const std::string& error() const { return error_; }
  Status lose(std::string why);

 private:
  struct Sent {
    Command command;
    bool* prepared;
  };

  Status read_answers();
  Status read_answer(const Sent& sent);
  [[nodiscard]] Status judge(const Sent& sent, Answer answer);
  /// Waits until PQgetResult() need not. After the end of the run it cancels the command that the
  /// server executes. False: the connection is lost.
  bool await_answer(Command first);
  /// What the answers are of that have not been read, as messages name it.
  [[nodiscard]] const char* operation(Command first) const;
  bool added(int accepted, Command command, bool* prepared = nullptr);

  Client client_;
  Address address_;
  [[nodiscard]] bool is_over() const {
    return stop_ != nullptr && stop_->load(std::memory_order_relaxed) != 0;  // carries no data
  }

  RunSchema& schema_;
  ServerWaits& waits_;
  const std::atomic<std::uint64_t>* stop_;  ///< nullptr: it is opened after the run
  std::atomic<std::uint64_t>& round_trips_;
  std::deque<Sent> sent_;  ///< what answers are missing for, also those that are not sent
  std::deque<Answer> answers_;
  bool lost_ = false;
  std::string error_;
};

}  // namespace heddle::store
