#include "check/brute_force.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "check/checker.h"
#include "check/history_builder.h"
#include "check/random_history.h"
#include "check/random_puzzle.h"
#include "scale.h"

namespace heddle::check {
namespace {

const std::uint64_t kHistories = test::kSanitized ? 3'000 : test::scaled(15'000);

/// All transactions of a history, for the failure message.
std::string text_of(const History& history) {
  const Transactions transactions(history);
  const Words words(transactions);
  std::string text;
  for (std::uint32_t node = 0; node < transactions.size(); ++node) {
    text += words.transaction(node) + "\n";
    for (std::uint32_t at = 0; at < transactions.attempt(node).operations; ++at) {
      const Operation& one = transactions.operation(node, at);
      text += "  kind " + std::to_string(static_cast<int>(one.kind)) + " key " +
              std::to_string(one.key) + " place " + std::to_string(one.place) + " version " +
              std::to_string(one.version >> 32) + "." + std::to_string(one.version & 0xffff'ffff) +
              " flags " + std::to_string(one.flags) + "\n";
    }
  }
  return text;
}

/// Both decide the histories that `make` generates from numbers; a minimum share of them must be
/// rejected.
template <class Make>
void expect_agreement(std::uint64_t histories, Make make) {
  std::uint64_t refused = 0;
  std::uint64_t with_choices = 0;
  int shown = 0;
  for (std::uint64_t seed = 0; seed < histories && shown < 3; ++seed) {
    const History history = make(seed);
    const bool serializable = BruteForce(history).serializable();
    const Report report = check_history(history);
    refused += serializable ? 0 : 1;
    with_choices += report.choices > 0 ? 1 : 0;
    if (serializable == report.anomalies.empty()) continue;
    ++shown;
    ADD_FAILURE() << "history " << seed << (serializable ? " is" : " is not")
                  << " serializable; the checker says "
                  << (report.anomalies.empty() ? "that it is" : report.anomalies[0].text) << "\n"
                  << text_of(history);
  }
  // There must be many of both kinds, or little has been tested.
  EXPECT_GT(refused, histories / 10);
  EXPECT_LT(refused, histories * 9 / 10);
  EXPECT_GT(with_choices, histories / 50);
  testing::Test::RecordProperty("refused", std::to_string(refused));
  testing::Test::RecordProperty("with_choices", std::to_string(with_choices));
}

TEST(BruteForce, AgreesWithTheCheckerOnRuns) {
  expect_agreement(kHistories, [](std::uint64_t seed) { return RandomHistory(seed).history(); });
}

TEST(BruteForce, AgreesWithTheCheckerOnPuzzles) {
  expect_agreement(kHistories, [](std::uint64_t seed) { return random_puzzle(seed).history(); });
}

}  // namespace
}  // namespace heddle::check
