#include "driver/policy_json.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "driver/option_specs.h"
#include "protocol/names.h"
#include "schedule/admission/options.h"
#include "schedule/classifier/classifier.h"

namespace heddle {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;
constexpr std::string_view kKind = "heddle.policy";
constexpr std::size_t kLargestDocument = std::size_t{16} << 20;
constexpr std::size_t kMostStates = 10'000;
constexpr const char* kUnscheduled = "unscheduled";
constexpr const char* kClassifier = "classifier";
/// In the order in which they are written.
const std::initializer_list<std::string_view> kScheduleFields = {
    "policy", "window", "k",        "barrier",   "hot",
    "defer",  "rules",  "probe_us", kClassifier, kUnscheduled};
constexpr int kMostLevels = 32;  // a policy has five; free-form parts may have more

/// Cuts a UTF-8 text to at most `most` bytes, at a character boundary.
std::string cut(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most) + "...";
}

/// Names and keys come from the file: they can have any length.
[[noreturn]] void fail(const std::string& where, const std::string& what) {
  constexpr std::size_t kLongest = 800;
  throw PolicyError(cut(where.empty() ? what : where + ": " + what, kLongest));
}

std::string shown(const Json& value) {
  constexpr std::size_t kLongest = 60;
  return cut(value.dump(-1, ' ', false, Json::error_handler_t::replace), kLongest);
}

/// Parses, rejecting what JSON allows but a reader would misinterpret (a duplicate key) or could
/// not print again (the library's writer and destructor recurse once per level).
Json parse_strictly(std::string_view text) {
  if (text.size() > kLargestDocument) {
    fail("", "the document is larger than 16 MiB; a policy is a few KiB");
  }
  std::vector<std::set<std::string>> keys;
  const Json::parser_callback_t watch = [&keys](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMostLevels) {
      fail("", "lists and objects are nested more than " + std::to_string(kMostLevels) +
                   " deep; a policy has five levels");
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      fail("", "the key " + shown(value) + " occurs twice in one object");
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::exception& error) {  // numbers out of range are not parse errors
    // The library's text starts with its own error number; line and column follow.
    std::string message = error.what();
    // It quotes the text that it could not parse, which may not be UTF-8 as messages must be.
    std::replace_if(
        message.begin(), message.end(),
        [](char letter) { return static_cast<unsigned char>(letter) > 0x7F; }, '?');
    const std::size_t start = message.find("] ");
    fail("", "not JSON: " + (start == std::string::npos ? message : message.substr(start + 2)));
  }
}

const Json& field(const Json& object, const char* name, const std::string& where) {
  const auto found = object.find(name);
  if (found == object.end()) fail(where, "field '" + std::string(name) + "' is missing");
  return *found;
}

const Json& object_field(const Json& object, const char* name, const std::string& where) {
  const Json& value = field(object, name, where);
  if (!value.is_object()) {
    fail(where, "field '" + std::string(name) + "' must be an object, not " + shown(value));
  }
  return value;
}

const Json& array_field(const Json& object, const char* name, const std::string& where) {
  const Json& value = field(object, name, where);
  if (!value.is_array()) {
    fail(where, "field '" + std::string(name) + "' must be a list, not " + shown(value));
  }
  return value;
}

std::string text_field(const Json& object, const char* name, const std::string& where) {
  const Json& value = field(object, name, where);
  if (!value.is_string()) {
    fail(where, "field '" + std::string(name) + "' must be a text, not " + shown(value));
  }
  return value.get<std::string>();
}

bool bool_field(const Json& object, const char* name, const std::string& where) {
  const Json& value = field(object, name, where);
  if (!value.is_boolean()) {
    fail(where, "field '" + std::string(name) + "' must be true or false, not " + shown(value));
  }
  return value.get<bool>();
}

void only(const Json& object, std::initializer_list<std::string_view> names,
          const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    std::string valid;
    for (const std::string_view name : names)
      valid += (valid.empty() ? "" : ", ") + std::string(name);
    fail(where, "field '" + key + "' is not known; valid: " + valid);
  }
}

