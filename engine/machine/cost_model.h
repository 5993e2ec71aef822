#pragma once

#include <cstddef>

namespace heddle {

/// The costs of a virtual core's actions, in nanoseconds unless a name says otherwise. There are
/// few, each a property of hardware or of the engine's code on it that can be measured or looked
/// up. The meaning and range of each are declared where it is read (driver/machine_options.cc). The
/// values here are those of `machine/costs=paper`; configs/machine/costs/ gives their sources.
///
/// The engine's own instructions include the hits in the core's own cache that they hide.
struct CostModel {
  static constexpr int kMostFetches = 64;

  int cores_per_socket = 28;

  double word_ns = 1.5;
  double lookup_ns = 30.0;
  double insert_ns = 290.0;
  double row_ns = 54.0;
  double control_ns = 28.0;
  double transaction_ns = 0.0;

  double shared_hit_ns = 17.0;
  double memory_ns = 90.0;
  double transfer_ns = 50.0;
  double far_transfer_ns = 130.0;
  double exposed = 1.0;
  int fetches = 0;
  double stream_ns = 4.4;
  double atomic_ns = 6.0;
  double pause_ns = 40.0;

  std::size_t private_lines = std::size_t{1} << 14;  // 1 MiB
  std::size_t shared_lines = std::size_t{1} << 19;   // 32 MiB
};

}  // namespace heddle
