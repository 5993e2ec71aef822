#include "driver/policy_json.h"

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

/// Two types and every kind of access.
Signature signature() {
  using enum AccessKind;
  return {.workload = "shop",
          .types = {{"order",
                     {{"read_stock", "STOCK", read, false},
                      {"update_stock", "STOCK", update, false},
                      {"insert_line", "LINE", insert, true}}},
                    {"cancel",
                     {{"scan_lines", "LINE", scan, false},
                      {"remove_line", "LINE", remove, true},
                      {"return_stock", "STOCK", read_modify_write, true}}}}};
}

/// A policy in which every kind of cell has a value other than its first.
Policy policy() {
  Policy made;
  made.name = "by \"hand\"";
  made.signature = signature();
  made.rows = {
      {.wait = {0, 0}, .dirty_read = true},
      {.wait = {1, 2}, .public_write = true},
      {.wait = {3, 3}, .early_validation = true},
      {.wait = {4, 0}, .early_validation = true},
      {.wait = {0, 4}, .public_write = true},
      {.wait = {4, 4}, .dirty_read = true, .public_write = true, .early_validation = true}};
  made.backoff = {{.initial_us = 0.125, .abort = {0.0, 0.5, 4.0}, .commit = {1.0, 2.0, 0.0}},
                  {.initial_us = 1024.0, .abort = {4.0, 4.0, 4.0}, .commit = {0.5, 0.5, 0.5}}};
  made.provenance_json = R"({"search":"evolution","seed":7})";
  return made;
}

Policy parse(const std::string& text) { return parse_policy(text, signature()); }

/// The message with which a document is rejected; empty if it is not.
std::string refusal(const std::string& text) {
  try {
    (void)parse(text);
    return "";
  } catch (const PolicyError& error) {
    EXPECT_FALSE(std::string(error.what()).empty());
    return error.what();
  }
}

/// A document with one error, and what the message must name.
struct Malformed {
  const char* what;
  std::function<void(Json&)> change;
  std::vector<std::string> named;
};

void expect_refused(const std::vector<Malformed>& cases) {
  for (const Malformed& malformed : cases) {
    Json document = Json::parse(to_json(policy()));
    malformed.change(document);
    const std::string message = refusal(document.dump());
    EXPECT_NE(message, "") << malformed.what << " was accepted";
    for (const std::string& name : malformed.named) {
      EXPECT_NE(message.find(name), std::string::npos)
          << malformed.what << ": '" << name << "' is not named in: " << message;
    }
  }
}

// ---- round trip ---------------------------------------------------------------------------------

TEST(PolicyJson, RoundTripKeepsEverything) {
  const Policy given = policy();
  const Policy back = parse(to_json(given));
  EXPECT_EQ(back.name, given.name);
  EXPECT_EQ(back.signature, given.signature);
  EXPECT_EQ(back.rows, given.rows);
  EXPECT_EQ(back.backoff, given.backoff);
  EXPECT_EQ(back.schedule_json, "null");
  EXPECT_EQ(back.provenance_json, given.provenance_json);
}

/// Equal policies give equal texts, however the document they came from was written.
TEST(PolicyJson, TextIsCanonical) {
  const std::string text = to_json(policy());
  EXPECT_EQ(to_json(parse(text)), text);
  const Json document = Json::parse(text);
  EXPECT_EQ(to_json(parse(document.dump(7))), text) << "white space";
  Json reordered = Json::object();
  for (auto item = document.rbegin(); item != document.rend(); ++item) {
    reordered[item.key()] = item.value();
  }
  ASSERT_NE(reordered.dump(), document.dump());
  EXPECT_EQ(to_json(parse(reordered.dump())), text) << "the order of fields";
}

