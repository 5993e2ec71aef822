#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/private_folder.h"
#include "store/server/account.h"
#include "store/server/child.h"
#include "store/store.h"

namespace heddle::store {

/// What differs between the servers of stores. A folder is that of the server.
struct ServerKind {
  using Folder = const std::filesystem::path&;

  const char* store;    ///< its name, for messages
  const char* user;     ///< the user that packages make for it
  const char* without;  ///< the server gets no variable whose name begins so
  const char* socket;   ///< the file in its folder that clients connect to
  /// The command that makes its database; empty: the server itself does.
  std::vector<std::string> (*create)(Folder folder);
  std::vector<std::string> (*serve)(Folder folder, Durability durability, std::size_t connections);
  /// Whether clients can connect.
  bool (*answers)(Folder folder);
  /// Whether a line of the log says why it does not start.
  bool (*is_complaint)(const std::string& line);
  /// Why it refuses clients although it has started; empty: it does not. nullptr: it never does.
  std::string (*refusal)(Folder folder) = nullptr;
};

/// A server in a folder of its own, which only this process can reach: through a Unix socket in
/// that folder. It ends with this object or with this process.
class PrivateServer {
 public:
  struct Settings {
    std::filesystem::path place;  ///< the folder that its own is made in
    Durability durability = Durability::full;
    std::size_t connections = 1;             ///< it accepts at least as many
    std::function<bool()> interrupted = {};  ///< StoreSetup::interrupted, while it starts
  };

  /// Creates the database and starts the server, which takes up to a second or two.
  /// @throws std::runtime_error naming what is missing or wrong, and the cure
  PrivateServer(const ServerKind& kind, const Settings& settings);

  /// The server of this process with these settings, which is started if there is none. It is kept
  /// until the process ends, so that a run need not wait for its start.
  [[nodiscard]] static std::shared_ptr<PrivateServer> of_process(const ServerKind& kind,
                                                                 const Settings& settings);

  /// Ends the servers of this process that no run uses.
  static void end_all();

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  [[nodiscard]] bool is_like(const Settings& settings) const;
  [[nodiscard]] bool serves(const Settings& settings) const;
  void require_short_socket() const;
  /// @throws std::runtime_error if its start was interrupted
  void require_uninterrupted() const;
  void create();
  void start();
  void await_start();
  [[nodiscard]] Program program(std::vector<std::string> command) const;
  /// The line of the log that says what is wrong; empty: there is none.
  [[nodiscard]] std::string complaint() const;
  [[nodiscard]] std::string log() const { return (folder() / "log").string(); }
  [[noreturn]] void refuse(const std::string& problem) const;

  const ServerKind& kind_;
  Settings settings_;
  pid_t owner_;
  std::optional<Account> account_;
  PrivateFolder folder_;
  std::optional<Child> process_;  ///< last: it ends before its folder is removed
};

}  // namespace heddle::store
