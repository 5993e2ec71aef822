#include "observe/base64.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace heddle {
namespace {

std::string encoded(std::string_view text) { return base64(std::as_bytes(std::span(text))); }

TEST(Base64, HasTheTestVectorsOfTheStandard) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
}

TEST(Base64, HasEveryDigit) { EXPECT_EQ(encoded("\xfb\xff\xbe"), "+/++"); }

}  // namespace
}  // namespace heddle
