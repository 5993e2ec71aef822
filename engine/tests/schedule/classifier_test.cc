#include "schedule/classifier/classifier.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/hints.h"
#include "model/signature.h"
#include "schedule/admission/hinted_states.h"
#include "schedule/admission/predictor.h"

namespace heddle {
namespace {

using classifier::Classifier;
using Json = nlohmann::ordered_json;

/// A type that hints at two rows, and one whose hints come in a loop.
Signature signature() {
  return {.workload = "made up",
          .types = {{"pay",
                     {{"read_shop", "SHOP", AccessKind::read, false},
                      {"update_till", "TILL", AccessKind::update, false},
                      {"update_log", "LOG", AccessKind::update, false}}},
                    {"fetch", {{"read_item", "ITEM", AccessKind::read, true}}},
                    {"rest", {{"read_item", "ITEM", AccessKind::read, false}}}}};
}

/// Tills 7 and 8 of shop 1 each with the row of LOG that no hint names; one item or two.
Json document() {
  return Json::parse(R"({
    "neighbours": 1,
    "hot_keys": {"SHOP": [1], "TILL": [7, 8], "ITEM": [5, 3]},
    "types": [
      {"type": "pay", "rows": [[1, 2], [1, 1], [0, 0]], "labels": [0, 1, 2],
       "clusters": [
         [["read_shop", 1, 0], ["update_till", 7, 0.25], ["update_log", 9, 0.75]],
         [["read_shop", 1, 0], ["update_till", 8, 0.25]],
         []]},
      {"type": "fetch", "rows": [[2, 1], [2, 0], [1, 0], [0, 0]], "labels": [0, 1, 2, 3],
       "clusters": [[["read_item", 5, 0.5], ["read_item", 3, 0.5]], [["read_item", 5, 0.5]],
                    [["read_item", 3, 0.5]], []]}]})");
}

std::string refusal(const Json& json) {
  try {
    (void)Classifier::parse(json.dump(), signature());
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

class Predicting : public testing::Test {
 protected:
  explicit Predicting(const Json& json = document())
      : predictor_(admission::by_classifier(admission::make_ready(
            Classifier::parse(json.dump(), signature_), signature_, states_))) {}

  std::vector<std::pair<AccessId, std::uint64_t>> rows(std::size_t type, std::vector<Hint> given) {
    Hints hints;
    for (const Hint& hint : given) hints.add(hint.state, hint.key);
    Hints expected;
    predictor_->expect(type, hints, expected);
    std::vector<std::pair<AccessId, std::uint64_t>> found;
    for (const Hint& row : expected) found.emplace_back(row.state, row.key);
    return found;
  }

  admission::Operations operations(std::size_t type, std::vector<Hint> given) {
    Hints hints;
    for (const Hint& hint : given) hints.add(hint.state, hint.key);
    admission::Operations operations;
    predictor_->predict(type, hints, operations);
    return operations;
  }

  Signature signature_ = signature();
  admission::HintedStates states_{signature_};
  std::unique_ptr<admission::Predictor> predictor_;
};

TEST(Classifier, IsWrittenAsItIsRead) {
  const Classifier read = Classifier::parse(document().dump(), signature());
  const std::string text = read.to_json(signature());
  EXPECT_EQ(Classifier::parse(text, signature()).to_json(signature()), text);
  EXPECT_EQ(Json::parse(text)["types"][0]["clusters"][0][2], Json({"update_log", 9, 0.75}));
  EXPECT_EQ(read.summary(), "2 types, 7 rows, 5 hot keys");
}

TEST(Classifier, TypesAreWrittenInTheSignaturesOrder) {
  Json turned = document();
  std::swap(turned["types"][0], turned["types"][1]);
  EXPECT_EQ(Classifier::parse(turned.dump(), signature()).to_json(signature()),
            Classifier::parse(document().dump(), signature()).to_json(signature()));
}

TEST(Classifier, WhatIsWrongIsNamed) {
  const auto changed = [](const char* at, const Json& value) {
    Json json = document();
    json[Json::json_pointer(at)] = value;
    return refusal(json);
  };
  const auto expect = [](const std::string& refused, const std::string& what) {
    EXPECT_NE(refused.find(what), std::string::npos) << "'" << refused << "' lacks " << what;
  };
  EXPECT_EQ(refusal(document()), "");
  expect(refusal(Json("no")), "must be an object, not \"no\"");
  expect(changed("/more", 1), "unknown field 'more'");
  expect(changed("/neighbours", 0), "must be 1 to 16, not 0");
  expect(changed("/neighbours", 1.5), "must be an integer, not 1.5");
  expect(changed("/neighbours", 18446744073709551615U), "must be 1 to 16");
  expect(changed("/hot_keys/NONE", Json::array()), "'NONE'; made up has ITEM, LOG, SHOP, TILL");
  expect(changed("/hot_keys/SHOP", {1, 1}), "has 1 of SHOP twice");
  expect(changed("/hot_keys/SHOP", {-1}), "a key is an integer from 0, not -1");
  expect(changed("/hot_keys/SHOP", 1), "must be a list, not 1");
  expect(changed("/types/0/type", "payment"), "\"payment\"; made up has pay, fetch, rest");
  expect(changed("/types/1", document()["types"][0]), "\"pay\" twice");
  expect(changed("/types/0/rows", Json::array()), "rows of pay: there is none");
  expect(changed("/types/0/rows/1", {1}), "rows of pay: are not all of one length");
  expect(changed("/types/0/rows/1", {1, 2}), "[1,2] occurs twice");
  expect(changed("/types/0/rows/1", {1, -2}), "not -2");
  expect(changed("/types/0/labels/2", 3), "labels of pay: must be 0 to 2, not 3");
  expect(changed("/types/0/labels", {0, 1}), "there are 2 for 3 rows");
  expect(changed("/types/0/clusters", Json::array()), "clusters of pay: there is none");
  expect(changed("/types/0/clusters/1/0", 1), "cluster 2 of pay: an operation is [access");
  expect(changed("/types/0/clusters/1/0/0", "read_item"),
         "\"read_item\"; the type has read_shop, update_till, update_log");
  expect(changed("/types/0/clusters/1/0/1", "1"), "a key is an integer from 0, not \"1\"");
  expect(changed("/types/0/clusters/1/0/2", 1.25), "a place is 0 to 1, not 1.25");
  expect(changed("/types/0/clusters/1", Json(25, document()["types"][0]["clusters"][1][0])),
         "has 25 operations; at most 24");
  Json lacking = document();
  lacking["types"][0].erase("labels");
  expect(refusal(lacking), "lacks the field 'labels'");
  Json large = document();
  for (int row = 3; row < 1000; ++row) {
    large["types"][0]["rows"].push_back({row, row});
    large["types"][0]["labels"].push_back(0);
  }
  expect(refusal(large), "1000 of 2 numbers are too many");
  EXPECT_THROW((void)Classifier::parse("{", signature()), std::invalid_argument);
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_THROW((void)Classifier::parse(deep, signature()), std::invalid_argument);
}

TEST_F(Predicting, TheHintsLeadToTheClustersRows) {
  using Rows = std::vector<std::pair<AccessId, std::uint64_t>>;
  // A row that no hint names comes with those that one names.
  EXPECT_EQ(rows(0, {{1, 0}, {7, 1}}), (Rows{{0, 1}, {1, 7}, {2, 9}}));
  EXPECT_EQ(rows(0, {{1, 0}, {8, 1}}), (Rows{{0, 1}, {1, 8}}));
  EXPECT_EQ(rows(0, {{2, 0}, {70, 1}}), Rows{});
  const admission::Operations operations = Predicting::operations(0, {{1, 0}, {7, 1}});
  ASSERT_EQ(operations.size(), 3U);
  EXPECT_FALSE(operations[0].writes);
  EXPECT_TRUE(operations[1].writes);
  EXPECT_FLOAT_EQ(operations[2].place, 0.75F);
  // The hot keys have slots of their own, and that of LOG, which is not said to be hot, the one of
  // its hash.
  EXPECT_LT(operations[0].slot, 5U);
  EXPECT_LT(operations[1].slot, 5U);
  EXPECT_NE(operations[0].slot, operations[1].slot);
  EXPECT_EQ(operations[2].slot, admission::slot_of(states_.hash({9, 2})));
}

TEST_F(Predicting, HintsOfALoopMayComeInAnyOrder) {
  const auto both = rows(1, {{3, 3}, {5, 3}, {100, 3}});
  EXPECT_EQ(both.size(), 2U);
  EXPECT_EQ(rows(1, {{100, 3}, {5, 3}, {3, 3}}), both);
  EXPECT_EQ(rows(1, {{100, 3}, {3, 3}}).size(), 1U);
  EXPECT_EQ(rows(1, {{100, 3}, {101, 3}, {102, 3}}).size(), 0U);
  EXPECT_EQ(rows(1, {}).size(), 0U);
}

TEST_F(Predicting, WhatIsNotLikeAnyIsTakenForWhatIsNearest) {
  // Till 8 alone: the distance to [1, 1] and to [0, 0] is 1; the first counts.
  EXPECT_EQ(rows(0, {{2, 0}, {8, 1}}).size(), 2U);
}

TEST_F(Predicting, TypesOfWhichNothingIsKnownAreCold) {
  EXPECT_EQ(rows(2, {{5, 4}}).size(), 0U);
  EXPECT_EQ(rows(3, {}).size(), 0U);  // a snapshot type: in no signature
  EXPECT_TRUE(operations(2, {{5, 4}}).empty());
}

TEST(Counting, HintsThemselvesAreWhatIsExpected) {
  const Signature made_up = signature();
  const admission::HintedStates states(made_up);
  const auto predictor = admission::by_counting(states, 0);
  Hints hints;
  hints.add(0, 1);
  hints.add(1, 7);
  admission::Operations operations;
  predictor->predict(0, hints, operations);
  ASSERT_EQ(operations.size(), 2U);
  EXPECT_TRUE(operations[1].writes);
  EXPECT_FLOAT_EQ(operations[1].place, 1.0F / 3);
  Hints rows;
  predictor->expect(0, hints, rows);
  EXPECT_TRUE(std::equal(rows.begin(), rows.end(), hints.begin(), hints.end()));
}

}  // namespace
}  // namespace heddle
