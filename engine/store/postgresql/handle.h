#pragma once

#include <libpq-fe.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "store/connection.h"
#include "store/postgresql/address.h"
#include "store/server/waits.h"

namespace heddle::store {

struct FinishConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using Client = std::unique_ptr<PGconn, FinishConnection>;

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, ClearResult>;

/// Opens a connection, or returns one that has failed, which PQstatus() says.
[[nodiscard]] Client try_to_connect(const Address& address);

/// Why a connection fails although the server accepts connections, or before one is tried; empty:
/// it does not fail, or the server does not answer yet.
[[nodiscard]] std::string refusal(const Address& address);

/// @throws std::runtime_error naming the server and the cure
[[nodiscard]] Client connect_to(const Address& address);

/// A connection whose waits for the server end.
struct Caller {
  PGconn* client;
  const Address& address;
  ServerWaits& waits;
};

/// Runs SQL and returns the result of its last command. Parameters are texts, $1 and so on; with
/// them the SQL is one command.
/// @throws std::runtime_error naming the server and the cure; after a wait that ended without an
///         answer the connection is of no use
Answer execute(const Caller& caller, const std::string& sql,
               std::initializer_list<std::string> parameters = {},
               ServerWaits::For what = ServerWaits::For::statement);

/// Waits until what has been sent has left, and the next PQgetResult() need not wait.
/// @throws as execute()
void await_result(const Caller& caller, ServerWaits::For what);

/// Waits until all that has been sent has left.
/// @throws as execute()
void flush(const Caller& caller, ServerWaits::For what);

/// What an error's SQLSTATE means for the transaction; empty: the connection is lost.
[[nodiscard]] Status status_of(std::string_view sqlstate);

/// What is wrong, where, and what would help, in one line.
/// @param result nullptr: the connection failed
[[nodiscard]] std::string describe_error(const PGconn* client, const PGresult* result,
                                         const Address& address);

}  // namespace heddle::store