constexpr std::initializer_list<AccessKind> kKinds{
    AccessKind::read,   AccessKind::update, AccessKind::insert,
    AccessKind::remove, AccessKind::scan,   AccessKind::read_modify_write};

AccessKind parse_kind(const std::string& text, const std::string& where) {
  std::string valid;
  for (const AccessKind kind : kKinds) {
    if (to_string(kind) == text) return kind;
    valid += (valid.empty() ? "" : ", ") + std::string(to_string(kind));
  }
  fail(where, "field 'kind' is \"" + text + "\"; valid: " + valid);
}

Json signature_json(const Signature& signature) {
  Json types = Json::array();
  std::size_t id = 0;
  for (const TypeSpec& type : signature.types) {
    Json accesses = Json::array();
    for (const AccessSpec& access : type.accesses) {
      accesses.push_back({{"id", id++},
                          {"name", access.name},
                          {"table", access.table},
                          {"kind", to_string(access.kind)},
                          {"loop", access.loop}});
    }
    types.push_back({{"name", type.name}, {"accesses", accesses}});
  }
  return {{"workload", signature.workload}, {"types", types}};
}

Signature read_signature(const Json& json) {
  Signature signature;
  signature.workload = text_field(json, "workload", "signature");
  std::size_t id = 0;
  for (const Json& type_json : array_field(json, "types", "signature")) {
    const std::string where = "signature type " + std::to_string(signature.types.size());
    if (!type_json.is_object()) fail(where, "must be an object, not " + shown(type_json));
    TypeSpec type{text_field(type_json, "name", where), {}};
    for (const Json& access_json : array_field(type_json, "accesses", where)) {
      const std::string at = where + ", access " + std::to_string(type.accesses.size());
      if (!access_json.is_object()) fail(at, "must be an object, not " + shown(access_json));
      const Json& number = field(access_json, "id", at);
      if (!number.is_number_integer() || number != id) {
        fail(at, "field 'id' is " + shown(number) +
                     "; states are numbered across the types, so it must be " + std::to_string(id));
      }
      if (++id > kMostStates) fail(at, "more than " + std::to_string(kMostStates) + " states");
      type.accesses.push_back({text_field(access_json, "name", at),
                               text_field(access_json, "table", at),
                               parse_kind(text_field(access_json, "kind", at), at),
                               bool_field(access_json, "loop", at)});
    }
    signature.types.push_back(std::move(type));
  }
  return signature;
}

/// Describes the first difference.
std::string difference(const Signature& given, const Signature& wanted) {
  if (given.workload != wanted.workload) {
    return "the policy is for workload '" + given.workload + "', not '" + wanted.workload + "'";
  }
  if (given.types.size() != wanted.types.size()) {
    return "the policy has " + std::to_string(given.types.size()) +
           " transaction types, the workload " + std::to_string(wanted.types.size());
  }
  for (std::size_t type = 0; type < wanted.types.size(); ++type) {
    const TypeSpec& ours = wanted.types[type];
    const TypeSpec& theirs = given.types[type];
    if (theirs.name != ours.name) {
      return "type " + std::to_string(type) + " is '" + theirs.name + "' in the policy and '" +
             ours.name + "' in the workload";
    }
    if (theirs.accesses.size() != ours.accesses.size()) {
      return "type '" + ours.name + "' has " + std::to_string(theirs.accesses.size()) +
             " accesses in the policy and " + std::to_string(ours.accesses.size()) +
             " in the workload";
    }
    for (std::size_t at = 0; at < ours.accesses.size(); ++at) {
      if (theirs.accesses[at] == ours.accesses[at]) continue;
      const auto describe = [](const AccessSpec& access) {
        return "'" + access.name + "' (" + std::string(to_string(access.kind)) + " " +
               access.table + (access.loop ? ", loop)" : ")");
      };
      return "access " + std::to_string(wanted.first_state(type) + at) + " of '" + ours.name +
             "' is " + describe(theirs.accesses[at]) + " in the policy and " +
             describe(ours.accesses[at]) + " in the workload";
    }
  }
  return "";
}

