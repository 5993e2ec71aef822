#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "store/store.h"

namespace heddle::killed {

/// A MariaDB server that a run names with dsn=, and that outlives it.
///
/// InnoDB keeps the first page of a new database in memory until a checkpoint, so that a server
/// that is killed in its first moments can't open it again. This one has been shut down once before
/// it serves. The database of a server that Heddle has started is removed anyway.
class NamedServer {
 public:
  /// @param folder is made; its parent is one that the server's user may enter
  /// @throws std::runtime_error if it does not start; std::invalid_argument naming the package
  NamedServer(const std::filesystem::path& folder, store::Durability durability);
  NamedServer(const NamedServer&) = delete;
  NamedServer& operator=(const NamedServer&) = delete;
  ~NamedServer();

  [[nodiscard]] std::string dsn() const;
  [[nodiscard]] pid_t process() const { return process_; }
  /// Ends it, if it has not ended.
  void end();

 private:
  std::filesystem::path folder_;
  std::vector<std::string> command_;
  pid_t process_ = 0;
};

}  // namespace heddle::killed