TEST(PolicyJson, DocumentIsOneRowALine) {
  const std::string text = to_json(policy());
  const Json row = Json::parse(text)["cc"][1];
  EXPECT_NE(text.find("\n " + row.dump() + ",\n"), std::string::npos);
  EXPECT_EQ(row["state"], 1);
  EXPECT_EQ(row["type"], "order");
  EXPECT_EQ(row["access"], "update_stock");
  EXPECT_EQ(row["wait"]["order"], 0) << "an access by its state";
  EXPECT_EQ(row["wait"]["cancel"], 4);
  EXPECT_EQ(row["read_version"], nullptr);
  EXPECT_EQ(row["write_visibility"], "PUBLIC");
  const Json last = Json::parse(text)["cc"][5];
  EXPECT_EQ(last["wait"]["order"], "COMMIT");
  EXPECT_EQ(last["read_version"], "DIRTY");
}

TEST(PolicyJson, SignatureRoundTrip) {
  EXPECT_EQ(parse_signature(to_json(signature())), signature());
  EXPECT_THROW((void)parse_signature("[]"), PolicyError);
  EXPECT_THROW((void)parse_signature(""), PolicyError);
  EXPECT_THROW((void)parse_signature(R"({"workload": "shop"})"), PolicyError);
}

// ---- errors are named ---------------------------------------------------------------------------

TEST(PolicyJson, WrongHeaderIsRefused) {
  expect_refused({
      {"an array", [](Json& d) { d = Json::array(); }, {"object"}},
      {"a text", [](Json& d) { d = "policy"; }, {"object"}},
      {"null", [](Json& d) { d = nullptr; }, {"object"}},
      {"no version", [](Json& d) { d.erase("schema_version"); }, {"schema_version", "missing"}},
      {"a later version", [](Json& d) { d["schema_version"] = 2; }, {"schema_version", "2", "1"}},
      {"a version in quotes", [](Json& d) { d["schema_version"] = "1"; }, {"schema_version"}},
      {"no kind", [](Json& d) { d.erase("kind"); }, {"kind", "missing"}},
      {"another kind", [](Json& d) { d["kind"] = "heddle.trace"; }, {"kind", "heddle.trace"}},
      {"an unknown field", [](Json& d) { d["comment"] = "mine"; }, {"comment", "provenance"}},
      {"no name", [](Json& d) { d.erase("name"); }, {"name", "missing"}},
      {"a number for a name", [](Json& d) { d["name"] = 3; }, {"name", "3"}},
      {"no schedule", [](Json& d) { d.erase("schedule"); }, {"schedule", "missing"}},
      {"no provenance", [](Json& d) { d.erase("provenance"); }, {"provenance", "missing"}},
      {"a text for provenance", [](Json& d) { d["provenance"] = "me"; }, {"provenance", "me"}},
  });
}

/// A classifier for which all transactions of a type are cold.
Json classifier_of(const std::string& type) {
  return {{"neighbours", 1},
          {"hot_keys", Json::object()},
          {"types",
           {{{"type", type},
             {"rows", {Json::array()}},
             {"labels", {0}},
             {"clusters", {Json::array()}}}}}};
}

/// A document with this schedule.
std::function<void(Json&)> scheduled(const Json& schedule) {
  return [schedule](Json& d) { d["schedule"] = schedule; };
}

