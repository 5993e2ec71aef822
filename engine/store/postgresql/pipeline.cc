#include "store/postgresql/pipeline.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "store/postgresql/run_schema.h"

namespace heddle::store {

namespace {

constexpr int kBinary = 1;
constexpr std::size_t kMostParameters = 3;

}  // namespace

Pipeline::Pipeline(Client client, Address address, RunSchema& schema, ServerWaits& waits,
                   const std::atomic<std::uint64_t>* stop, std::atomic<std::uint64_t>& round_trips)
    : client_(std::move(client)),
      address_(std::move(address)),
      schema_(schema),
      waits_(waits),
      stop_(stop->load(std::memory_order_relaxed) == 0 ? stop : nullptr),
      round_trips_(round_trips) {
  PQenterPipelineMode(client_.get());
}

void Pipeline::add_prepare(const std::string& name, const std::string& sql, bool& prepared) {
  const int accepted = PQsendPrepare(client_.get(), name.c_str(), sql.c_str(), 0, nullptr);
  prepared = added(accepted, Command::prepare, &prepared);
}

void Pipeline::add(Command command, const std::string& name, std::span<const Bytes> parameters) {
  std::array<const char*, kMostParameters> values{};
  std::array<int, kMostParameters> lengths{};
  std::array<int, kMostParameters> formats{};
  formats.fill(kBinary);
  for (std::size_t at = 0; at < parameters.size(); ++at) {
    values[at] = reinterpret_cast<const char*>(parameters[at].data());
    lengths[at] = static_cast<int>(parameters[at].size());
  }
  const int accepted =
      PQsendQueryPrepared(client_.get(), name.c_str(), static_cast<int>(parameters.size()),
                          values.data(), lengths.data(), formats.data(), kBinary);
  (void)added(accepted, command);
}

bool Pipeline::added(int accepted, Command command, bool* prepared) {
  if (accepted == 1) {
    sent_.push_back({command, prepared});
  } else {
    (void)lose(describe_error(client_.get(), nullptr, address_));
  }
  return accepted == 1;
}

Status Pipeline::send() {
  if (lost_) return Status::lost;
  // It also flushes.
  return added(PQpipelineSync(client_.get()), Command::end) ? Status::ok : Status::lost;
}

Status Pipeline::round_trip() {
  answers_.clear();
  round_trips_.fetch_add(1, std::memory_order_relaxed);  // relaxed: only counted
  if (const Status status = send(); status != Status::ok) return status;
  return read_answers();
}

Answer Pipeline::take_answer() {
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

Status Pipeline::read_answers() {
  Status first = Status::ok;
  while (!sent_.empty()) {
    const Sent sent = sent_.front();
    sent_.pop_front();
    const Status status = read_answer(sent);
    if (status == Status::lost) return status;
    if (sent.command == Command::rollback) {
      first = Status::ok;
    } else if (first == Status::ok) {
      first = status;
    }
  }
  return first;
}

Status Pipeline::read_answer(const Sent& sent) {
  if (!await_answer(sent.command)) return Status::lost;
  Answer answer(PQgetResult(client_.get()));
  if (answer == nullptr || PQstatus(client_.get()) == CONNECTION_BAD) {
    return lose(describe_error(client_.get(), answer.get(), address_));
  }
  const Status status = judge(sent, std::move(answer));
  if (status == Status::lost || sent.command == Command::end) return status;
  // The answers of a command end with nothing.
  if (!await_answer(sent.command)) return Status::lost;
  const Answer nothing(PQgetResult(client_.get()));
  return nothing == nullptr ? status : lose("store postgresql: an answer of an unknown kind");
}

Status Pipeline::judge(const Sent& sent, Answer answer) {
  switch (PQresultStatus(answer.get())) {
    case PGRES_PIPELINE_SYNC:
    case PGRES_PIPELINE_ABORTED:
      if (sent.prepared != nullptr) *sent.prepared = false;
      return Status::ok;
    case PGRES_TUPLES_OK:
      if (sent.command == Command::query) answers_.push_back(std::move(answer));
      return Status::ok;
    case PGRES_COMMAND_OK: {
      const std::string_view tag = PQcmdStatus(answer.get());
      if (sent.command == Command::commit && tag != "COMMIT") return Status::conflict;
      if (sent.command == Command::write && std::string_view(PQcmdTuples(answer.get())) == "0") {
        return lose(
            "store postgresql: a row to be written is gone, which the isolation level "
            "rules out (" +
            address_.where() + "); report this as an error of Heddle");
      }
      return Status::ok;
    }
    default: break;
  }
  if (sent.prepared != nullptr) *sent.prepared = false;
  const char* sqlstate = PQresultErrorField(answer.get(), PG_DIAG_SQLSTATE);
  const Status status = status_of(sqlstate == nullptr ? "" : sqlstate);
  if (sent.command == Command::rollback && status == Status::stopped) return Status::ok;
  if (status == Status::stopped && !is_over()) return Status::busy;  // a statement_timeout
  if (status == Status::lost) return lose(describe_error(client_.get(), answer.get(), address_));
  return status;
}

bool Pipeline::await_answer(Command first) {
  using Clock = ServerWaits::Clock;
  constexpr int kBetweenChecksMs = 10;
  const auto begun = Clock::now();
  std::optional<Clock::time_point> cancelled;
  while (PQisBusy(client_.get()) == 1) {
    const int unsent = PQflush(client_.get());
    const auto wanted = static_cast<short>(POLLIN | (unsent == 1 ? POLLOUT : 0));
    pollfd ready{.fd = PQsocket(client_.get()), .events = wanted, .revents = 0};
    if (unsent < 0 || (poll(&ready, 1, kBetweenChecksMs) > 0 && (ready.revents & ~POLLOUT) != 0 &&
                       PQconsumeInput(client_.get()) == 0)) {
      (void)lose(describe_error(client_.get(), nullptr, address_));
      return false;
    }
    if (ready.revents != 0) continue;
    std::string why;
    if (stop_ == nullptr) {
      why = waits_.reason_to_end(begun, ServerWaits::For::statement, address_.where());
    } else if (is_over() && !cancelled) {
      cancelled = Clock::now();
      schema_.end_statement_of(PQbackendPID(client_.get()));
    } else if (cancelled && Clock::now() - *cancelled > waits_.longest_to_end()) {
      why = waits_.silence(operation(first), begun, address_.where());
    }
    if (!why.empty()) {
      (void)shutdown(ready.fd, SHUT_RDWR);  // nothing that follows waits for an answer again
      (void)lose(std::move(why));
      return false;
    }
  }
  return true;
}

const char* Pipeline::operation(Command first) const {
  bool reads = first == Command::query;
  bool commits = first == Command::commit;
  for (const Sent& sent : sent_) {
    reads = reads || sent.command == Command::query;
    commits = commits || sent.command == Command::commit;
  }
  return commits ? "a commit" : reads ? "a read" : "a statement";
}

Status Pipeline::lose(std::string why) {
  lost_ = true;
  if (error_.empty()) error_ = std::move(why);
  return Status::lost;
}

}  // namespace heddle::store
