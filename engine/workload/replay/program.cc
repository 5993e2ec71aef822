#include "workload/replay/program.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace heddle::replay {

static_assert(std::endian::native == std::endian::little, "the file is read as it lies in memory");

namespace {

constexpr std::size_t kPrologue = 16;
constexpr std::uint32_t kNoAccess = 0x10000;  // above every access number

}  // namespace

/// Reads the file's bytes in order.
class Program::Reader {
 public:
  Reader(const std::string& path, std::span<const std::byte> bytes) : path_(path), bytes_(bytes) {}

  /// The JSON header; the arrays follow.
  std::string_view header() {
    if (bytes_.size() < kPrologue ||
        std::memcmp(bytes_.data(), kMagic.data(), kMagic.size()) != 0) {
      refuse(0, "magic", "it is not a replay program");
    }
    const auto version = number(kMagic.size());
    if (version != kVersion) {
      refuse(kMagic.size(), "version",
             std::to_string(version) + " is unknown to this engine, which reads " +
                 std::to_string(kVersion));
    }
    const std::uint64_t length = number(kMagic.size() + 4);
    if (length % 8 != 0 || length > bytes_.size() - kPrologue) {
      refuse(kMagic.size() + 4, "length of the header",
             std::to_string(length) + " is no multiple of 8 within the file");
    }
    at_ = kPrologue + length;
    return {reinterpret_cast<const char*>(bytes_.data() + kPrologue),
            static_cast<std::size_t>(length)};
  }

  /// Checks, before the arrays are laid out, that they fill the file to the byte.
  void expect(const Header& header) const {
    const std::uint64_t wanted = at_ + header.transactions * (8 + 8 + 4 + 2 + 1) + 8 +
                                 header.accesses * (4 + 2) + header.rows;
    if (bytes_.size() != wanted) {
      refuse(bytes_.size(), "end of the file",
             "the file has " + std::to_string(bytes_.size()) +
                 " bytes; by its header it must have " + std::to_string(wanted));
    }
  }

  template <class T>
  void array(std::span<const T>& into, std::uint64_t count) {
    into = {reinterpret_cast<const T*>(bytes_.data() + at_), static_cast<std::size_t>(count)};
    at_ += count * sizeof(T);
  }

  template <class T>
  [[noreturn]] void refuse(std::span<const T> array, std::uint64_t index, const char* name,
                           const std::string& why) const {
    const auto* place = reinterpret_cast<const std::byte*>(array.data() + index);
    refuse(static_cast<std::uint64_t>(place - bytes_.data()),
           std::string(name) + "[" + std::to_string(index) + "]", why);
  }

 private:
  [[noreturn]] void refuse(std::uint64_t byte, const std::string& field,
                           const std::string& why) const {
    throw std::invalid_argument("replay program " + path_ + ": byte " + std::to_string(byte) +
                                ", " + field + ": " + why + "; create it again from its trace");
  }

