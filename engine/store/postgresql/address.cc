#include "store/postgresql/address.h"

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>

namespace heddle::store {

namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

/// Parts of a connection that are secrets: they would be shown as a part of a policy's name.
bool is_secret(const std::string& keyword) {
  return keyword == "password" || keyword == "sslpassword";
}

std::string value_or(const Address::Parameters& parameters, const std::string& keyword,
                     const std::string& otherwise) {
  for (const auto& [each, value] : parameters) {
    if (each == keyword) return value;
  }
  return otherwise;
}

}  // namespace

Address Address::of_user(const std::string& dsn) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(dsn.c_str(), &message));
  // It may quote the text, and with it a password.
  PQfreemem(message);
  if (options == nullptr) {
    throw std::invalid_argument(
        "store postgresql: dsn= is neither a conninfo string nor a URI of libpq; give one such as "
        "dsn=postgresql://user@host:5432/database");
  }
  Parameters given;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    if (is_secret(option->keyword)) {
      throw std::invalid_argument(
          "store postgresql: dsn= has a password, which would be shown with the policy's name; "
          "leave it out, and set PGPASSWORD, or use ~/.pgpass or a service file");
    }
    given.emplace_back(option->keyword, option->val);
  }
  std::string where = "service " + value_or(given, "service", "");
  if (value_or(given, "service", "").empty()) {
    where = "host " + value_or(given, "host", value_or(given, "hostaddr", "by default")) +
            ", database " + value_or(given, "dbname", "by default");
  }
  return {std::move(given), std::move(where)};
}

Address Address::of_socket(const std::string& folder, const std::string& port,
                           const std::string& user, const std::string& peer) {
  const Parameters wanted{
      // An empty value is one that is not given, and a hostaddr would replace the host. Of two
      // empty
      // ones each is the socket's.
      {"host", folder + "," + folder},
      {"hostaddr", ","},
      {"port", port},
      {"user", user},
      {"dbname", "postgres"},
      {"options", " "},
      {"requirepeer", peer},
      {"sslmode", "disable"},
      {"sslcertmode", "disable"},
      {"sslnegotiation", "postgres"},
      {"ssl_min_protocol_version", "TLSv1.2"},
      {"ssl_max_protocol_version", "TLSv1.3"},
      {"gssencmode", "disable"},
      {"channel_binding", "disable"},
      {"require_auth", "none"},
      {"load_balance_hosts", "disable"},
      {"target_session_attrs", "any"},
      {"replication", "false"},
  };
  // Versions of libpq differ in what they know.
  const std::unique_ptr<PQconninfoOption, FreeOptions> known(PQconninfoParse("", nullptr));
  Parameters given;
  for (const PQconninfoOption* option = known.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    const std::string value = value_or(wanted, option->keyword, "");
    if (!value.empty()) given.emplace_back(option->keyword, value);
  }
  return {std::move(given), folder};
}

}  // namespace heddle::store