TEST(PolicyJson, WrongScheduleIsRefused) {
  const auto leaving_out = [](const Json& types) {
    return scheduled({{"policy", "smf"}, {"unscheduled", types}});
  };
  expect_refused({
      {"a text", scheduled("smf"), {"schedule", "object", "smf"}},
      {"no policy", scheduled({{"window", 8}}), {"schedule", "policy", "missing"}},
      {"another policy", scheduled({{"policy", "lifo"}}), {"schedule", "policy", "lifo", "smf"}},
      {"a number for it", scheduled({{"policy", 3}}), {"schedule", "policy", "text", "3"}},
      {"too wide", scheduled({{"policy", "smf"}, {"window", 99}}), {"window", "99", "64"}},
      {"a text for a number",
       scheduled({{"policy", "smf"}, {"window", "8"}}),
       {"window", "number"}},
      {"a list for it", scheduled({{"policy", "smf"}, {"k", {5}}}), {"'k'", "number"}},
      {"a truth", scheduled({{"policy", "smf"}, {"hot", true}}), {"schedule", "hot", "true"}},
      {"a list of rules", scheduled({{"policy", "smf"}, {"rules", {"occ"}}}), {"rules", "text"}},
      {"a classifier of a text",
       scheduled({{"policy", "smf"}, {"classifier", "x"}}),
       {"schedule", "classifier", "object"}},
      {"a classifier of another type",
       scheduled({{"policy", "smf"}, {"classifier", classifier_of("refund")}}),
       {"schedule", "classifier", "refund", "order, cancel"}},
      {"an unknown field", scheduled({{"policy", "smf"}, {"queue", 1}}), {"queue", "window"}},
      {"an unknown type", leaving_out({"refund"}), {"unscheduled", "refund", "order", "cancel"}},
      {"no name", leaving_out({7}), {"unscheduled", "7", "order"}},
      {"an empty one", leaving_out({""}), {"unscheduled", "order"}},
      {"two in one", leaving_out({"order,cancel"}), {"unscheduled", "order,cancel"}},
      {"one twice", leaving_out({"order", "order"}), {"unscheduled", "twice"}},
      {"a text for the list", leaving_out("order"), {"unscheduled", "list"}},
  });
}

TEST(PolicyJson, ProtocolIsKept) {
  Policy given = policy();
  EXPECT_EQ(to_json(given).find("protocol"), std::string::npos) << "a table has none";
  given.protocol = "two_phase_locking";
  given.protocol_options = {{"conflict", "detect"}, {"rank", "10"}};
  const Policy back = parse(to_json(given));
  EXPECT_EQ(back.protocol, given.protocol);
  EXPECT_EQ(back.protocol_options, given.protocol_options);
  EXPECT_EQ(to_json(back), to_json(given));
}

TEST(PolicyJson, WrongProtocolIsRefused) {
  const auto under = [](const Json& protocol) {
    return [protocol](Json& d) { d["protocol"] = protocol; };
  };
  const auto named = [&](const std::string& name, const Json& options) {
    return under({{"name", name}, {"options", options}});
  };
  const Json none = Json::object();
  expect_refused({
      {"a text", under("mvto"), {"protocol", "object"}},
      {"no options", under({{"name", "mvto"}}), {"protocol", "options", "missing"}},
      {"an unknown field",
       under({{"name", "mvto"}, {"options", none}, {"x", 1}}),
       {"protocol", "x", "options"}},
      {"an unknown protocol", named("lucky", none), {"lucky", "mvto"}},
      {"the table", named("policy_table", none), {"policy_table", "omit"}},
      {"an unknown option", named("mvto", {{"grant", "fifo"}}), {"mvto", "grant"}},
      {"a weaker isolation level",
       named("mvto", {{"isolation", "snapshot"}}),
       {"isolation", "snapshot", "serializable", "omit"}},
      {"a number", named("two_phase_locking", {{"rank", 10}}), {"rank", "text", "10"}},
      {"ranks of other types",
       named("two_phase_locking", {{"conflict", "detect"}, {"rank", "123"}}),
       {"rank", "123", "2 transaction types"}},
  });
}

TEST(PolicyJson, ScheduleIsKept) {
  Json document = Json::parse(to_json(policy()));
  document["schedule"] = {
      {"unscheduled", {"cancel", "order"}}, {"hot", 0.03}, {"policy", "smf"}, {"probe_us", 0}};
  const Policy read = parse(document.dump());
  EXPECT_EQ(read.schedule_json,
            R"({"policy":"smf","hot":0.03,"probe_us":0,"unscheduled":["order","cancel"]})");
  EXPECT_EQ(to_json(parse(to_json(read))), to_json(read));
  const OptionMap options = {
      {"policy", "smf"}, {"hot", "0.03"}, {"probe_us", "0"}, {"unscheduled", "order,cancel"}};
  EXPECT_EQ(schedule_options(read), options);
  EXPECT_TRUE(schedule_options(policy()).empty());
  document["schedule"]["classifier"] = classifier_of("cancel");
  const Policy classified = parse(document.dump());
  EXPECT_EQ(schedule_options(classified).at("classifier"), classifier_of("cancel").dump());
}

