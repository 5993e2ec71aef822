#pragma once

#include <string_view>

#include "store/store.h"

namespace heddle::store {

/// An isolation level as SQL names it.
[[nodiscard]] constexpr std::string_view sql_name_of(Isolation isolation) {
  switch (isolation) {
    case Isolation::serializable: return "SERIALIZABLE";
    case Isolation::repeatable_read: return "REPEATABLE READ";
    case Isolation::read_committed: return "READ COMMITTED";
  }
  return "";
}

}  // namespace heddle::store