bool reads_version(AccessKind kind) {
  return kind == AccessKind::read || kind == AccessKind::read_modify_write;
}
bool writes(AccessKind kind) { return kind != AccessKind::read && kind != AccessKind::scan; }

std::uint16_t parse_wait(const Json& value, const Signature& signature, std::size_t type,
                         const std::string& where) {
  const std::size_t first = signature.first_state(type);
  const std::size_t count = signature.types[type].accesses.size();
  if (value == "NO_WAIT") return 0;
  if (value == "COMMIT") return static_cast<std::uint16_t>(count + 1);
  if (value.is_number_integer()) {
    const auto id = value.get<std::int64_t>();
    const auto low = static_cast<std::int64_t>(first);
    if (id >= low && id < low + static_cast<std::int64_t>(count)) {
      return static_cast<std::uint16_t>(id - low + 1);
    }
  }
  fail(where, "wait for '" + signature.types[type].name + "' is " + shown(value) +
                  "; valid: \"NO_WAIT\", \"COMMIT\", or an access of that type, " +
                  std::to_string(first) + " to " + std::to_string(first + count - 1));
}

/// A cell with two named values; null where the access has no such action.
bool parse_choice(const Json& row, const char* name, bool applies, const char* off, const char* on,
                  const std::string& where) {
  const Json& value = field(row, name, where);
  if (!applies) {
    if (!value.is_null()) {
      fail(where, "field '" + std::string(name) + "' is " + shown(value) +
                      "; this kind of access has no such action, so it must be null");
    }
    return false;
  }
  if (value == off) return false;
  if (value == on) return true;
  fail(where, "field '" + std::string(name) + "' is " + shown(value) + "; valid: \"" + off +
                  "\", \"" + on + "\"");
}

PolicyRow parse_row(const Json& json, const Signature& signature, std::size_t state) {
  const std::size_t type = signature.type_of(state);
  const AccessSpec& access = signature.access(state);
  std::string where = "cc row " + std::to_string(state);
  if (!json.is_object()) fail(where, "must be an object, not " + shown(json));
  where += " (" + signature.types[type].name + " " + access.name + ")";
  only(json,
       {"state", "type", "access", "wait", "read_version", "write_visibility", "early_validation"},
       where);
  const auto must_be = [&](const char* name, const Json& expected) {
    const Json& value = field(json, name, where);
    if (value != expected || value.is_number_float()) {  // 1.0 equals 1, but is no state number
      fail(where, "field '" + std::string(name) + "' is " + shown(value) +
                      "; rows are in the order of the signature, so it must be " + shown(expected));
    }
  };
  must_be("state", state);
  must_be("type", signature.types[type].name);
  must_be("access", access.name);

  PolicyRow row;
  const Json& waits = object_field(json, "wait", where);
  for (const auto& [name, value] : waits.items()) {
    const bool known = std::any_of(signature.types.begin(), signature.types.end(),
                                   [&name = name](const TypeSpec& t) { return t.name == name; });
    if (!known) fail(where, "wait names '" + name + "', which is no type of the workload");
  }
  for (std::size_t other = 0; other < signature.types.size(); ++other) {
    const std::string& name = signature.types[other].name;
    const auto cell = waits.find(name);
    if (cell == waits.end()) fail(where, "wait has no cell for type '" + name + "'");
    row.wait.push_back(parse_wait(*cell, signature, other, where));
  }
  row.dirty_read =
      parse_choice(json, "read_version", reads_version(access.kind), "CLEAN", "DIRTY", where);
  row.public_write =
      parse_choice(json, "write_visibility", writes(access.kind), "PRIVATE", "PUBLIC", where);
  row.early_validation = bool_field(json, "early_validation", where);
  return row;
}

