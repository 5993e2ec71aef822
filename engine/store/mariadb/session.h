#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "store/connection.h"
#include "store/mariadb/handle.h"

namespace heddle::store {

class RunDatabase;

/// A connection to a MariaDB server that sends several statements in a message: a round trip.
///
/// A statement that fails makes the server skip those behind it in the same message.
class MariadbSession {
 public:
  /// What a statement's answer has to be.
  enum class Kind : std::uint8_t {
    plain,     ///< any
    write,     ///< a row written
    query,     ///< rows: take_result()
    commit,    ///< any
    rollback,  ///< any; what has failed before it is forgotten
  };

  /// @param database it can end what the server executes for this session
  /// @param stop nonzero: every wait must end, unless it is so already: after a run its rows are
  ///             copied back
  MariadbSession(MariadbClient client, RunDatabase& database,
                 const std::atomic<std::uint64_t>* stop);

  /// Adds a statement to the next message.
  void add(Kind kind, std::string_view sql);
  /// Sends what has been added, without waiting for the answers: the next round trip reads them.
  Status send();
  /// Sends what has been added and reads all answers.
  /// @returns the first failure since the last rollback
  Status round_trip();
  /// Sends a statement by itself, before what has been added.
  Status round_trip_of(Kind kind, std::string_view sql);
  /// Forgets what has been added.
  void discard();

  [[nodiscard]] std::size_t unsent_bytes() const { return next_.text.size(); }
  /// The rows of the last query.
  [[nodiscard]] MariadbResult take_result() { return std::move(result_); }
  [[nodiscard]] const std::string& error() const { return error_; }
  Status lose(std::string why);

 private:
  struct Message {
    std::string text = {};
    std::vector<Kind> kinds = {};
  };

  Status send(const Message& message);
  Status read_answers();
  Status read_answers_to(const Message& message);
  Status read_answer(Kind kind);
  Status fail(Kind kind);
  /// complete() of a call that waits for the server.
  template <class Start, class Continue>
  void complete_call(Start start, Continue go_on);
  /// Waits for the server, until a call may continue. After the end of the run it ends what the
  /// server executes.
  /// @param begun when the call has
  int await(int events, ServerWaits::Clock::time_point begun);
  [[nodiscard]] bool is_over() const {
    return stop_ != nullptr && stop_->load(std::memory_order_relaxed) != 0;  // carries no data
  }

  MariadbClient client_;
  RunDatabase& database_;
  const std::atomic<std::uint64_t>* stop_;  ///< nullptr: it is opened after the run
  Message next_;
  const char* operation_ = "a statement";  ///< what the last message is, as messages name it
  std::deque<Message> sent_;               ///< whose answers have not been read
  MariadbResult result_;
  bool lost_ = false;
  std::string error_;
};

}  // namespace heddle::store
