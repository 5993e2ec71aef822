#include "store/mariadb/session.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "store/mariadb/run_database.h"

namespace heddle::store {

MariadbSession::MariadbSession(MariadbClient client, RunDatabase& database,
                               const std::atomic<std::uint64_t>* stop)
    : client_(std::move(client)),
      database_(database),
      stop_(stop->load(std::memory_order_relaxed) == 0 ? stop : nullptr) {}

void MariadbSession::add(Kind kind, std::string_view sql) {
  if (!next_.text.empty()) next_.text += ';';
  next_.text += sql;
  next_.kinds.push_back(kind);
}

void MariadbSession::discard() { next_ = {}; }

Status MariadbSession::send() {
  if (lost_) return Status::lost;
  if (next_.kinds.empty()) return Status::ok;
  return send(std::exchange(next_, {}));
}

Status MariadbSession::send(const Message& message) {
  const auto has = [&message](Kind kind) {
    return std::find(message.kinds.begin(), message.kinds.end(), kind) != message.kinds.end();
  };
  operation_ = has(Kind::commit) ? "a commit" : has(Kind::query) ? "a read" : "a statement";
  int failed = 0;
  complete_call(
      [&] {
        return mysql_send_query_start(&failed, client_.get(), message.text.data(),
                                      message.text.size());
      },
      [&](int ready) { return mysql_send_query_cont(&failed, client_.get(), ready); });
  if (failed != 0) return lose(describe_error(client_.get(), database_.address()));
  sent_.push_back({{}, message.kinds});
  return Status::ok;
}

Status MariadbSession::round_trip() {
  if (const Status status = send(); status != Status::ok) return status;
  return read_answers();
}

Status MariadbSession::round_trip_of(Kind kind, std::string_view sql) {
  if (lost_) return Status::lost;
  if (const Status status = send({std::string(sql), {kind}}); status != Status::ok) return status;
  return read_answers();
}

Status MariadbSession::read_answers() {
  Status first = Status::ok;
  while (!sent_.empty()) {
    const Message message = std::move(sent_.front());
    sent_.pop_front();
    const Status status = read_answers_to(message);
    if (status == Status::lost) return status;
    if (message.kinds.back() == Kind::rollback) {
      first = Status::ok;
    } else if (first == Status::ok) {
      first = status;
    }
  }
  return first;
}

Status MariadbSession::read_answers_to(const Message& message) {
  my_bool failed = 0;
  complete_call(
      [&] { return mysql_read_query_result_start(&failed, client_.get()); },
      [&](int ready) { return mysql_read_query_result_cont(&failed, client_.get(), ready); });
  for (std::size_t at = 0; at < message.kinds.size(); ++at) {
    if (failed != 0) return fail(message.kinds[at]);
    if (const Status status = read_answer(message.kinds[at]); status != Status::ok) return status;
    const bool last = at + 1 == message.kinds.size();
    if (last != (mysql_more_results(client_.get()) == 0)) {
      return lose("store mariadb: an answer of an unknown kind");
    }
    if (last) break;
    int next = 0;
    complete_call([&] { return mysql_next_result_start(&next, client_.get()); },
                  [&](int ready) { return mysql_next_result_cont(&next, client_.get(), ready); });
    failed = next == 0 ? 0 : 1;
  }
  return Status::ok;
}

Status MariadbSession::read_answer(Kind kind) {
  if (mysql_field_count(client_.get()) == 0) {
    if (kind != Kind::write || mysql_affected_rows(client_.get()) != 0) return Status::ok;
    return lose(
        "store mariadb: a row to be written is gone, which the isolation level rules out (" +
        database_.address().where + "); report this as an error of Heddle");
  }
  MYSQL_RES* rows = nullptr;
  complete_call([&] { return mysql_store_result_start(&rows, client_.get()); },
                [&](int ready) { return mysql_store_result_cont(&rows, client_.get(), ready); });
  MariadbResult result(rows);
  if (result == nullptr) return fail(kind);
  if (kind == Kind::query) result_ = std::move(result);
  return Status::ok;
}

Status MariadbSession::fail(Kind kind) {
  const Status status = status_of(mysql_errno(client_.get()));
  if (status == Status::lost) return lose(describe_error(client_.get(), database_.address()));
  if (status != Status::stopped || is_over()) return kind == Kind::rollback ? Status::ok : status;
  // Nothing but a time limit of the server, or its administrator.
  return Status::busy;
}

template <class Start, class Continue>
void MariadbSession::complete_call(Start start, Continue go_on) {
  const auto begun = ServerWaits::Clock::now();
  complete(start, go_on, [this, begun](int events) { return await(events, begun); });
}

int MariadbSession::await(int events, ServerWaits::Clock::time_point begun) {
  using Clock = ServerWaits::Clock;
  constexpr std::chrono::milliseconds kBetweenKills{100};
  constexpr int kBetweenChecksMs = 10;
  ServerWaits& waits = database_.waits();
  const std::string& where = database_.address().where;
  pollfd ready{.fd = mysql_get_socket(client_.get()), .events = poll_events(events), .revents = 0};
  std::optional<Clock::time_point> stopped, killed;
  while (poll(&ready, 1, kBetweenChecksMs) <= 0) {
    std::string why;
    const auto now = Clock::now();
    if (stop_ == nullptr) {
      why = waits.reason_to_end(begun, ServerWaits::For::statement, where);
    } else if (is_over()) {
      if (!stopped) stopped = now;
      if (now - *stopped > waits.longest_to_end()) {
        why = waits.silence(operation_, begun, where);
      } else if (!killed || now - *killed > kBetweenKills) {
        // A statement that begins at this moment forgets it.
        killed = now;
        database_.end_statement_of(mysql_thread_id(client_.get()));
      }
    }
    if (why.empty()) continue;
    (void)lose(std::move(why));
    (void)shutdown(ready.fd, SHUT_RDWR);  // the library then reads an end
  }
  return library_events(ready.revents);
}

Status MariadbSession::lose(std::string why) {
  lost_ = true;
  if (error_.empty()) error_ = std::move(why);
  return Status::lost;
}

}  // namespace heddle::store
