#pragma once

#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// The violations found, a bounded number of lines for each condition.
class Violations {
 public:
  template <class... Parts>
  void add(const char* condition, const Parts&... parts) {
    if (condition != condition_) close(condition);
    if (++found_ > kMostLines) return;
    std::ostringstream line;
    line << condition << ": ";
    (line << ... << parts);
    lines_.push_back(line.str());
  }

  [[nodiscard]] std::vector<std::string> take() {
    close("");
    return std::move(lines_);
  }

 private:
  static constexpr std::size_t kMostLines = 8;

  void close(const char* next) {
    if (found_ > kMostLines) {
      lines_.push_back(std::string(condition_) + ": and " + std::to_string(found_ - kMostLines) +
                       " more");
    }
    condition_ = next;
    found_ = 0;
  }

  std::vector<std::string> lines_;
  const char* condition_ = "";  // of the lines being added
  std::size_t found_ = 0;       // with that condition
};

}  // namespace heddle
