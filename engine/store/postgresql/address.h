#pragma once

#include <string>
#include <utility>
#include <vector>

namespace heddle::store {

/// Where a PostgreSQL server is, as libpq takes it.
class Address {
 public:
  using Parameters = std::vector<std::pair<std::string, std::string>>;

  /// @param where for messages; never a secret
  Address(Parameters parameters, std::string where)
      : parameters_(std::move(parameters)), where_(std::move(where)) {}

  /// The server that a user names. Messages name its host and database, and never show the text.
  /// @param dsn a conninfo string or a URI
  /// @throws std::invalid_argument for another text, and for one with a password
  [[nodiscard]] static Address of_user(const std::string& dsn);

  /// A server whose socket is in a folder, whatever the environment says: libpq takes what is not
  /// given here from variables such as PGHOSTADDR and from the service that PGSERVICE names.
  /// @param peer the name of the user that the server runs as; empty: unknown
  [[nodiscard]] static Address of_socket(const std::string& folder, const std::string& port,
                                         const std::string& user, const std::string& peer);

  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  Parameters parameters_;
  std::string where_;
};

}  // namespace heddle::store
