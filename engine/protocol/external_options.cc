#include "protocol/external_options.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "store/stores.h"

namespace heddle {

namespace {

void refuse_options_of_others(const std::string& name, const OptionMap& options) {
  for (const auto& [option, value] : options) {
    const std::vector<std::string> stores = store::stores_with(option);
    if (stores.empty() || !store::is_module(name)) continue;
    if (std::find(stores.begin(), stores.end(), name) != stores.end()) continue;
    std::string valid;
    for (const std::string& each : stores) valid += (valid.empty() ? "" : ", ") + each;
    throw std::invalid_argument("protocol external: store " + name + " has no option '" + option +
                                "'; stores that have it: " + valid);
  }
}

}  // namespace

void ExternalOptions::read(OptionReader& reader) {
  constexpr double kLongestBackoffUs = 1e6;
  constexpr std::int64_t kMostMerged = 1024;
  constexpr std::int64_t kMostConcurrent = 65'536;
  const std::vector<std::string> names = store::store_names();
  reader.choice("store", store, {names.begin(), names.end()},
                "the database that executes the transactions");
  reader.text("folder", folder,
              "folder of the database, which is removed after the run; null: the system's folder "
              "for temporary files");
  reader.choice("durability", durability,
                {{"full", store::Durability::full},
                 {"normal", store::Durability::normal},
                 {"off", store::Durability::off}},
                "full: a commit waits for the disk; normal, off: a power failure loses commits");
  reader.choice("begin", begin,
                {{"immediate", store::Begin::immediate}, {"deferred", store::Begin::deferred}},
                "immediate: a type that writes waits for the write lock when it begins; deferred: "
                "it takes the lock when it commits, and may abort");
  reader.choice(
      "isolation", isolation,
      {{"serializable", store::Isolation::serializable},
       {"repeatable_read", store::Isolation::repeatable_read},
       {"read_committed", store::Isolation::read_committed}},
      "isolation level of the transactions; below serializable there are anomalies, unless "
      "locks=hints locks every row");
  reader.choice(
      "conflicts", conflicts,
      {{"optimistic", store::Conflicts::optimistic}, {"locking", store::Conflicts::locking}},
      "RocksDB's transactions; optimistic: what they have read is validated at the "
      "commit; locking: they lock what they access");
  reader.text("dsn", dsn,
              "address of a server of PostgreSQL or MariaDB, without a password; null: the store "
              "starts its own");
  reader.integer("merge", merge, 1, kMostMerged,
                 "most transactions of a worker that the store commits as one; 1: each by itself");
  reader.choice("reads", reads,
                {{"together", MergedReads::together}, {"alone", MergedReads::alone}},
                "with merge, alone: a transaction that only reads runs at once, while those that "
                "write gather; together: it is one of the group");
  reader.integer("concurrency", concurrency, 1, kMostConcurrent,
                 "most transactions that are in the store at a time, others wait in front of it; "
                 "null: one for each worker");
  reader.choice("locks", locks, {{"off", OutsideLocks::off}, {"hints", OutsideLocks::hints}},
                "hints: before a transaction begins, the rows that its hints name are locked in "
                "front of the store; off: only the store locks");
  reader.choice("prefetch", prefetch, {{"off", Prefetch::off}, {"hints", Prefetch::hints}},
                "hints: a transaction, or its group, reads the rows that hints name in one round "
                "trip when it begins; off: each when it accesses it");
  reader.real("sync_us", sync_us, 0, kLongestBackoffUs,
              "microseconds that a wait for the disk takes, simulated; 0: as the disk takes");
  reader.real("backoff_first_us", backoff.first_us, 0, kLongestBackoffUs,
              "microseconds of the first exponential backoff");
  reader.real("backoff_longest_us", backoff.longest_us, 0, kLongestBackoffUs,
              "microseconds of the longest exponential backoff");
  if (backoff.longest_us < backoff.first_us) {
    reader.reject("backoff_longest_us", std::to_string(backoff.longest_us),
                  "at least backoff_first_us");
  }
}

store::StoreSetup ExternalOptions::setup() const {
  return {.durability = durability,
          .begin = begin,
          .isolation = isolation,
          .conflicts = conflicts,
          .dsn = dsn,
          .simulated_sync_us = sync_us};
}

ExternalOptions ExternalOptions::parse(const OptionMap& options) {
  OptionReader reader("protocol external", options);
  ExternalOptions read = read_options<ExternalOptions>(reader);
  refuse_options_of_others(read.store, options);
  if (!read.dsn.empty() && !read.folder.empty()) {
    throw std::invalid_argument(
        "protocol external: folder= is for a server that the store starts; leave it out with dsn=");
  }
  store::check_store(read.store, read.setup());
  return read;
}

}  // namespace heddle
