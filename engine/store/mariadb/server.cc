#include "store/mariadb/server.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "store/mariadb/handle.h"
#include "store/server/program_folder.h"

namespace heddle::store {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSocket = "mariadb.sock";

std::string flush_at_commit(Durability durability) {
  switch (durability) {
    case Durability::full: return "1";
    case Durability::normal: return "2";
    case Durability::off: return "0";
  }
  return "";
}

/// The server makes what it needs, in an empty folder.
std::vector<std::string> create_in(const fs::path& /*folder*/) { return {}; }

std::vector<std::string> serve_in(const fs::path& folder, Durability durability,
                                  std::size_t connections) {
  const fs::path programs = mariadb_programs();
  std::vector<std::string> command{(programs / "mariadbd").string(), "--no-defaults"};
  const auto set = [&command](const std::string& setting) { command.push_back("--" + setting); };
  set("basedir=" + programs.parent_path().string());
  set("datadir=" + folder.string());
  set("tmpdir=" + folder.string());
  set("pid-file=" + (folder / "pid").string());
  set("socket=" + (folder / kSocket).string());
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

bool answers_in(const fs::path& folder) {
  return mysql_errno(try_to_connect(mariadb_in(folder)).get()) == 0;
}

bool is_complaint(const std::string& line) { return line.find("[ERROR]") != std::string::npos; }

}  // namespace

const ServerKind kMariadbServer{.store = "mariadb",
                                .user = "mysql",
                                .without = "MYSQL",
                                .socket = kSocket,
                                .create = &create_in,
                                .serve = &serve_in,
                                .answers = &answers_in,
                                .is_complaint = &is_complaint};

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

MariadbAddress mariadb_in(const fs::path& folder) {
  return {.socket = (folder / kSocket).string(), .user = "root", .where = folder.string()};
}

}  // namespace heddle::store