TEST(PolicyJson, WrongRowIsRefusedByNumberAndField) {
  const std::string row_1 = "cc row 1 (order update_stock)";
  const std::string row_3 = "cc row 3 (cancel scan_lines)";
  expect_refused({
      {"no rows", [](Json& d) { d.erase("cc"); }, {"cc", "missing"}},
      {"an object of rows", [](Json& d) { d["cc"] = Json::object(); }, {"cc", "list"}},
      {"a row less", [](Json& d) { d["cc"].erase(5); }, {"cc", "5", "6"}},
      {"a row more", [](Json& d) { d["cc"].push_back(d["cc"][5]); }, {"cc", "7", "6"}},
      {"a row that is none", [](Json& d) { d["cc"][1] = 7; }, {"cc row 1", "7"}},
      {"two rows swapped",
       [](Json& d) { std::swap(d["cc"][1], d["cc"][2]); },
       {row_1, "state", "2"}},
      {"another state", [](Json& d) { d["cc"][1]["state"] = 4; }, {row_1, "state", "4", "1"}},
      {"another type", [](Json& d) { d["cc"][1]["type"] = "cancel"; }, {row_1, "type", "cancel"}},
      {"another access", [](Json& d) { d["cc"][1]["access"] = "x"; }, {row_1, "access", "x"}},
      {"no access", [](Json& d) { d["cc"][1].erase("access"); }, {row_1, "access", "missing"}},
      {"an unknown field", [](Json& d) { d["cc"][1]["waits"] = 1; }, {row_1, "waits", "wait"}},
      {"a read version of a write",
       [](Json& d) { d["cc"][1]["read_version"] = "CLEAN"; },
       {row_1, "read_version", "CLEAN", "null"}},
      {"a visibility of a scan",
       [](Json& d) { d["cc"][3]["write_visibility"] = "PUBLIC"; },
       {row_3, "write_visibility", "PUBLIC", "null"}},
      {"a read version of a scan",
       [](Json& d) { d["cc"][3]["read_version"] = "DIRTY"; },
       {row_3, "read_version", "DIRTY", "null"}},
      {"no read version of a read",
       [](Json& d) { d["cc"][0]["read_version"] = nullptr; },
       {"cc row 0", "read_version", "CLEAN", "DIRTY"}},
      {"lower case",
       [](Json& d) { d["cc"][0]["read_version"] = "dirty"; },
       {"cc row 0", "read_version", "dirty", "DIRTY"}},
      {"a flag for a visibility",
       [](Json& d) { d["cc"][1]["write_visibility"] = true; },
       {row_1, "write_visibility", "true", "PRIVATE", "PUBLIC"}},
      {"no visibility",
       [](Json& d) { d["cc"][1].erase("write_visibility"); },
       {row_1, "write_visibility", "missing"}},
      {"a number for a flag",
       [](Json& d) { d["cc"][3]["early_validation"] = 1; },
       {row_3, "early_validation", "1", "true or false"}},
      {"no flag",
       [](Json& d) { d["cc"][3].erase("early_validation"); },
       {row_3, "early_validation", "missing"}},
  });
}

