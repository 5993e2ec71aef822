#include "store/mariadb/server_command.h"

#include <stdexcept>

#include "store/server/program_folder.h"

namespace heddle::store {

namespace {

namespace fs = std::filesystem;

}  // namespace

std::string flush_at_commit(Durability durability) {
  switch (durability) {
    case Durability::full: return "1";
    case Durability::normal: return "2";
    case Durability::off: return "0";
  }
  return "";
}

fs::path mariadb_programs() {
  if (fs::path found = programs_in_path({"mariadbd"}); !found.empty()) return found;
  // Not in the PATH of everybody.
  for (const char* place : {"/usr/sbin", "/usr/libexec"}) {
    if (has_programs(place, {"mariadbd"})) return place;
  }
  throw std::invalid_argument(
      "store mariadb: mariadbd is neither in PATH nor in /usr/sbin or /usr/libexec; install the "
      "server (Debian: apt-get install mariadb-server-core), or name one with dsn=");
}

std::vector<std::string> mariadb_server_command(const fs::path& folder, Durability durability,
                                                std::size_t connections) {
  const fs::path programs = mariadb_programs();
  std::vector<std::string> command{(programs / "mariadbd").string(), "--no-defaults"};
  const auto set = [&command](const std::string& setting) { command.push_back("--" + setting); };
  set("basedir=" + programs.parent_path().string());
  set("datadir=" + folder.string());
  set("tmpdir=" + folder.string());
  set("pid-file=" + (folder / "pid").string());
  set("socket=" + (folder / kMariadbSocket).string());
  set("skip-networking");
  set("skip-grant-tables");
  set("max-connections=" + std::to_string(connections));
  set("max-prepared-stmt-count=1048576");
  set("innodb-flush-log-at-trx-commit=" + flush_at_commit(durability));
  set("innodb-buffer-pool-size=128M");
  set("innodb-stats-persistent=0");  // the tables of statistics are system tables
  set("innodb-deadlock-report=off");
  // The folder is removed when the server ends.
  set("innodb-fast-shutdown=3");
  set("innodb-buffer-pool-dump-at-shutdown=0");
  set("innodb-buffer-pool-load-at-startup=0");
  set("character-set-server=utf8mb4");
  return command;
}

}  // namespace heddle::store
