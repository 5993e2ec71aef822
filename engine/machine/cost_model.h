#pragma once

#include <cstddef>

namespace heddle {

/// What a virtual core pays, in nanoseconds unless a name says otherwise. Few numbers, each one a
/// property of hardware or of the engine's code on it that can be measured or looked up;
/// configs/machine/costs/ says where each
/// comes from; the values here are those of paper.yaml there.
struct CostModel {
  int cores_per_socket = 28;

  /// Instructions of the engine, with the hits in the core's own cache that they hide: around each
  /// access to a shared word; where a stored procedure looks
  /// a row up, or inserts one; where it goes on with a row it has, or a scan comes to one; where
  /// concurrency control beyond Silo's acts (a policy's row, a lock; twice at a publication point);
  /// and once a transaction (its input, beginning and end).
  double word_ns = 1.5;
  double lookup_ns = 30.0;
  double insert_ns = 290.0;
  double row_ns = 54.0;
  double control_ns = 28.0;
  double transaction_ns = 0.0;

  /// The line comes from the cache the socket's cores share.
  double shared_hit_ns = 17.0;
  /// The line comes from memory.
  double memory_ns = 90.0;
  /// The line comes out of another core's cache, or is taken away from others to be written: in the
  /// same socket, and across sockets.
  double transfer_ns = 50.0;
  double far_transfer_ns = 130.0;
  /// The share of a load's latency that the core waits for: the rest is hidden behind instructions
  /// that do not need the value, other loads among them.
  double exposed = 1.0;
  /// Each line of a longer copy behind its first.
  double stream_ns = 4.4;
  /// A locked instruction, beyond the access itself.
  double atomic_ns = 6.0;
  /// One pause in a spinning wait.
  double pause_ns = 40.0;

  /// Lines of 64 bytes that a core's own cache holds, and a socket's shared one. Powers of two.
  std::size_t private_lines = std::size_t{1} << 14;  // 1 MiB
  std::size_t shared_lines = std::size_t{1} << 19;   // 32 MiB
};

}  // namespace heddle
