#include "store/mariadb/session.h"

#include <poll.h>
#include <sys/socket.h>

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
  int failed = 0;
  complete(
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
  complete([&] { return mysql_read_query_result_start(&failed, client_.get()); },
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
    complete([&] { return mysql_next_result_start(&next, client_.get()); },
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
  complete([&] { return mysql_store_result_start(&rows, client_.get()); },
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
void MariadbSession::complete(Start start, Continue go_on) {
  for (int events = start(); events != 0;) events = go_on(await(events));
}

int MariadbSession::await(int events) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{5};
  constexpr std::chrono::milliseconds kBetweenKills{100};
  constexpr int kBetweenChecksMs = 10;
  const int wanted = ((events & MYSQL_WAIT_READ) != 0 ? POLLIN : 0) |
                     ((events & MYSQL_WAIT_WRITE) != 0 ? POLLOUT : 0) |
                     ((events & MYSQL_WAIT_EXCEPT) != 0 ? POLLPRI : 0);
  pollfd ready{
      .fd = mysql_get_socket(client_.get()), .events = static_cast<short>(wanted), .revents = 0};
  std::optional<Clock::time_point> stopped, killed;
  while (poll(&ready, 1, kBetweenChecksMs) <= 0) {
    if (!is_over()) continue;
    const auto now = Clock::now();
    if (!stopped) stopped = now;
    if (now - *stopped > kPatience) {
      (void)lose("store mariadb: the server does not answer (" + database_.address().where +
                 "); check that it is not stopped");
      // The library then reads an end.
      (void)shutdown(ready.fd, SHUT_RDWR);
    } else if (!killed || now - *killed > kBetweenKills) {
      // A statement that begins at this moment forgets it.
      killed = now;
      database_.end_statement_of(mysql_thread_id(client_.get()));
    }
  }
  return ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0 ? MYSQL_WAIT_READ : 0) |
         ((ready.revents & POLLOUT) != 0 ? MYSQL_WAIT_WRITE : 0) |
         ((ready.revents & POLLPRI) != 0 ? MYSQL_WAIT_EXCEPT : 0);
}

Status MariadbSession::lose(std::string why) {
  lost_ = true;
  if (error_.empty()) error_ = std::move(why);
  return Status::lost;
}

}  // namespace heddle::store