  [[nodiscard]] std::uint32_t number(std::size_t at) const {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  const std::string& path_;
  std::span<const std::byte> bytes_;
  std::uint64_t at_ = 0;
};

Program::Program(const std::string& path) : file_(path) {
  Reader reader(path, file_.bytes());
  header_ = Header::parse(path, reader.header());
  reader.expect(header_);
  reader.array(begin_, header_.transactions);
  reader.array(first_access_, header_.transactions + 1);
  reader.array(row_, header_.accesses);
  reader.array(session_, header_.transactions);
  reader.array(access_, header_.accesses);
  reader.array(type_, header_.transactions);
  reader.array(rolls_back_, header_.transactions);
  reader.array(born_, header_.rows);
  check_transactions(reader);
  check_accesses(reader);
  order_growing_tables();
  mark();
  of_type_.resize(header_.steps.size());
  for (const std::uint16_t type : type_) ++of_type_[type];
}

void Program::check_transactions(const Reader& reader) const {
  if (first_access_.front() != 0) {
    reader.refuse(first_access_, 0, "first_access", "the first transaction's accesses begin at 0");
  }
  if (first_access_.back() != access_.size()) {
    reader.refuse(first_access_, transactions(), "first_access",
                  "the last transaction's accesses end at " + std::to_string(access_.size()));
  }
  for (std::size_t i = 0; i < transactions(); ++i) {
    if (first_access_[i] > first_access_[i + 1]) {
      reader.refuse(first_access_, i + 1, "first_access", "it is below the one before it");
    }
    if (i != 0 && begin_[i] < begin_[i - 1]) {
      reader.refuse(begin_, i, "begin", "it is below the one before it");
    }
    if (begin_[i] > kLatestBegin) {
      reader.refuse(begin_, i, "begin", "it is more than 142 years after the first");
    }
    if (session_[i] >= header_.sessions) {
      reader.refuse(
          session_, i, "session",
          std::to_string(session_[i]) + " is none of " + std::to_string(header_.sessions));
    }
    if (type_[i] >= header_.steps.size()) {
      reader.refuse(
          type_, i, "type",
          std::to_string(type_[i]) + " is none of " + std::to_string(header_.steps.size()));
    }
    if (rolls_back_[i] > 1) reader.refuse(rolls_back_, i, "rolls_back", "it is neither 0 nor 1");
  }
  for (std::size_t i = 0; i < born_.size(); ++i) {
    if (born_[i] > 1) reader.refuse(born_, i, "born", "it is neither 0 nor 1");
  }
}

void Program::check_accesses(const Reader& reader) const {
  for (std::size_t i = 0; i < transactions(); ++i) {
    const std::vector<Step>& steps = header_.steps[type_[i]];
    for (std::uint64_t at = first_access(i); at < end_access(i); ++at) {
      if (access_[at] >= steps.size()) {
        reader.refuse(access_, at, "access",
                      std::to_string(access_[at]) + " is none of " + std::to_string(steps.size()) +
                          " of type " + header_.signature.types[type_[i]].name);
      }
      const TableSpec& table = header_.tables[steps[access_[at]].table];
      if (row_[at] >= table.rows) {
        reader.refuse(row_, at, "row",
                      std::to_string(row_[at]) + " is none of " + std::to_string(table.rows) +
                          " of table " + table.name);
      }
    }
  }
}

/// Rows that do not always exist: born, or removed by a transaction.
std::vector<bool> Program::passing_rows() const {
  std::vector<bool> passing(born_.begin(), born_.end());
  for (std::size_t i = 0; i < transactions(); ++i) {
    for (std::uint64_t at = first_access(i); at < end_access(i); ++at) {
      const Step& made = step(type_[i], at);
      if (made.act == Act::remove) passing[place_of(made.table, row_[at])] = true;
    }
  }
  return passing;
}

/// The updates of rows that always exist add +1 and -1 in turn, and 0 for an odd one at a
/// transaction's end. These rows' numbers therefore always add up to 0, which the consistency check
/// verifies.
void Program::mark() {
  const std::vector<bool> passing = passing_rows();
  marks_.resize(access_.size());
  for (std::size_t i = 0; i < transactions(); ++i) {
    std::uint8_t* unpaired = nullptr;
    for (std::uint64_t at = first_access(i); at < end_access(i); ++at) {
      const Step& made = step(type_[i], at);
      if (made.act != Act::update || passing[place_of(made.table, row_[at])]) continue;
      marks_[at] = unpaired == nullptr ? kAdds : kTakes;
      unpaired = unpaired == nullptr ? &marks_[at] : nullptr;
    }
    if (unpaired != nullptr) *unpaired = 0;
    std::uint32_t lowest = kNoAccess;
    for (std::uint64_t at = end_access(i); at-- > first_access(i);) {
      if (access_[at] >= lowest) continue;
      lowest = access_[at];
      marks_[at] |= kCloses;
    }
  }
}

/// If every round adds rows, a hash index, which does not grow, would fill up.
void Program::order_growing_tables() {
  for (TableSpec& table : header_.tables) {
    const auto born = born_.subspan(table.first_born, table.rows);
    if (std::find(born.begin(), born.end(), 1) != born.end()) table.ordered = true;
  }
}

}  // namespace heddle::replay
