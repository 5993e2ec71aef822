#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "check/history_builder.h"
#include "model/random.h"

namespace heddle::check {

/// Transactions that all ran at once, so that the clock decides nothing: some must come before
/// others because of their reads, and a few rows were inserted and deleted.
inline Story random_puzzle(std::uint64_t seed) {
  Random random = Random::stream(seed, 1);
  const std::size_t count = 4 + random.below(3);
  std::vector<std::vector<Step>> misses(count);
  std::vector<std::vector<Step>> removes(count);
  std::vector<std::vector<Step>> rest(count);
  const auto any = [&] { return random.below(count); };

  std::uint64_t key = 0;
  const std::uint64_t edges = random.below(6);
  for (std::uint64_t edge = 0; edge < edges; ++edge) {
    const Row row{++key};
    const std::size_t writer = any();
    rest[writer].push_back(write(row, 1));
    rest[(writer + 1 + random.below(count - 1)) % count].push_back(read(row, random.below(2)));
  }
  const std::uint64_t rows = 1 + random.below(2);
  for (std::uint64_t row = 0; row < rows; ++row) {
    ++key;
    const std::uint64_t lives = 1 + random.below(row == 0 ? 3 : 2);
    for (std::uint64_t place = 1; place <= lives; ++place) {
      const std::size_t first = any();
      rest[first].push_back(insert({key, place}, 1));
      if (random.below(6) == 0) continue;
      removes[(first + 1 + random.below(count - 1)) % count].push_back(remove({key, place}, 2));
    }
    for (std::uint64_t miss_number = random.below(3); miss_number > 0; --miss_number) {
      misses[any()].push_back(random.below(2) == 0 ? miss({key}) : range(key, key, {}));
    }
  }

  Story story;
  for (std::uint32_t worker = 0; worker < count; ++worker) {
    std::vector<Step> steps = misses[worker];
    steps.insert(steps.end(), removes[worker].begin(), removes[worker].end());
    steps.insert(steps.end(), rest[worker].begin(), rest[worker].end());
    story.commit(worker, steps);
  }
  return story;
}

}  // namespace heddle::check
