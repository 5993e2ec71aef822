#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::test {

/// The bytes of a handmade replay program, and a file that holds them.
class ProgramFile {
 public:
  struct Access {
    std::uint16_t access;
    std::uint32_t row;
  };
  struct Transaction {
    std::uint32_t session;
    std::uint16_t type;
    std::vector<Access> accesses;
    bool rolls_back = false;
    std::optional<std::uint64_t> begin_us = {};  ///< by default a millisecond after the one before
  };

  /// `born`: a byte for every row of every table.
  ProgramFile(const std::string& tables_and_types, std::uint32_t sessions,
              const std::vector<Transaction>& transactions, const std::vector<std::uint8_t>& born)
      : path_(std::filesystem::temp_directory_path() /
              ("heddle-program-" + std::to_string(::getpid()) + "-" + std::to_string(count_++))) {
    std::vector<std::uint64_t> begin, first{0};
    std::vector<std::uint32_t> row, session;
    std::vector<std::uint16_t> access, type;
    std::vector<std::uint8_t> rolls_back;
    for (const Transaction& one : transactions) {
      begin.push_back(one.begin_us.value_or(begin.empty() ? 0 : begin.back() + 1000));
      first.push_back(first.back() + one.accesses.size());
      session.push_back(one.session);
      type.push_back(one.type);
      rolls_back.push_back(one.rolls_back ? 1 : 0);
      for (const Access& made : one.accesses) {
        access.push_back(made.access);
        row.push_back(made.row);
      }
    }
    std::string header = R"({"transactions": )" + std::to_string(transactions.size()) +
                         R"(, "accesses": )" + std::to_string(row.size()) + R"(, "sessions": )" +
                         std::to_string(sessions) + ", " + tables_and_types + "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    bytes_ = "HDLREPLY";
    append(std::vector<std::uint32_t>{1, static_cast<std::uint32_t>(header.size())});
    bytes_ += header;
    arrays_ = bytes_.size();
    append(begin);
    append(first);
    append(row);
    append(session);
    append(access);
    append(type);
    append(rolls_back);
    append(born);
    write(bytes_);
  }
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;
  ~ProgramFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  /// Where the arrays begin.
  [[nodiscard]] std::size_t arrays() const { return arrays_; }

 private:
  template <class T>
  void append(const std::vector<T>& values) {
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }

  static inline int count_ = 0;
  std::filesystem::path path_;
  std::string bytes_;
  std::size_t arrays_ = 0;
};

}  // namespace heddle::test
