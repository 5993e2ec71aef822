#include "store/server/program_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <system_error>

namespace heddle::store {

namespace fs = std::filesystem;

bool has_programs(const fs::path& folder, std::initializer_list<const char*> programs) {
  return std::all_of(programs.begin(), programs.end(), [&folder](const char* program) {
    return access((folder / program).c_str(), X_OK) == 0;
  });
}

fs::path programs_in_path(std::initializer_list<const char*> programs) {
  const char* text = std::getenv("PATH");
  std::istringstream folders(text == nullptr ? "" : text);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code failed;
    const fs::path file = fs::canonical(fs::path(folder) / *programs.begin(), failed);
    if (!failed && has_programs(file.parent_path(), programs)) return file.parent_path();
  }
  return {};
}

}  // namespace heddle::store