TEST(PolicyJson, WrongWaitIsRefusedByRowAndType) {
  const std::string row_1 = "cc row 1 (order update_stock)";
  const auto wait = [](const char* type, const Json& value) {
    return [type, value](Json& d) { d["cc"][1]["wait"][type] = value; };
  };
  expect_refused({
      {"no waits", [](Json& d) { d["cc"][1].erase("wait"); }, {row_1, "wait", "missing"}},
      {"a list of waits", [](Json& d) { d["cc"][1]["wait"] = {0, 0}; }, {row_1, "wait", "object"}},
      {"a type without a wait",
       [](Json& d) { d["cc"][1]["wait"].erase("cancel"); },
       {row_1, "wait", "cancel"}},
      {"a wait for nobody", wait("refund", "NO_WAIT"), {row_1, "wait", "refund"}},
      {"an access of another type", wait("order", 3), {row_1, "order", "3", "0 to 2"}},
      {"another access of another type", wait("cancel", 2), {row_1, "cancel", "2", "3 to 5"}},
      {"an access beyond the last", wait("cancel", 6), {row_1, "cancel", "6", "3 to 5"}},
      {"a negative access", wait("order", -1), {row_1, "order", "-1", "0 to 2"}},
      {"a huge access", wait("order", 1ULL << 63), {row_1, "order", "0 to 2"}},
      {"half an access", wait("order", 0.5), {row_1, "order", "0.5"}},
      {"a name that is no wait", wait("order", "no_wait"), {row_1, "order", "no_wait", "NO_WAIT"}},
      {"null", wait("order", nullptr), {row_1, "order", "null", "COMMIT"}},
  });
}

TEST(PolicyJson, WrongBackoffIsRefusedByTypeAndCell) {
  const std::string order = "backoff of 'order'";
  expect_refused({
      {"no backoff", [](Json& d) { d.erase("backoff"); }, {"backoff", "missing"}},
      {"a type without backoff", [](Json& d) { d["backoff"].erase("order"); }, {order, "missing"}},
      {"backoff of nobody",
       [](Json& d) { d["backoff"]["refund"] = d["backoff"]["order"]; },
       {"backoff", "refund"}},
      {"a number for a row", [](Json& d) { d["backoff"]["order"] = 1; }, {order, "1"}},
      {"an unknown field", [](Json& d) { d["backoff"]["order"]["alpha"] = 1; }, {order, "alpha"}},
      {"no initial value",
       [](Json& d) { d["backoff"]["order"].erase("initial_us"); },
       {order, "initial_us", "missing"}},
      {"another initial value",
       [](Json& d) { d["backoff"]["order"]["initial_us"] = 3; },
       {order, "initial_us", "3", "0.125", "1024.0"}},
      {"two cells",
       [](Json& d) { d["backoff"]["order"]["abort"].erase(2); },
       {order, "abort", "3", "2"}},
      {"four cells",
       [](Json& d) { d["backoff"]["order"]["commit"].push_back(0.0); },
       {order, "commit", "3", "4"}},
      {"a number for cells",
       [](Json& d) { d["backoff"]["order"]["abort"] = 0.5; },
       {order, "abort", "0.5"}},
      {"another alpha",
       [](Json& d) { d["backoff"]["order"]["abort"][1] = 0.25; },
       {order, "abort", "cell 1", "0.25", "0.5"}},
      {"a text for an alpha",
       [](Json& d) { d["backoff"]["order"]["commit"][2] = "1"; },
       {order, "commit", "cell 2"}},
      {"a flag for an alpha",
       [](Json& d) { d["backoff"]["order"]["commit"][0] = true; },
       {order, "commit", "cell 0", "true"}},
  });
}

