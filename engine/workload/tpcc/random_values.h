#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/random.h"
#include "workload/tpcc/schema.h"

/// The random values of TPC-C: NURand (clause 2.1.6), last names (4.3.2.3), strings (4.3.2.2).
namespace heddle::tpcc {

/// The run-time constants C of NURand, one for each use (clause 2.1.6.1).
struct NurandConstants {
  std::uint32_t last_name_load;
  std::uint32_t last_name_run;
  std::uint32_t customer;
  std::uint32_t item;

  /// Draws them so that C-Run and C-Load of C_LAST differ by 65 to 119, but not by 96 or 112.
  static NurandConstants draw(Random& random) {
    NurandConstants constants{};
    constants.last_name_load = static_cast<std::uint32_t>(random.below(256));
    constants.customer = static_cast<std::uint32_t>(random.below(1024));
    constants.item = static_cast<std::uint32_t>(random.below(8192));
    do {
      constants.last_name_run = static_cast<std::uint32_t>(random.below(256));
    } while (!allowed_delta(constants.last_name_load, constants.last_name_run));
    return constants;
  }

  static constexpr bool allowed_delta(std::uint32_t load, std::uint32_t run) {
    const std::uint32_t delta = load < run ? run - load : load - run;
    return delta >= 65 && delta <= 119 && delta != 96 && delta != 112;
  }
};

/// NURand(A, x, y) with constant C. A is a power of two less one, so its random number and the
/// uniform one come from the two halves of one draw.
template <std::uint32_t A, std::uint32_t X, std::uint32_t Y>
std::uint32_t nurand(Random& random, std::uint32_t c) {
  static_assert((A & (A + 1)) == 0 && X <= Y);
  constexpr std::uint32_t kRange = Y - X + 1;
  const std::uint64_t bits = random.next();
  const std::uint32_t low = static_cast<std::uint32_t>(bits) & A;
  const std::uint32_t uniform = X + Random::scale(static_cast<std::uint32_t>(bits >> 32), kRange);
  return ((low | uniform) + c) % kRange + X;
}

inline std::uint32_t random_customer(Random& random, std::uint32_t c) {
  return nurand<1023, 1, kCustomersPerDistrict>(random, c);
}
inline std::uint32_t random_item(Random& random, std::uint32_t c) {
  return nurand<8191, 1, kItems>(random, c);
}
/// The number of a last name, 0 to 999.
inline std::uint32_t random_last_name(Random& random, std::uint32_t c) {
  return nurand<255, 0, 999>(random, c);
}

/// Name `number` (0 to 999): one syllable for each decimal digit.
constexpr Text<16> make_last_name(std::uint32_t number) {
  constexpr std::array<std::string_view, 10> kSyllables{"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                                        "ESE", "ANTI",  "CALLY", "ATION", "EING"};
  Text<16> name = Text<16>::of("");
  std::size_t at = 0;
  for (const std::uint32_t digit : {number / 100, number / 10 % 10, number % 10}) {
    for (const char letter : kSyllables[digit]) name.chars[at++] = letter;
  }
  return name;
}

/// The thousand last names, computed once: a terminal receives one as its input.
inline constexpr std::array<Text<16>, kLastNames> kLastNameTexts = [] {
  std::array<Text<16>, kLastNames> names{};
  for (std::uint32_t number = 0; number < kLastNames; ++number) {
    names[number] = make_last_name(number);
  }
  return names;
}();

inline constexpr std::string_view kAlphanumeric =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
inline constexpr std::string_view kLetters = kAlphanumeric.substr(10, 26);
inline constexpr std::string_view kDigits = kAlphanumeric.substr(0, 10);

/// Fills `count` characters at random from `alphabet`.
inline void fill_random(Random& random, char* out, std::size_t count, std::string_view alphabet) {
  // Eight characters per draw: each multiplication moves one into the high word and leaves the rest
  // of the fraction below. The rest after eight is not used.
  constexpr std::size_t kPerDraw = 8;
  __extension__ using Wide = unsigned __int128;
  std::uint64_t fraction = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % kPerDraw == 0) fraction = random.next();
    const Wide product = static_cast<Wide>(fraction) * alphabet.size();
    out[i] = alphabet[static_cast<std::size_t>(product >> 64)];
    fraction = static_cast<std::uint64_t>(product);
  }
}

/// A string of `shortest` to N characters.
template <std::size_t N>
Text<N> random_text(Random& random, std::size_t shortest,
                    std::string_view alphabet = kAlphanumeric) {
  const std::size_t size = shortest + random.below(N - shortest + 1);
  Text<N> text;
  fill_random(random, text.chars.data(), size, alphabet);
  std::memset(text.chars.data() + size, ' ', N - size);
  return text;
}

}  // namespace heddle::tpcc
