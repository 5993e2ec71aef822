#include "workload/replay/header.h"

#include <array>
#include <cstddef>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

namespace heddle::replay {

namespace {

using Json = nlohmann::json;

/// In the order of Act: the names in a trace.
constexpr std::array<std::string_view, 5> kKinds{"read", "update", "insert", "delete", "scan"};

constexpr std::uint64_t kMostTransactions = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 32;  // of a table: row numbers have 32 bits
constexpr std::uint64_t kMostAccesses = std::uint64_t{1} << 40;
constexpr std::size_t kMostTables = 1000;
constexpr std::size_t kMostStates = 0x7fff;

/// A value in the JSON header, with its path.
class Field {
 public:
  Field(const std::string& path, std::string key, const Json& value)
      : path_(path), key_(std::move(key)), value_(value) {}

  [[noreturn]] void wrong(const std::string& wanted) const {
    throw std::invalid_argument("replay program " + path_ +
                                ": header: " + (key_.empty() ? "it" : key_) + " must be " + wanted);
  }
  [[nodiscard]] Field at(const std::string& key) const {
    if (!value_.is_object() || !value_.contains(key)) wrong("an object with '" + key + "'");
    return {path_, key_.empty() ? key : key_ + "." + key, value_.at(key)};
  }
  [[nodiscard]] std::vector<Field> items() const {
    if (!value_.is_array()) wrong("a list");
    std::vector<Field> items;
    for (const Json& item : value_) {
      items.emplace_back(path_, key_ + "[" + std::to_string(items.size()) + "]", item);
    }
    return items;
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t most) const {
    const bool whole = value_.is_number_unsigned();
    if (!whole || value_.get<std::uint64_t>() > most) {
      wrong("a whole number up to " + std::to_string(most));
    }
    return value_.get<std::uint64_t>();
  }
  [[nodiscard]] std::string text() const {
    if (!value_.is_string() || value_.get_ref<const std::string&>().empty()) {
      wrong("a text that is not empty");
    }
    return value_.get<std::string>();
  }
  [[nodiscard]] Act act() const {
    for (std::size_t kind = 0; value_.is_string() && kind < kKinds.size(); ++kind) {
      if (value_.get_ref<const std::string&>() == kKinds[kind]) return static_cast<Act>(kind);
    }
    wrong("one of read, update, insert, delete, scan");
  }

 private:
  const std::string& path_;
  std::string key_;
  const Json& value_;
};

std::string name_once(const Field& field, std::set<std::string>& seen) {
  std::string name = field.text();
  if (!seen.insert(name).second) field.wrong("a name that no other has, not '" + name + "'");
  return name;
}

/// The name for the read of a row that an access deletes: different from all accesses of its type.
std::string name_of_read(const std::string& name, const std::set<std::string>& declared) {
  std::string read = name + "_read";
  while (declared.contains(read)) read += "_first";
  return read;
}

/// The states of an access, each of which may occur repeatedly: a trace's declaration of a type
/// does not say where its loops are, and a policy for one day must fit the next.
void describe(TypeSpec& spec, const std::string& name, const std::set<std::string>& declared,
              const std::string& table, Act act) {
  const auto add = [&](const std::string& state, AccessKind kind) {
    spec.accesses.push_back({state, table, kind, true});
  };
  switch (act) {
    case Act::read: return add(name, AccessKind::read);
    case Act::update: return add(name, AccessKind::read_modify_write);
    case Act::insert: return add(name, AccessKind::insert);
    case Act::remove:
      add(name_of_read(name, declared), AccessKind::read);
      return add(name, AccessKind::remove);
    case Act::scan: return add(name, AccessKind::scan);
  }
}

void read_tables(const Field& tables, Header& header) {
  std::set<std::string> names;
  for (const Field& table : tables.items()) {
    if (header.tables.size() == kMostTables) table.wrong("one of 1000 at most");
    TableSpec spec{.name = name_once(table.at("name"), names),
                   .rows = table.at("rows").count(kMostRows),
                   .first_born = header.rows};
    header.rows += spec.rows;
    header.tables.push_back(std::move(spec));
  }
}

std::uint16_t table_of(const Field& access, const Header& header) {
  const Field table = access.at("table");
  const std::uint64_t number = table.count(kMostTables);
  if (number >= header.tables.size()) {
    table.wrong("the number of one of the " + std::to_string(header.tables.size()) + " tables");
  }
  return static_cast<std::uint16_t>(number);
}

void read_type(const Field& type, std::set<std::string>& type_names, Header& header) {
  TypeSpec spec{.name = name_once(type.at("name"), type_names), .accesses = {}};
  const std::size_t first = header.signature.state_count();
  std::vector<Step> steps;
  std::set<std::string> names;
  for (const Field& access : type.at("accesses").items()) {
    (void)name_once(access.at("name"), names);
  }
  for (const Field& access : type.at("accesses").items()) {
    const std::size_t state = first + spec.accesses.size();
    if (state >= kMostStates) access.wrong("one of fewer than 32768 states");
    const Step step{access.at("kind").act(), table_of(access, header),
                    static_cast<AccessId>(state)};
    TableSpec& table = header.tables[step.table];
    if (step.act == Act::scan) table.ordered = true;
    describe(spec, access.at("name").text(), names, table.name, step.act);
    steps.push_back(step);
  }
  if (steps.empty()) type.at("accesses").wrong("a list that is not empty");
  header.steps.push_back(std::move(steps));
  header.signature.types.push_back(std::move(spec));
}

Json parse_json(const std::string& path, std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw std::invalid_argument("replay program " + path +
                                ": header: is not JSON: " + error.what());
  }
}

}  // namespace

Header Header::parse(const std::string& path, std::string_view text) {
  const Json json = parse_json(path, text);
  const Field field(path, "", json);
  Header header;
  header.transactions = field.at("transactions").count(kMostTransactions);
  header.accesses = field.at("accesses").count(kMostAccesses);
  header.sessions = field.at("sessions").count(header.transactions);
  if (header.transactions == 0)
    field.at("transactions").wrong("more than 0, to have any to replay");
  read_tables(field.at("tables"), header);
  header.signature.workload = "replay";
  std::set<std::string> type_names;
  for (const Field& type : field.at("types").items()) read_type(type, type_names, header);
  return header;
}

}  // namespace heddle::replay