TEST(PolicyJson, WrongSignatureIsRefused) {
  const auto access = [](std::size_t type, std::size_t at) {
    return [type, at](Json& d) -> Json& { return d["signature"]["types"][type]["accesses"][at]; };
  };
  expect_refused({
      {"no signature", [](Json& d) { d.erase("signature"); }, {"signature", "missing"}},
      {"no workload", [](Json& d) { d["signature"].erase("workload"); }, {"signature", "workload"}},
      {"a type that is none",
       [](Json& d) { d["signature"]["types"][1] = "cancel"; },
       {"signature type 1", "cancel"}},
      {"an access that is none",
       [&](Json& d) { access(0, 1)(d) = 4; },
       {"signature type 0, access 1", "4"}},
      {"an access without a name",
       [&](Json& d) { access(0, 1)(d).erase("name"); },
       {"signature type 0, access 1", "name", "missing"}},
      {"an unknown kind",
       [&](Json& d) { access(1, 2)(d)["kind"] = "upsert"; },
       {"signature type 1, access 2", "kind", "upsert", "read_modify_write"}},
      {"a gap in the states",
       [&](Json& d) { access(1, 0)(d)["id"] = 4; },
       {"signature type 1, access 0", "id", "4", "3"}},
      {"a loop in words",
       [&](Json& d) { access(0, 0)(d)["loop"] = "yes"; },
       {"signature type 0, access 0", "loop", "yes"}},
  });
}

TEST(PolicyJson, PolicyForAnotherWorkloadIsRefused) {
  const auto access = [](Json& d) -> Json& { return d["signature"]["types"][1]["accesses"][2]; };
  expect_refused({
      {"another workload", [](Json& d) { d["signature"]["workload"] = "bank"; }, {"bank", "shop"}},
      {"a type less", [](Json& d) { d["signature"]["types"].erase(1); }, {"signature", "1", "2"}},
      {"another type",
       [](Json& d) { d["signature"]["types"][1]["name"] = "refund"; },
       {"type 1", "refund", "cancel"}},
      {"an access less",
       [](Json& d) { d["signature"]["types"][1]["accesses"].erase(2); },
       {"cancel", "2", "3"}},
      {"another access",
       [&](Json& d) { access(d)["name"] = "read"; },
       {"access 5", "'read'", "return_stock"}},
      {"another table",
       [&](Json& d) { access(d)["table"] = "LINE"; },
       {"access 5", "LINE", "STOCK"}},
      {"another kind",
       [&](Json& d) { access(d)["kind"] = "update"; },
       {"access 5", "update", "read_modify_write"}},
      {"no loop", [&](Json& d) { access(d)["loop"] = false; }, {"access 5", "loop"}},
  });
}

// ---- malformed documents ------------------------------------------------------------------------

void replace(std::string& text, const std::string& old, const std::string& fresh) {
  const std::size_t at = text.find(old);
  ASSERT_NE(at, std::string::npos) << old;
  text.replace(at, old.size(), fresh);
}

/// JSON allows a duplicate key, and readers differ in which one counts.
TEST(PolicyJson, KeyGivenTwiceIsRefused) {
  for (const auto& [once, twice, key] : std::vector<std::array<std::string, 3>>{
           {"\"kind\":", "\"name\": \"x\", \"kind\":", "name"},
           {"\"state\":1", "\"state\":1,\"state\":1", "state"},
           {"\"early_validation\":true", "\"early_validation\":false,\"early_validation\":true",
            "early_validation"},
           {"\"initial_us\":1024.0", "\"initial_us\":1024.0,\"initial_us\":1.0", "initial_us"},
           {"\"seed\":7", "\"seed\":7,\"seed\":7", "seed"}}) {
    std::string text = to_json(policy());
    replace(text, once, twice);
    const std::string message = refusal(text);
    EXPECT_NE(message.find("\"" + key + "\""), std::string::npos) << message;
    EXPECT_NE(message.find("twice"), std::string::npos) << message;
  }
}

/// 1.0 equals 1, but states are whole numbers, for every reader.
TEST(PolicyJson, StateWithAFractionIsRefused) {
  std::string text = to_json(policy());
  replace(text, "\"state\":1", "\"state\":1.0");
  EXPECT_NE(refusal(text).find("cc row 1"), std::string::npos) << refusal(text);
}