template <class Values>
double parse_value(const Json& value, const Values& allowed, const std::string& where) {
  if (value.is_number()) {
    const double number = value.get<double>();
    if (std::find(allowed.begin(), allowed.end(), number) != allowed.end()) return number;
  }
  std::string valid;
  for (const double number : allowed) {
    valid += (valid.empty() ? "" : ", ") + Json(number).dump();
  }
  fail(where, "is " + shown(value) + "; valid: " + valid);
}

BackoffRow parse_backoff_row(const Json& json, const std::string& where) {
  only(json, {"initial_us", "abort", "commit"}, where);
  BackoffRow row;
  row.initial_us = parse_value(field(json, "initial_us", where), kBackoffInitialsUs,
                               where + ", field 'initial_us'");
  const auto read = [&](const char* name, std::array<double, 3>& cells) {
    const Json& values = array_field(json, name, where);
    if (values.size() != cells.size()) {
      fail(where, "field '" + std::string(name) +
                      "' must have 3 cells (prior aborts 0, 1, 2 and "
                      "more), not " +
                      std::to_string(values.size()));
    }
    for (std::size_t at = 0; at < cells.size(); ++at) {
      cells[at] = parse_value(values[at], kBackoffAlphas,
                              where + ", field '" + name + "', cell " + std::to_string(at));
    }
  };
  read("abort", row.abort);
  read("commit", row.commit);
  return row;
}

std::vector<BackoffRow> parse_backoff_rows(const Json& document, const Signature& signature) {
  const Json& rows = object_field(document, "backoff", "");
  for (const auto& [name, value] : rows.items()) {
    const bool known = std::any_of(signature.types.begin(), signature.types.end(),
                                   [&name = name](const TypeSpec& t) { return t.name == name; });
    if (!known) fail("backoff", "'" + name + "' is no type of the workload");
  }
  std::vector<BackoffRow> parsed;
  for (const TypeSpec& type : signature.types) {
    const std::string where = "backoff of '" + type.name + "'";
    const auto row = rows.find(type.name);
    if (row == rows.end()) fail(where, "is missing");
    if (!row->is_object()) fail(where, "must be an object, not " + shown(*row));
    parsed.push_back(parse_backoff_row(*row, where));
  }
  return parsed;
}

void check_header(const Json& document) {
  if (!document.is_object()) fail("", "a policy document is a JSON object, not " + shown(document));
  const Json& version = field(document, "schema_version", "");
  if (version != kSchemaVersion) {
    fail("", "field 'schema_version' is " + shown(version) + "; this release reads 1");
  }
  const Json& kind = field(document, "kind", "");
  if (kind != kKind) {
    fail("", "field 'kind' is " + shown(kind) + ", not \"" + std::string(kKind) +
                 "\": this is not a policy document");
  }
  only(document,
       {"schema_version", "kind", "name", "signature", "cc", "backoff", "protocol", "schedule",
        "provenance"},
       "");
}

