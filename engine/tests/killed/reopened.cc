#include "killed/reopened.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>

#if defined(HEDDLE_TEST_ROCKSDB)
#include <rocksdb/db.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction_db.h>
#endif

#include "driver/process_copy.h"
#include "killed/processes.h"
#include "protocol/external_row.h"
#include "store/opened_stores.h"
#include "store/store.h"
#include "store/stores.h"

namespace heddle::killed {

namespace {

constexpr std::size_t kCounterTable = 0;
constexpr std::size_t kEntryTable = 1;
constexpr std::size_t kCounterBytes = sizeof(std::uint64_t) + external::kVersionBytes;
constexpr std::size_t kEntryBytes = sizeof(Entry) + external::kVersionBytes;

/// A row as text: the number of its table, and its key and value in hexadecimal digits.
std::string line_of(std::size_t table, store::Bytes key, store::Bytes value) {
  std::string line = std::to_string(table);
  for (const store::Bytes field : {key, value}) {
    line += ' ';
    for (const std::byte one : field) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      line += kDigits[std::to_integer<std::size_t>(one >> 4)];
      line += kDigits[std::to_integer<std::size_t>(one & std::byte{0xf})];
    }
  }
  return line + '\n';
}

std::vector<std::byte> bytes_of(const std::string& digits) {
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(at, 2), nullptr, 16)));
  }
  return bytes;
}

std::string rows_of_sqlite(const fs::path& folder) {
  const std::atomic<std::uint64_t> stop{0};
  const auto store =
      store::find_store("sqlite")({.tables = {{"COUNTERS", sizeof(std::uint64_t), kCounterBytes},
                                              {"ENTRIES", sizeof(std::uint64_t), kEntryBytes}},
                                   .folder = folder.string(),
                                   .stop = &stop});
  const auto connection = store->connect();
  store::require(*connection, connection->begin(store::Access::read_only));
  std::string rows;
  for (const std::size_t table : {kCounterTable, kEntryTable}) {
    const auto add = [&](store::Bytes key, store::Bytes value) {
      rows += line_of(table, key, value);
      return true;
    };
    store::require(*connection,
                   connection->scan(table, external::KeyBytes(1, false).bytes(),
                                    external::KeyBytes(1, true).bytes(),
                                    store::Direction::ascending, 0, store::RowLock::shared, add));
  }
  return rows;
}

#if defined(HEDDLE_TEST_ROCKSDB)
void require(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

std::string rows_of_rocksdb(const fs::path& folder, bool locking) {
  const std::string database = (folder / "database").string();
  rocksdb::OptimisticTransactionDB* optimistic = nullptr;
  rocksdb::TransactionDB* pessimistic = nullptr;
  if (locking) {
    require(rocksdb::TransactionDB::Open({}, {}, database, &pessimistic));
  } else {
    require(rocksdb::OptimisticTransactionDB::Open({}, database, &optimistic));
  }
  const std::unique_ptr<rocksdb::DB> opened(locking ? static_cast<rocksdb::DB*>(pessimistic)
                                                    : optimistic);
  const std::unique_ptr<rocksdb::Iterator> row(opened->NewIterator({}));
  std::string rows;
  for (row->SeekToFirst(); row->Valid(); row->Next()) {
    const auto bytes = [](const rocksdb::Slice& slice) {
      return std::as_bytes(std::span(slice.data(), slice.size()));
    };
    const store::Bytes key = bytes(row->key());  // it begins with the number of the table
    rows += line_of(std::to_integer<std::size_t>(key[1]), key.subspan(2), bytes(row->value()));
  }
  require(row->status());
  return rows;
}
#endif

/// Runs a server without clients: it recovers its database and executes a script.
std::string rows_by(const fs::path& folder, const std::vector<std::string>& command,
                    const std::string& script) {
  const int status = run_as_owner(folder, command, script, "reopened.log");
  const auto text_of = [&folder](const char* name) {
    std::ostringstream text;
    text << std::ifstream(folder / name).rdbuf();
    return text.str();
  };
  const bool made = fs::exists(folder / "rows-0") && fs::exists(folder / "rows-1");
  if (status != 0 || !made) {
    throw std::runtime_error("the server does not open its database again (" +
                             std::to_string(status) + "): " + text_of("reopened.log"));
  }
  return text_of("rows-0") + text_of("rows-1");
}

std::string rows_of_postgresql(const fs::path& folder, const std::vector<std::string>& server) {
  std::string script =
      "DO $$ DECLARE name text; BEGIN SELECT nspname INTO STRICT name FROM "
      "pg_namespace WHERE nspname LIKE 'heddle%'; ";
  for (const auto& [table, name] : {std::pair{"0", "COUNTERS"}, std::pair{"1", "ENTRIES"}}) {
    script += "EXECUTE format('COPY (SELECT " + std::string(table) +
              ", encode(k, ''hex''), encode(v, ''hex'') FROM %I.\"" + name + "\") TO ''" +
              folder.string() + "/rows-" + table + "'' (DELIMITER '' '')', name); ";
  }
  return rows_by(folder, {server.front(), "--single", "-D", (folder / "data").string(), "postgres"},
                 script + "END $$\n");
}

std::string rows_of_mariadb(const fs::path& folder, std::vector<std::string> server) {
  server.emplace_back("--bootstrap");
  std::string database;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("heddle_")) database = name;
  }
  std::string script;
  for (const auto& [table, name] : {std::pair{"0", "COUNTERS"}, std::pair{"1", "ENTRIES"}}) {
    script += "SELECT " + std::string(table) + ", LOWER(HEX(k)), LOWER(HEX(v)) INTO OUTFILE '" +
              folder.string() + "/rows-" + table + "' FIELDS TERMINATED BY ' ' FROM `" + database +
              "`.`" + name + "`;\n";
  }
  return rows_by(folder, server, script);
}

