#include "store/postgresql/server.h"

#include <unistd.h>

#include <charconv>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "store/postgresql/handle.h"
#include "store/server/account.h"
#include "store/server/program_folder.h"

namespace heddle::store {

namespace {

namespace fs = std::filesystem;

constexpr const char* kUser = "heddle";
constexpr const char* kPort = "5432";
constexpr const char* kStore = "postgresql";
constexpr const char* kPackagedUser = "postgres";

/// The newest version in a folder of one folder a version.
fs::path newest_in(const char* place) {
  fs::path newest;
  int highest = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(place, ignored)) {
    const std::string name = entry.path().filename().string();
    int version = 0;
    (void)std::from_chars(name.data(), name.data() + name.size(), version);
    if (version <= highest || !has_programs(entry.path() / "bin", {"initdb", "postgres"})) continue;
    highest = version;
    newest = entry.path() / "bin";
  }
  return newest;
}

std::string data_in(const fs::path& folder) { return (folder / "data").string(); }

std::vector<std::string> create_in(const fs::path& folder) {
  return {(postgresql_programs() / "initdb").string(),
          "--pgdata=" + data_in(folder),
          "--username=" + std::string(kUser),
          "--auth=trust",
          "--encoding=UTF8",
          "--no-locale",
          "--no-sync",
          "--no-instructions"};
}

std::vector<std::string> serve_in(const fs::path& folder, Durability durability,
                                  std::size_t connections) {
  const std::string safe = durability == Durability::off ? "off" : "on";
  std::vector<std::string> command{(postgresql_programs() / "postgres").string(), "-D",
                                   data_in(folder), "-p", kPort};
  const auto set = [&command](const std::string& setting) {
    command.insert(command.end(), {"-c", setting});
  };
  set("listen_addresses=");
  set("unix_socket_directories=" + folder.string());
  set("unix_socket_permissions=0700");
  set("max_connections=" + std::to_string(connections));
  set("superuser_reserved_connections=0");
  set("fsync=" + safe);
  set("full_page_writes=" + safe);
  // No replica reads the log, so that filling the tables need not write it.
  set("wal_level=minimal");
  set("max_wal_senders=0");
  set("shared_buffers=128MB");
  set("dynamic_shared_memory_type=mmap");  // files in the folder, which is removed
  set("max_pred_locks_per_transaction=256");
  set("deadlock_timeout=100ms");
  // Conflicts are no news.
  set("log_min_messages=fatal");
  set("log_min_error_statement=panic");
  set("update_process_title=off");
  return command;
}

bool answers_in(const fs::path& folder) {
  return PQstatus(try_to_connect(address_in(folder)).get()) == CONNECTION_OK;
}

std::string refusal_in(const fs::path& folder) {
  // Only a variable of the environment makes it unwanted: the service of PGSERVICE is not defined,
  // or PGTZ is no time zone.
  const std::string why = refusal(address_in(folder));
  return why.empty() ? why : why + "; unset the environment variables of libpq, such as PGSERVICE";
}

bool is_complaint(const std::string& line) {
  return line.find("FATAL:") != std::string::npos || line.find("error:") != std::string::npos;
}

}  // namespace

const ServerKind kPostgresqlServer{.store = kStore,
                                   .user = kPackagedUser,
                                   .without = "PG",
                                   .socket = ".s.PGSQL.5432",
                                   .create = &create_in,
                                   .serve = &serve_in,
                                   .answers = &answers_in,
                                   .is_complaint = &is_complaint,
                                   .refusal = &refusal_in};

fs::path postgresql_programs() {
  if (fs::path found = programs_in_path({"initdb", "postgres"}); !found.empty()) return found;
  if (fs::path found = newest_in("/usr/lib/postgresql"); !found.empty()) return found;
  throw std::invalid_argument(
      "store postgresql: initdb and postgres are neither in PATH nor in /usr/lib/postgresql; "
      "install the server (Debian: apt-get install postgresql), or name one with dsn=");
}

Address address_in(const fs::path& folder) {
  const auto account = server_account(kStore, kPackagedUser);
  return Address::of_socket(folder.string(), kPort, kUser,
                            user_name(account ? account->user : geteuid()));
}

}  // namespace heddle::store