/// A schedule's parameters in the form that the engine takes elsewhere: every value a text.
OptionMap schedule_texts(const Json& schedule) {
  OptionMap texts;
  for (const auto& [key, value] : schedule.items()) {
    if (value.is_array()) {
      std::string& names = texts[key];
      for (const Json& name : value) names += (names.empty() ? "" : ",") + name.get<std::string>();
    } else {
      texts[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  return texts;
}

/// The types that a schedule leaves out, in the signature's order.
Json left_out(const Json& schedule, const Signature& signature) {
  std::set<std::string> names;
  for (const Json& name : array_field(schedule, kUnscheduled, "schedule")) {
    const auto is_it = [&name](const TypeSpec& type) { return name == type.name; };
    if (std::none_of(signature.types.begin(), signature.types.end(), is_it)) {
      std::string known;
      for (const TypeSpec& type : signature.types) known += (known.empty() ? "" : ", ") + type.name;
      fail("schedule", "field 'unscheduled' has " + shown(name) + "; the types are " + known);
    }
    if (!names.insert(name.get<std::string>()).second) {
      fail("schedule", "field 'unscheduled' has " + shown(name) + " twice");
    }
  }
  Json ordered = Json::array();
  for (const TypeSpec& type : signature.types) {
    if (names.contains(type.name)) ordered.push_back(type.name);
  }
  return ordered;
}

/// The classifier, validated and in canonical form.
Json parse_classifier(const Json& classifier, const Signature& signature) {
  try {
    return Json::parse(
        classifier::Classifier::parse(classifier.dump(), signature).to_json(signature));
  } catch (const std::invalid_argument& error) {
    fail("", error.what());
  }
}

/// The protocol that runs instead of the CC table, if there is one.
void parse_protocol(const Json& document, const Signature& signature, Policy& policy) {
  if (!document.contains("protocol") || document["protocol"].is_null()) return;
  const Json& protocol = object_field(document, "protocol", "");
  only(protocol, {"name", "options"}, "protocol");
  policy.protocol = text_field(protocol, "name", "protocol");
  if (executes_policy(policy.protocol)) {
    fail("protocol", "field 'name' is " + shown(protocol["name"]) +
                         "; omit the field 'protocol' for a policy that the table decides");
  }
  const Json& options = object_field(protocol, "options", "protocol");
  for (const auto& [key, value] : options.items()) {
    if (!value.is_string()) {
      fail("protocol", "option '" + key + "' must be a text, not " + shown(value));
    }
    policy.protocol_options[key] = value.get<std::string>();
  }
  try {
    check_protocol(policy.protocol, policy.protocol_options, &signature);
  } catch (const std::invalid_argument& error) {
    fail("", error.what());
  }
  if (isolation_of(policy.protocol, policy.protocol_options) != Isolation::serializable) {
    fail("protocol", "option 'isolation' is " + shown(options["isolation"]) +
                         "; the histories of a policy must be serializable, so omit it");
  }
}

/// The schedule, validated and in canonical form.
std::string parse_schedule(const Json& schedule, const Signature& signature) {
  if (schedule.is_null()) return schedule.dump();
  if (!schedule.is_object()) {
    fail("", "field 'schedule' must be null or an object, not " + shown(schedule));
  }
  (void)text_field(schedule, "policy", "schedule");
  only(schedule, kScheduleFields, "schedule");
  Json canonical = Json::object();
  for (const std::string_view field : kScheduleFields) {
    const std::string name(field);
    if (!schedule.contains(name)) continue;
    if (name == kUnscheduled) {
      canonical[name] = left_out(schedule, signature);
    } else if (name == kClassifier) {
      canonical[name] = parse_classifier(schedule[name], signature);
    } else if (name == "policy" || name == "rules") {
      canonical[name] = text_field(schedule, name.c_str(), "schedule");
    } else if (schedule[name].is_number()) {
      canonical[name] = schedule[name];
    } else {
      fail("schedule", "field '" + name + "' must be a number, not " + shown(schedule[name]));
    }
  }
  try {
    (void)admission::Options::parse(schedule_texts(canonical));
  } catch (const std::invalid_argument& error) {
    fail("", error.what());
  }
  return canonical.dump();
}

Json wait_json(const Signature& signature, const PolicyRow& row) {
  Json waits = Json::object();
  for (std::size_t type = 0; type < signature.types.size(); ++type) {
    const std::uint16_t cell = row.wait[type];
    const std::string& name = signature.types[type].name;
    if (cell == 0) {
      waits[name] = "NO_WAIT";
    } else if (cell > signature.types[type].accesses.size()) {
      waits[name] = "COMMIT";
    } else {
      waits[name] = signature.first_state(type) + cell - 1;
    }
  }
  return waits;
}

Json row_json(const Policy& policy, std::size_t state) {
  const Signature& signature = policy.signature;
  const AccessSpec& access = signature.access(state);
  const PolicyRow& row = policy.rows[state];
  Json json = {{"state", state},
               {"type", signature.types[signature.type_of(state)].name},
               {"access", access.name},
               {"wait", wait_json(signature, row)},
               {"read_version", nullptr},
               {"write_visibility", nullptr},
               {"early_validation", row.early_validation}};
  if (reads_version(access.kind)) json["read_version"] = row.dirty_read ? "DIRTY" : "CLEAN";
  if (writes(access.kind)) json["write_visibility"] = row.public_write ? "PUBLIC" : "PRIVATE";
  return json;
}

}  // namespace

OptionMap schedule_options(const Policy& policy) {
  const Json schedule = Json::parse(policy.schedule_json);
  return schedule.is_null() ? OptionMap() : schedule_texts(schedule);
}

Policy parse_policy(std::string_view text, const Signature& signature) {
  const Json document = parse_strictly(text);
  check_header(document);
  Policy policy;
  policy.name = text_field(document, "name", "");
  policy.signature = read_signature(object_field(document, "signature", ""));
  if (const std::string what = difference(policy.signature, signature); !what.empty()) {
    fail("signature", what + "; a policy runs only on the workload it was made for");
  }
  const Json& rows = array_field(document, "cc", "");
  if (rows.size() != signature.state_count()) {
    fail("cc", "has " + std::to_string(rows.size()) + " rows; the signature has " +
                   std::to_string(signature.state_count()) + " states");
  }
  for (std::size_t state = 0; state < rows.size(); ++state) {
    policy.rows.push_back(parse_row(rows[state], signature, state));
  }
  policy.backoff = parse_backoff_rows(document, signature);
  parse_protocol(document, signature, policy);
  policy.schedule_json = parse_schedule(field(document, "schedule", ""), signature);
  const Json& provenance = object_field(document, "provenance", "");
  policy.provenance_json = provenance.dump();
  return policy;
}

std::string to_json(const Policy& policy) {
  std::ostringstream text;
  text << "{\n\"schema_version\": " << kSchemaVersion << ",\n\"kind\": \"" << kKind
       << "\",\n\"name\": " << Json(policy.name).dump()
       << ",\n\"signature\": {\"workload\": " << Json(policy.signature.workload).dump()
       << ", \"types\": [";
  const Json signature = signature_json(policy.signature);
  const char* separator = "\n";
  for (const Json& type : signature["types"]) {
    text << separator << " {\"name\": " << type["name"].dump() << ", \"accesses\": [";
    separator = "\n";
    for (const Json& access : type["accesses"]) {
      text << separator << "  " << access.dump();
      separator = ",\n";
    }
    text << "]}";
    separator = ",\n";
  }
  text << "]},\n\"cc\": [";
  separator = "\n";
  for (std::size_t state = 0; state < policy.rows.size(); ++state) {
    text << separator << " " << row_json(policy, state).dump();
    separator = ",\n";
  }
  text << "],\n\"backoff\": {";
  separator = "\n";
  for (std::size_t type = 0; type < policy.backoff.size(); ++type) {
    const BackoffRow& row = policy.backoff[type];
    const Json json = {
        {"initial_us", row.initial_us}, {"abort", row.abort}, {"commit", row.commit}};
    text << separator << " " << Json(policy.signature.types[type].name).dump() << ": "
         << json.dump();
    separator = ",\n";
  }
  text << "}";
  if (!policy.protocol.empty()) {
    const Json protocol = {{"name", policy.protocol}, {"options", policy.protocol_options}};
    text << ",\n\"protocol\": " << protocol.dump();
  }
  text << ",\n\"schedule\": " << policy.schedule_json
       << ",\n\"provenance\": " << policy.provenance_json << "\n}\n";
  return text.str();
}

std::string to_json(const Signature& signature) { return signature_json(signature).dump(); }

Signature parse_signature(std::string_view text) {
  const Json json = parse_strictly(text);
  if (!json.is_object()) fail("signature", "must be an object, not " + shown(json));
  return read_signature(json);
}

}  // namespace heddle