std::string rows_of(const std::string& store, const fs::path& folder,
                    const std::vector<std::string>& server) {
  if (store == "sqlite") return rows_of_sqlite(folder);
  if (store == "postgresql") return rows_of_postgresql(folder, server);
  if (store == "mariadb") return rows_of_mariadb(folder, server);
#if defined(HEDDLE_TEST_ROCKSDB)
  return rows_of_rocksdb(folder, store::test::conflicts_of(store) == store::Conflicts::locking);
#else
  throw std::runtime_error("the tests are built without RocksDB");
#endif
}

}  // namespace

fs::path database_folder(const std::string& store, const fs::path& place) {
  const std::map<std::string, const char*> made{
      {"sqlite", "database.sqlite"}, {"postgresql", "data"}, {"mariadb", "ibdata1"}};
  const auto found = made.find(store);
  const char* file = found == made.end() ? "database" : found->second;
  for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
    if (fs::exists(entry.path() / file)) return entry.path();
  }
  return {};
}

Found read_back(const std::string& store, const fs::path& folder,
                const std::vector<std::string>& server) {
  // In a process of its own: a store starts threads, which the next copy of this process would not
  // have.
  const auto read = [&](CopyProgress& /*progress*/) {
    return rows_of(store, folder, server) + " ";
  };
  constexpr double kPatienceS = 120;
  std::istringstream lines(in_copy_of_process(read, {.step_s = kPatienceS}, [] { return false; }));
  Found found;
  for (std::string line; std::getline(lines, line) && line != " ";) {
    std::istringstream fields(line);
    std::size_t table = 0;
    std::string key_digits, value_digits;
    fields >> table >> key_digits >> value_digits;
    const std::vector<std::byte> key_bytes = bytes_of(key_digits), value = bytes_of(value_digits);
    std::uint64_t key = 0;
    const bool counts = table == kCounterTable;
    if (key_bytes.size() != sizeof(key) || value.size() != (counts ? kCounterBytes : kEntryBytes)) {
      found.damage.push_back(line);
      continue;
    }
    external::read_key(key_bytes, &key);
    if (counts) {
      std::memcpy(&found.counters[key], value.data(), sizeof(std::uint64_t));
    } else {
      Entry entry{};
      std::memcpy(&entry, value.data(), sizeof(entry));
      if (entry.key != key) found.damage.push_back(line);
      found.entries.push_back(entry);
    }
  }
  return found;
}

}  // namespace heddle::killed
