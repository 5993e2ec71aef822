#include "schedule/classifier/classifier.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "schedule/admission/operation.h"
#include "schedule/classifier/nearest_rows.h"

namespace heddle::classifier {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestShown = 60;
constexpr int kMostLevels = 16;  // a classifier has seven

[[noreturn]] void fail(const std::string& at, const std::string& what) {
  throw std::invalid_argument("schedule: the classifier" + (at.empty() ? at : "'s " + at) + ": " +
                              what);
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongestShown) text = text.substr(0, kLongestShown) + "…";
  return text;
}

std::string numbered(const char* what, std::size_t at) {
  return std::string(what) + " " + std::to_string(at + 1);
}

/// Requires an object with exactly these fields.
void expect_object(const Json& value, std::initializer_list<std::string_view> fields,
                   const std::string& at) {
  if (!value.is_object()) fail(at, "must be an object, not " + shown(value));
  for (const std::string_view field : fields) {
    if (!value.contains(field)) fail(at, "lacks the field '" + std::string(field) + "'");
  }
  for (const auto& [name, unused] : value.items()) {
    if (std::find(fields.begin(), fields.end(), name) == fields.end()) {
      fail(at, "has the unknown field '" + name + "'");
    }
  }
}

const Json::array_t& list(const Json& value, const std::string& at) {
  if (!value.is_array()) fail(at, "must be a list, not " + shown(value));
  return value.get_ref<const Json::array_t&>();
}

int integer(const Json& value, int lo, int hi, const std::string& at) {
  const std::string range = std::to_string(lo) + " to " + std::to_string(hi);
  if (!value.is_number_integer()) fail(at, "must be an integer, not " + shown(value));
  // A number that does not fit 64 signed bits is invalid here.
  const bool fits = !value.is_number_unsigned() ||
                    value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
  if (!fits || value.get<std::int64_t>() < lo || value.get<std::int64_t>() > hi) {
    fail(at, "must be " + range + ", not " + shown(value));
  }
  return value.get<int>();
}

std::uint64_t key_of(const Json& value, const std::string& at) {
  if (!value.is_number_unsigned()) fail(at, "a key is an integer from 0, not " + shown(value));
  return value.get<std::uint64_t>();
}

std::set<std::string> tables_of(const Signature& signature) {
  std::set<std::string> tables;
  for (const TypeSpec& type : signature.types) {
    for (const AccessSpec& access : type.accesses) tables.insert(access.table);
  }
  return tables;
}

template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::map<std::string, std::vector<std::uint64_t>> read_hot_keys(const Json& json,
                                                                const Signature& signature) {
  const std::string at = "field 'hot_keys'";
  if (!json.is_object()) fail(at, "must be an object, not " + shown(json));
  const std::set<std::string> tables = tables_of(signature);
  std::map<std::string, std::vector<std::uint64_t>> hot_keys;
  std::size_t count = 0;
  for (const auto& [table, keys] : json.items()) {
    if (!tables.contains(table)) {
      fail(at, "names the table '" + table + "'; " + signature.workload + " has " + joined(tables));
    }
    std::set<std::uint64_t> seen;
    for (const Json& key : list(keys, at)) {
      hot_keys[table].push_back(key_of(key, at));
      if (!seen.insert(hot_keys[table].back()).second) {
        fail(at, "has " + shown(key) + " of " + table + " twice");
      }
    }
    count += seen.size();
  }
  if (count > admission::kSlots) {
    fail(at, "has " + std::to_string(count) + " keys; at most " +
                 std::to_string(admission::kSlots) + " are distinguished");
  }
  return hot_keys;
}

std::size_t type_named(const Json& name, const Signature& signature) {
  std::vector<std::string> known;
  for (std::size_t type = 0; type < signature.types.size(); ++type) {
    if (name == signature.types[type].name) return type;
    known.push_back(signature.types[type].name);
  }
  fail("field 'types'",
       "has the type " + shown(name) + "; " + signature.workload + " has " + joined(known));
}

AccessId state_named(const Json& name, std::size_t type, const Signature& signature,
                     const std::string& at) {
  const auto& accesses = signature.types[type].accesses;
  std::vector<std::string> known;
  for (std::size_t access = 0; access < accesses.size(); ++access) {
    if (name == accesses[access].name) {
      return static_cast<AccessId>(signature.first_state(type) + access);
    }
    known.push_back(accesses[access].name);
  }
  fail(at, "has the access " + shown(name) + "; the type has " + joined(known));
}

Classifier::Operation read_operation(const Json& json, std::size_t type, const Signature& signature,
                                     const std::string& at) {
  if (!json.is_array() || json.size() != 3 || !json[2].is_number()) {
    fail(at, "an operation is [access, key, place], not " + shown(json));
  }
  const auto place = json[2].get<double>();
  if (!(place >= 0 && place <= 1)) fail(at, "a place is 0 to 1, not " + shown(json[2]));
  return {.state = state_named(json[0], type, signature, at),
          .key = key_of(json[1], at),
          .place = place};
}