/// Messages are shown to people, and passed to Python as UTF-8, whatever the file holds.
TEST(PolicyJson, MessagesAreShortAndUtf8) {
  const std::string letters = "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9";
  for (std::size_t shift = 0; shift < 2; ++shift) {
    std::string name(shift, 'x');
    for (int times = 0; times < 1000; ++times) name += letters;
    for (const auto& [old, fresh] : std::vector<std::pair<std::string, std::string>>{
             {"\"kind\":", "\"" + name + "\":1,\"kind\":"},
             {"\"kind\": \"heddle.policy\"", "\"kind\": \"" + name + "\""},
             {"\"workload\": \"shop\"", "\"workload\": \"" + name + "\""},
             {"\"shop\"", "\"\xc3\""}}) {
      std::string text = to_json(policy());
      replace(text, old, fresh);
      const std::string message = refusal(text);
      EXPECT_LT(message.size(), 1000U);
      EXPECT_FALSE(message.empty());
      EXPECT_NO_THROW((void)Json(message).dump()) << "it throws at what is not UTF-8";
    }
  }
}

TEST(PolicyJson, TextThatIsNotJsonIsRefusedByLineAndColumn) {
  for (const std::string text :
       {"", " ", "{", "policy", "{\"name\": }", "[1,]", "\xff\xfe", "{} {}"}) {
    EXPECT_NE(refusal(text).find("line 1"), std::string::npos) << text << ": " << refusal(text);
  }
}

/// A document truncated anywhere is rejected without harm.
TEST(PolicyJson, TruncatedDocumentIsRefused) {
  std::string text = to_json(policy());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (std::size_t length = 0; length < text.size(); ++length) {
    ASSERT_NE(refusal(text.substr(0, length)), "") << length;
  }
}

/// Any byte replaced by any of several others gives a policy or a PolicyError, nothing else.
TEST(PolicyJson, DamagedDocumentIsReadOrRefused) {
  const std::string text = to_json(policy());
  for (std::size_t at = 0; at < text.size(); at += 7) {
    for (const char damage : {'\0', '"', '{', ']', '9', '-', '\\', '\x80'}) {
      std::string damaged = text;
      damaged[at] = damage;
      ASSERT_NO_THROW((void)refusal(damaged)) << at;
    }
  }
}

TEST(PolicyJson, NumbersBeyondAnyRangeAreRefused) {
  for (const char* number : {"1e999", "-1e999"}) {
    for (const char* field : {"\"initial_us\":1024.0", "\"seed\":7"}) {
      std::string text = to_json(policy());
      const std::string name(field, std::string(field).find(':') + 1);
      replace(text, field, name + number);
      ASSERT_NO_THROW(EXPECT_NE(refusal(text), "")) << name << number;
    }
  }
}

std::string nested(std::size_t depth, const std::string& open, const std::string& close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  text += "1";
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(PolicyJson, DeepNestingIsRefused) {
  constexpr std::size_t kDepth = 200'000;
  const std::string deep_list = nested(kDepth, "[", "]");
  EXPECT_NE(refusal(deep_list), "");
  EXPECT_NE(refusal(std::string(kDepth, '[')), "") << "not even closed";
  for (const char* field : {"\"name\": \"by \\\"hand\\\"\"", "\"schedule\": null"}) {
    std::string text = to_json(policy());
    const std::string name(field, std::string(field).find(':') + 1);
    replace(text, field, name + deep_list);
    EXPECT_NE(refusal(text), "") << name;
  }
  std::string text = to_json(policy());
  replace(text, "\"seed\":7", "\"seed\":" + nested(kDepth, "{\"a\":", "}"));
  EXPECT_NE(refusal(text), "") << "provenance is kept, so it must be fit to be written again";
}

TEST(PolicyJson, HugeDocumentIsRefused) {
  const std::string text = to_json(policy()) + std::string(std::size_t{17} << 20, ' ');
  EXPECT_NE(refusal(text).find("16 MiB"), std::string::npos);
}

}  // namespace
}  // namespace heddle
