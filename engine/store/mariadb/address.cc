#include "store/mariadb/address.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace heddle::store {

namespace {

constexpr std::string_view kScheme = "mariadb://";

// The text may hold a password, so that no message quotes it.
[[noreturn]] void refuse(const std::string& problem) {
  throw std::invalid_argument("store mariadb: dsn= " + problem);
}

[[noreturn]] void refuse_form() {
  refuse(
      "is no address of MariaDB; give one such as dsn=mariadb://user@host:3306 or "
      "dsn=mariadb://user@localhost?socket=/run/mysqld/mysqld.sock");
}

/// Splits a text at a separator; without one the second part is empty.
std::pair<std::string_view, std::string_view> split(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

/// Replaces %40 by @ and so on (RFC 3986, section 2.1).
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      plain += text[at];
      continue;
    }
    unsigned code = 0;
    const std::string_view digits = text.substr(at + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2) refuse_form();
    plain += static_cast<char>(code);
    at += 2;
  }
  return plain;
}

unsigned port_of(std::string_view text) {
  constexpr unsigned kHighest = 65'535;
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0 || port > kHighest) {
    refuse_form();
  }
  return port;
}

/// Host and port; an IPv6 address is in brackets.
void read_host(std::string_view text, MariadbAddress& address) {
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) refuse_form();
    address.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) refuse_form();
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    address.host = decoded(text.substr(0, colon));
    rest = text.substr(colon);
  }
  if (!rest.empty()) address.port = port_of(rest.substr(1));
}

}  // namespace

MariadbAddress MariadbAddress::parse(const std::string& dsn) {
  if (!std::string_view(dsn).starts_with(kScheme)) refuse_form();
  const auto [place, parameter] = split(std::string_view(dsn).substr(kScheme.size()), '?');
  const std::size_t at = place.rfind('@');
  const bool has_user = at != std::string_view::npos;
  MariadbAddress address{.of_the_user = true};
  if (has_user) {
    const std::string_view user = place.substr(0, at);
    if (user.find(':') != std::string_view::npos) {
      refuse(
          "has a password, which would be shown with the policy's name; leave it out, and set "
          "MYSQL_PWD, or use an option file such as ~/.my.cnf");
    }
    address.user = decoded(user);
  }
  auto [host, database] = split(has_user ? place.substr(at + 1) : place, '/');
  if (!database.empty()) {
    refuse("names a database; leave it out, because a run makes a database of its own");
  }
  read_host(host, address);
  if (!parameter.empty()) {
    const auto [name, value] = split(parameter, '=');
    if (name != "socket" || value.empty() || value.find('&') != std::string_view::npos) {
      refuse(
          "has a parameter other than socket=; leave it out, and set it in an option file, in "
          "group [client] or [heddle]");
    }
    address.socket = decoded(value);
  }
  if (address.host.empty() && address.socket.empty()) refuse_form();
  address.where = address.socket.empty() ? "host " + address.host : "socket " + address.socket;
  if (address.port != 0) address.where += ", port " + std::to_string(address.port);
  return address;
}

}  // namespace heddle::store
