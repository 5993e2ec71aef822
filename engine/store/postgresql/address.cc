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

}  // namespace heddle::store