Classifier::Operations read_cluster(const Json& json, std::size_t type, const Signature& signature,
                                    const std::string& at) {
  if (list(json, at).size() > admission::Operations::kMost) {
    fail(at, "has " + std::to_string(json.size()) + " operations; at most " +
                 std::to_string(admission::Operations::kMost));
  }
  Classifier::Operations operations;
  for (const Json& operation : json) {
    operations.push_back(read_operation(operation, type, signature, at));
  }
  return operations;
}

void read_rows(const Json& json, Classifier::Type& type, const std::string& at) {
  const int most = static_cast<int>(admission::kSlots);
  if (list(json, at).empty()) fail(at, "there is none");
  std::set<std::vector<int>> seen;
  for (const Json& row : json) {
    auto& values = type.rows.emplace_back();
    for (const Json& value : list(row, at)) values.push_back(integer(value, 0, most, at));
    if (values.size() != type.rows.front().size()) fail(at, "are not all of one length");
    if (!seen.insert(values).second) fail(at, shown(row) + " occurs twice");
  }
  if (type.rows.size() * (type.rows.front().size() + 1) > Classifier::kMostNumbers) {
    fail(at, std::to_string(type.rows.size()) + " of " + std::to_string(type.rows.front().size()) +
                 " numbers are too many: rows times one more than their length may be " +
                 std::to_string(Classifier::kMostNumbers));
  }
}

Classifier::Type read_type(const Json& json, const Signature& signature) {
  expect_object(json, {"type", "rows", "labels", "clusters"}, "field 'types'");
  Classifier::Type type{
      .type = type_named(json["type"], signature), .rows = {}, .labels = {}, .clusters = {}};
  const std::string name = signature.types[type.type].name;
  read_rows(json["rows"], type, "rows of " + name);
  const std::string clusters = "clusters of " + name;
  for (const Json& cluster : list(json["clusters"], clusters)) {
    type.clusters.push_back(read_cluster(
        cluster, type.type, signature, numbered("cluster", type.clusters.size()) + " of " + name));
  }
  if (type.clusters.empty()) fail(clusters, "there is none");
  const std::string labels = "labels of " + name;
  for (const Json& label : list(json["labels"], labels)) {
    type.labels.push_back(integer(label, 0, static_cast<int>(type.clusters.size()) - 1, labels));
  }
  if (type.labels.size() != type.rows.size()) {
    fail(labels, "there are " + std::to_string(type.labels.size()) + " for " +
                     std::to_string(type.rows.size()) + " rows");
  }
  return type;
}

}  // namespace

Classifier Classifier::parse(std::string_view json, const Signature& signature) {
  // Deep nesting could not be printed: the library's writer recurses once per level.
  const Json::parser_callback_t watch = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kMostLevels) fail("", "lists and objects are nested too deeply");
    return true;
  };
  const Json document = Json::parse(json, watch, /*allow_exceptions=*/false);
  if (document.is_discarded()) fail("", "it is not JSON");
  expect_object(document, {"neighbours", "hot_keys", "types"}, "");
  Classifier classifier;
  classifier.neighbours = integer(document["neighbours"], 1, kMostNeighbours, "field 'neighbours'");
  classifier.hot_keys = read_hot_keys(document["hot_keys"], signature);
  std::set<std::size_t> seen;
  for (const Json& type : list(document["types"], "field 'types'")) {
    classifier.types.push_back(read_type(type, signature));
    if (!seen.insert(classifier.types.back().type).second) {
      fail("field 'types'", "has " + shown(type["type"]) + " twice");
    }
  }
  std::sort(classifier.types.begin(), classifier.types.end(),
            [](const Type& a, const Type& b) { return a.type < b.type; });
  return classifier;
}

std::string Classifier::to_json(const Signature& signature) const {
  Json document{{"neighbours", neighbours}, {"hot_keys", Json::object()}, {"types", Json::array()}};
  for (const auto& [table, keys] : hot_keys) document["hot_keys"][table] = keys;
  for (const Type& type : types) {
    const TypeSpec& spec = signature.types.at(type.type);
    Json clusters = Json::array();
    for (const Operations& cluster : type.clusters) {
      Json& operations = clusters.emplace_back(Json::array());
      for (const Operation& operation : cluster) {
        const std::size_t access = operation.state - signature.first_state(type.type);
        operations.push_back({spec.accesses.at(access).name, operation.key, operation.place});
      }
    }
    document["types"].push_back({{"type", spec.name},
                                 {"rows", type.rows},
                                 {"labels", type.labels},
                                 {"clusters", std::move(clusters)}});
  }
  return document.dump();
}

std::string Classifier::summary() const {
  std::size_t rows = 0;
  std::size_t keys = 0;
  for (const Type& type : types) rows += type.rows.size();
  for (const auto& [table, hot] : hot_keys) keys += hot.size();
  return std::to_string(types.size()) + " types, " + std::to_string(rows) + " rows, " +
         std::to_string(keys) + " hot keys";
}

}  // namespace heddle::classifier
