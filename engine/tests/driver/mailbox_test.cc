#include "driver/mailbox.h"

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "machine/threads.h"

namespace heddle {
namespace {

struct Letter {
  std::uint64_t sender;
  std::uint64_t number;
};

TEST(Mailbox, RefusesWhenFullAndKeepsTheOrder) {
  Mailbox<ThreadsMachine, Letter> mailbox(4);
  Letter letter{};
  EXPECT_FALSE(mailbox.take(letter));
  for (std::uint64_t round = 0; round < 10; ++round) {
    for (std::uint64_t number = 0; number < 4; ++number) EXPECT_TRUE(mailbox.put({round, number}));
    EXPECT_FALSE(mailbox.put({round, 4}));
    for (std::uint64_t number = 0; number < 4; ++number) {
      ASSERT_TRUE(mailbox.take(letter));
      EXPECT_EQ(letter.sender, round);
      EXPECT_EQ(letter.number, number);
    }
    EXPECT_FALSE(mailbox.take(letter));
  }
}

TEST(Mailbox, EverythingArrivesOnceAndASendersInOrder) {
  constexpr std::size_t kSenders = 3;
  constexpr std::uint64_t kEach = 5'000;
  Mailbox<ThreadsMachine, Letter> mailbox(8);
  std::vector<std::thread> senders;
  for (std::uint64_t sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&mailbox, sender] {
      for (std::uint64_t number = 0; number < kEach; ++number) {
        while (!mailbox.put({sender, number})) std::this_thread::yield();
      }
    });
  }
  std::vector<std::uint64_t> next(kSenders);
  for (std::uint64_t taken = 0; taken < kSenders * kEach;) {
    Letter letter{};
    if (!mailbox.take(letter)) {
      std::this_thread::yield();
      continue;
    }
    ++taken;
    ASSERT_EQ(letter.number, next[letter.sender]++);
  }
  for (std::thread& sender : senders) sender.join();
  Letter letter{};
  EXPECT_FALSE(mailbox.take(letter));
}

}  // namespace
}  // namespace heddle
