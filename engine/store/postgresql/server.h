#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "store/postgresql/address.h"
#include "store/postgresql/child.h"
#include "store/private_folder.h"

namespace heddle::store {

/// A PostgreSQL server in a folder of its own, which only this process can reach: through a Unix
/// socket in that folder. It ends with this object or with this process.
class PrivateServer {
 public:
  struct Settings {
    std::filesystem::path place;  ///< the folder that its own is made in
    bool fsync = true;            ///< false: a failure of the machine may damage it
    std::size_t connections = 1;  ///< it accepts at least as many
  };

  /// Creates the database and starts the server, which takes a second or two.
  /// @throws std::runtime_error naming what is missing or wrong, and the cure
  explicit PrivateServer(const Settings& settings);

  /// The server of this process with these settings, which is started if there is none. It is kept
  /// until the process ends, so that a run need not wait for its start.
  [[nodiscard]] static std::shared_ptr<PrivateServer> of_process(const Settings& settings);

  /// Ends the servers of this process that no run uses.
  static void end_all();

  [[nodiscard]] const Address& address() const { return address_; }

 private:
  [[nodiscard]] bool serves(const Settings& settings) const;
  void create();
  void start();
  void await_start();
  /// The line of the log that says what is wrong; empty: there is none.
  [[nodiscard]] std::string complaint() const;
  [[nodiscard]] std::string log() const { return (folder_.path() / "log").string(); }
  [[nodiscard]] std::string data() const { return (folder_.path() / "data").string(); }

  Settings settings_;
  pid_t owner_;
  std::filesystem::path programs_;
  std::optional<Account> account_;
  PrivateFolder folder_;
  Address address_;
  std::optional<Child> process_;  ///< last: it ends before its folder is removed
};

}  // namespace heddle::store
