#include "driver/option_specs.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "driver/machine_options.h"
#include "driver/session.h"
#include "protocol/aria_options.h"
#include "protocol/external_options.h"
#include "protocol/locking_options.h"
#include "schedule/admission/options.h"

namespace heddle {
namespace {

/// The text as in an OptionMap; "" for nothing.
std::string text_of(const OptionValue& value) {
  std::ostringstream text;
  text.precision(17);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) text << *whole;
  if (const auto* number = std::get_if<double>(&value)) text << *number;
  if (const auto* word = std::get_if<std::string>(&value)) text << *word;
  return text.str();
}

/// A group of options, and the function that reads them.
struct Group {
  std::string name;
  std::vector<OptionSpec> specs;
  std::function<void(const OptionMap&)> read;
};

/// All groups, except the workloads that need a file, with the keys that are no options of their
/// reader.
std::vector<Group> groups() {
  const auto machine = [](OptionMap options) {
    options["kind"] = "virtual";
    (void)parse_machine(options);
  };
  std::vector<Group> all{
      {"schedule", option_specs("schedule"),
       [](const OptionMap& options) { (void)admission::Options::parse(options); }},
      {"machine", option_specs("machine", "virtual"), machine},
      {"machine/costs", option_specs("machine/costs"), machine},
      {"two_phase_locking", option_specs("protocol", "two_phase_locking"),
       [](const OptionMap& options) { (void)LockingOptions::parse(options); }},
      {"aria", option_specs("protocol", "aria"),
       [](const OptionMap& options) { (void)AriaOptions::parse(options); }},
      {"external", option_specs("protocol", "external"), [](const OptionMap& options) {
         // Not parse(): the store need not be built.
         OptionReader reader("external", options);
         (void)read_options<ExternalOptions>(reader);
       }}};
  std::erase_if(all[1].specs, [](const OptionSpec& spec) { return spec.name == "cores"; });
  for (const std::string& name : workload_names()) {
    if (name == "replay" || name == "shop") continue;
    all.push_back({name, option_specs("workload", name), [name](OptionMap options) {
                     options["name"] = name;
                     (void)workload_signature(options);
                   }});
  }
  return all;
}

bool refuses(const Group& group, const std::string& key, const std::string& value) {
  try {
    group.read({{key, value}});
  } catch (const std::invalid_argument& error) {
    return std::string(error.what()).find("'" + key + "' is '" + value + "'") != std::string::npos;
  }
  return false;
}

TEST(OptionSpecs, EveryDefaultIsValid) {
  for (const Group& group : groups()) {
    OptionMap defaults;
    for (const OptionSpec& spec : group.specs) {
      if (const std::string text = text_of(spec.fallback); !text.empty()) {
        defaults[spec.name] = text;
      }
    }
    EXPECT_NO_THROW(group.read(defaults)) << group.name;
  }
}

TEST(OptionSpecs, WhatIsBeyondARangeIsRefused) {
  int ranges = 0;
  for (const Group& group : groups()) {
    for (const OptionSpec& spec : group.specs) {
      if (spec.least == OptionValue()) continue;
      const std::string below = std::get_if<double>(&spec.least) != nullptr ? "-0.5" : "-1";
      EXPECT_TRUE(refuses(group, spec.name, below)) << group.name << " " << spec.name;
      EXPECT_TRUE(refuses(group, spec.name, text_of(spec.most) + "0")) << spec.name;
      ++ranges;
    }
  }
  EXPECT_GT(ranges, 60);
}

TEST(OptionSpecs, EachHasASentenceAndANameOfItsOwn) {
  for (const Group& group : groups()) {
    std::vector<std::string> names;
    for (const OptionSpec& spec : group.specs) {
      EXPECT_FALSE(spec.sentence.empty()) << group.name << " " << spec.name;
      EXPECT_EQ(std::count(names.begin(), names.end(), spec.name), 0) << spec.name;
      names.push_back(spec.name);
    }
  }
}

TEST(OptionSpecs, AWorkloadWithAFileIsDescribedWithoutOne) {
  const std::vector<OptionSpec> specs = option_specs("workload", "replay");
  ASSERT_FALSE(specs.empty());
  EXPECT_EQ(specs[0].name, "program");
  EXPECT_EQ(specs[0].fallback, OptionValue());
}

TEST(OptionSpecs, RealCoresAreOnlyCounted) {
  const std::vector<OptionSpec> specs = option_specs("machine", "threads");
  ASSERT_EQ(specs.size(), 1U);
  EXPECT_EQ(specs[0].name, "cores");
  EXPECT_EQ(specs[0].fallback, OptionValue());
}

TEST(OptionSpecs, UnknownNamesAreRejected) {
  const auto refusal = [](const std::string& group, const std::string& name) -> std::string {
    try {
      (void)option_specs(group, name);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "there is one";
  };
  EXPECT_EQ(refusal("search", ""),
            "group 'search' is not known; valid: workload, machine, machine/costs, schedule, "
            "protocol");
  EXPECT_NE(refusal("workload", "tpc").find("workload 'tpc' is not known; valid: tpcc, "),
            std::string::npos);
  EXPECT_NE(refusal("protocol", "sillo").find("protocol 'sillo' is not known; valid: silo, "),
            std::string::npos);
  EXPECT_EQ(refusal("machine", "abacus"),
            "machine: option 'kind' is 'abacus'; allowed: one of threads, virtual");
}

}  // namespace
}  // namespace heddle
