#pragma once

#include <filesystem>
#include <initializer_list>

namespace heddle::store {

/// Whether a folder has all of these programs.
[[nodiscard]] bool has_programs(const std::filesystem::path& folder,
                                std::initializer_list<const char*> programs);

/// The first folder in PATH with all of these programs; a link counts as the file that it leads to.
/// Empty: there is none.
[[nodiscard]] std::filesystem::path programs_in_path(std::initializer_list<const char*> programs);

}  // namespace heddle::store
