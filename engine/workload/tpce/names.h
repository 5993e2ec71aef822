#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "workload/text.h"
#include "workload/tpce/schema.h"

/// The texts of the database. The specification takes names from the files of its generator; here
/// a name spells a number, so that different numbers have different names.
namespace heddle::tpce {

/// Writes a text piece by piece.
template <std::size_t N>
class TextWriter {
 public:
  constexpr TextWriter& operator<<(std::string_view piece) {
    for (const char letter : piece) text_.chars[size_++] = letter;
    return *this;
  }
  constexpr TextWriter& operator<<(std::uint32_t number) {
    std::array<char, 10> digits{};
    std::size_t at = digits.size();
    do digits[--at] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    return *this << std::string_view(digits.data() + at, digits.size() - at);
  }

  [[nodiscard]] constexpr const Text<N>& text() const { return text_; }

 private:
  Text<N> text_ = Text<N>::of("");
  std::size_t size_ = 0;
};

/// Eight letters, the first one a capital: a syllable for each hexadecimal digit of `number`.
constexpr Text<8> spelled(std::uint32_t number) {
  constexpr std::string_view kSyllables = "bacedifoguhajekilomunapereshotuv";
  Text<8> text{};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t digit = number >> (12 - 4 * i) & 15;
    text.chars[2 * i] = kSyllables[2 * digit];
    text.chars[2 * i + 1] = kSyllables[2 * digit + 1];
  }
  text.chars[0] = static_cast<char>(text.chars[0] - 'a' + 'A');
  return text;
}

/// The person with this number: a customer, who may also trade for others.
constexpr PersonName person_name(std::uint32_t person) {
  return {(TextWriter<16>() << spelled(person * 40'503).view()).text(),
          (TextWriter<24>() << spelled(person).view()).text()};
}

constexpr Text<24> broker_name(std::uint32_t broker) {
  return (TextWriter<24>() << spelled(broker * 40'503).view() << " " << spelled(~broker).view())
      .text();
}

constexpr CompanyName company_name(std::uint32_t company) {
  return (TextWriter<24>() << spelled(company * 40'503).view() << " Corporation").text();
}

constexpr SecurityName security_name(std::uint32_t company, std::uint32_t issue) {
  return (TextWriter<32>() << company_name(company).view() << (issue == 0 ? " Common" : " Pref. A"))
      .text();
}

constexpr std::array<std::string_view, kOrderTypes> kOrderTypeNames{
    "Market-Buy", "Market-Sell", "Stop-Loss", "Limit-Sell", "Limit-Buy"};

// ---- the texts that Trade-Update changes to and fro ---------------------------------------------

inline constexpr std::string_view kInitial = " X ";

constexpr ExecutorName executor_name(const PersonName& person, std::string_view between = " ") {
  return (TextWriter<48>() << person.first.view() << between << person.last.view()).text();
}

/// Gives an executor a middle initial, or takes it away.
constexpr ExecutorName with_other_initial(const ExecutorName& executor) {
  const std::string_view name = executor.view();
  const std::size_t initial = name.find(kInitial);
  const std::string_view found = initial == std::string_view::npos ? " " : kInitial;
  const std::string_view other = initial == std::string_view::npos ? kInitial : " ";
  const std::size_t at = name.find(found);
  return (TextWriter<48>() << name.substr(0, at) << other << name.substr(at + found.size())).text();
}

/// The two names of the account that a trade was settled with.
struct CashTypes {
  CashType with_account;
  CashType without;
};
constexpr CashTypes cash_types(bool is_cash) {
  return is_cash ? CashTypes{CashType::of("Cash Account"), CashType::of("Cash")}
                 : CashTypes{CashType::of("Margin Account"), CashType::of("Margin")};
}

/// The name of a cash transaction; `Shares` with a capital after every other change.
constexpr CashName cash_name(std::string_view order_type, std::uint32_t quantity, bool capital,
                             std::string_view security) {
  return (TextWriter<64>() << order_type << " " << quantity << (capital ? " S" : " s")
                           << "hares of " << security)
      .text();
}
constexpr bool has_capital(const CashName& name) {
  return name.view().find(" Shares of ") != std::string_view::npos;
}

}  // namespace heddle::tpce
