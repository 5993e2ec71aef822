#pragma once

#include <string>

#include "store/connection.h"

namespace heddle::store {

/// Appends bytes as SQL, a string without a character set. The session's must be utf8mb4, in which
/// no part of a longer character is what is escaped here.
inline void append_literal(std::string& sql, Bytes bytes) {
  sql += "_binary'";
  for (const std::byte each : bytes) {
    const char letter = static_cast<char>(each);
    if (letter == '\'' || letter == '\\') sql += '\\';
    sql += letter;
  }
  sql += '\'';
}

}  // namespace heddle::store
