#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/random.h"
#include "workload/epinions/graph.h"
#include "workload/epinions/options.h"
#include "workload/epinions/schema.h"
#include "workload/epinions/states.h"
#include "workload/mix.h"
#include "workload/zipf.h"

namespace heddle::epinions {

struct Input {
  Type type;
  std::uint32_t user;  ///< the item's reviewer, if a rating of the item changes
  std::uint32_t item;
  std::uint32_t other;  ///< the trusted user, if the rating of the trust changes
  std::uint64_t value;  ///< the value written: the word of a text, or a rating
};

/// Draws inputs. Popular users and items are few, and spread over their tables.
class InputGenerator {
 public:
  explicit InputGenerator(const EpinionsOptions& options)
      : mix_(options.mix),
        users_(options.users, options.theta),
        items_(options.items, options.theta),
        user_at_(options.users),
        item_at_(options.items) {}

  void generate(Random& random, const Graph& reviewers, const Graph& trusted, Input& input) const {
    input.type = static_cast<Type>(mix_.draw(random));
    input.user = static_cast<std::uint32_t>(user_at_(users_(random)));
    input.item = static_cast<std::uint32_t>(item_at_(items_(random)));
    input.other = 0;
    input.value = random.next();
    if (input.type == Type::update_review_rating) {
      input.user = one_of(reviewers.of(input.item), random);
      input.value %= kRatings;
    } else if (input.type == Type::update_trust_rating) {
      input.other = one_of(trusted.of(input.user), random);
      input.value %= kTrusts;
    }
  }

 private:
  static std::uint32_t one_of(std::span<const std::uint32_t> some, Random& random) {
    return some[static_cast<std::size_t>(random.below(some.size()))];
  }

  Mix<kTypes> mix_;
  Zipf users_;
  Zipf items_;
  Scatter user_at_;
  Scatter item_at_;
};

}  // namespace heddle::epinions
