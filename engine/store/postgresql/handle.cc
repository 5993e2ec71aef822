#include "store/postgresql/handle.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <utility>
#include <vector>

namespace heddle::store {

namespace {

/// An address as libpq takes it, with what every connection has. It refers to the address.
class Arguments {
 public:
  explicit Arguments(const Address& address) {
    // What comes later takes precedence.
    add("fallback_application_name", "heddle");
    add("connect_timeout", "10");
    for (const auto& [keyword, value] : address.parameters()) add(keyword.c_str(), value.c_str());
    add("client_encoding", "UTF8");
    add(nullptr, nullptr);
  }
  [[nodiscard]] const char* const* keywords() const { return keywords_.data(); }
  [[nodiscard]] const char* const* values() const { return values_.data(); }

 private:
  void add(const char* keyword, const char* value) {
    keywords_.push_back(keyword);
    values_.push_back(value);
  }

  std::vector<const char*> keywords_;
  std::vector<const char*> values_;
};

void ignore_notice(void* /*unused*/, const PGresult* /*notice*/) {}

/// A message of several lines, in one and without an end.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char letter : text) {
    const bool space = std::isspace(static_cast<unsigned char>(letter)) != 0;
    if (!space) {
      line += letter;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

const char* cure_of(std::string_view sqlstate) {
  if (sqlstate.starts_with("53100")) {
    return "free space there, or name a folder on another disk with folder=";
  }
  if (sqlstate.starts_with("53300")) {
    return "use fewer workers, or raise max_connections of the server";
  }
  if (sqlstate.starts_with("53")) return "use fewer workers, or give the server more memory";
  if (sqlstate.starts_with("28")) {
    return "check user= in dsn=, PGPASSWORD or ~/.pgpass, and pg_hba.conf of the server";
  }
  if (sqlstate.starts_with("42501")) {
    return "grant it: GRANT CREATE ON DATABASE name TO user";
  }
  if (sqlstate.starts_with("57P")) return "run it again when the server is up";
  if (sqlstate.starts_with("3D")) return "create the database, or name another one in dsn=";
  if (sqlstate.empty()) return "check that the server runs and that its log names no failure";
  return "see the log of the server";
}

}  // namespace

Client try_to_connect(const Address& address) {
  const Arguments arguments(address);
  Client client(PQconnectdbParams(arguments.keywords(), arguments.values(), 0));
  PQsetNoticeReceiver(client.get(), &ignore_notice, nullptr);
  return client;
}

std::string refusal(const Address& address) {
  const Arguments arguments(address);
  const PGPing ping = PQpingParams(arguments.keywords(), arguments.values(), 0);
  if (ping != PQPING_NO_ATTEMPT && ping != PQPING_OK) return "";
  const Client client = try_to_connect(address);
  if (PQstatus(client.get()) == CONNECTION_OK) return "";
  return in_one_line(PQerrorMessage(client.get()));
}

Client connect_to(const Address& address) {
  Client client = try_to_connect(address);
  if (PQstatus(client.get()) != CONNECTION_OK) {
    throw std::runtime_error(describe_error(client.get(), nullptr, address));
  }
  // Nor does a call wait until the server has taken what it sends.
  PQsetnonblocking(client.get(), 1);
  return client;
}

namespace {

/// Waits until the connection has something to read or to write, whichever it needs.
void await_socket(const Caller& caller, bool unsent, ServerWaits::Clock::time_point begun,
                  ServerWaits::For what) {
  constexpr int kBetweenChecksMs = 10;
  const auto wanted = static_cast<short>(POLLIN | (unsent ? POLLOUT : 0));
  pollfd ready{.fd = PQsocket(caller.client), .events = wanted, .revents = 0};
  while (poll(&ready, 1, kBetweenChecksMs) <= 0) {
    const std::string why = caller.waits.reason_to_end(begun, what, caller.address.where());
    if (why.empty()) continue;
    (void)shutdown(ready.fd, SHUT_RDWR);  // nothing that follows waits for an answer again
    throw std::runtime_error(why);
  }
  if ((ready.revents & ~POLLOUT) != 0 && PQconsumeInput(caller.client) == 0) {
    throw std::runtime_error(describe_error(caller.client, nullptr, caller.address));
  }
}

/// Whether something is left to send.
bool has_unsent(const Caller& caller) {
  const int left = PQflush(caller.client);
  if (left < 0) throw std::runtime_error(describe_error(caller.client, nullptr, caller.address));
  return left != 0;
}

}  // namespace

void flush(const Caller& caller, ServerWaits::For what) {
  const auto begun = ServerWaits::Clock::now();
  while (has_unsent(caller)) await_socket(caller, true, begun, what);
}

void await_result(const Caller& caller, ServerWaits::For what) {
  const auto begun = ServerWaits::Clock::now();
  for (bool unsent = has_unsent(caller); unsent || PQisBusy(caller.client) == 1;
       unsent = has_unsent(caller)) {
    await_socket(caller, unsent, begun, what);
  }
}

Answer execute(const Caller& caller, const std::string& sql,
               std::initializer_list<std::string> parameters, ServerWaits::For what) {
  PGconn* client = caller.client;
  std::vector<const char*> values;
  for (const std::string& each : parameters) values.push_back(each.c_str());
  const int accepted = values.empty()
                           ? PQsendQuery(client, sql.c_str())
                           : PQsendQueryParams(client, sql.c_str(), static_cast<int>(values.size()),
                                               nullptr, values.data(), nullptr, nullptr, 0);
  if (accepted == 0) throw std::runtime_error(describe_error(client, nullptr, caller.address));
  Answer last;
  while (true) {
    await_result(caller, what);
    Answer next(PQgetResult(client));
    if (next == nullptr) break;
    last = std::move(next);
    // The rows are sent next.
    if (PQresultStatus(last.get()) == PGRES_COPY_IN) return last;
  }
  const ExecStatusType status = PQresultStatus(last.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(describe_error(client, last.get(), caller.address));
  }
  return last;
}

Status status_of(std::string_view sqlstate) {
  if (sqlstate == "40001") return Status::conflict;
  if (sqlstate == "40P01") return Status::deadlock;
  if (sqlstate == "55P03") return Status::busy;
  if (sqlstate == "57014") return Status::stopped;
  if (sqlstate == "23505") return Status::exists;
  if (sqlstate == "22012") return Status::absent;  // see Statements::guarded
  return Status::lost;
}

std::string describe_error(const PGconn* client, const PGresult* result, const Address& address) {
  const auto field = [result](int code) -> std::string {
    const char* text = result == nullptr ? nullptr : PQresultErrorField(result, code);
    return text == nullptr ? "" : text;
  };
  std::string sqlstate = field(PG_DIAG_SQLSTATE);
  std::string message = field(PG_DIAG_MESSAGE_PRIMARY);
  if (message.empty()) {
    message = PQerrorMessage(client);
    // A connection that is refused has no result, and no SQLSTATE but in words.
    if (message.find("too many clients") != std::string::npos ||
        message.find("remaining connection slots") != std::string::npos) {
      sqlstate = "53300";
    } else if (message.find("authentication failed") != std::string::npos ||
               message.find("no password supplied") != std::string::npos ||
               message.find("pg_hba.conf") != std::string::npos ||
               message.find("role \"") != std::string::npos) {
      sqlstate = "28000";
    } else if (message.find("database \"") != std::string::npos) {
      sqlstate = "3D000";
    }
  }
  if (message.empty()) message = "the connection is lost";
  const std::string hint = field(PG_DIAG_MESSAGE_HINT);
  return "store postgresql: " + in_one_line(message) + " (" + address.where() + "); " +
         (hint.empty() ? std::string(cure_of(sqlstate)) : in_one_line(hint));
}

}  // namespace heddle::store
