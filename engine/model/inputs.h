#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/hints.h"
#include "model/random.h"

namespace heddle {

/// The inputs of a workload's transactions, for those to whom an input is opaque: bytes that can be
/// copied, behind a pointer aligned as `kAlignment` says.
class Inputs {
 public:
  static constexpr std::size_t kAlignment = alignof(std::uint64_t);

  Inputs() = default;
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  virtual ~Inputs() = default;

  /// How large an input is; a multiple of `kAlignment`.
  [[nodiscard]] virtual std::size_t input_bytes() const = 0;
  /// Makes an input in memory of `input_bytes()`, of no transaction in particular.
  virtual void make_input(std::byte* input) const = 0;
  /// Draws the next transaction of a worker into an input. Returns its type.
  /// @param now_us the machine's clock
  virtual int draw(Random& random, int worker, int workers, std::uint64_t now_us,
                   std::byte* input) = 0;
  [[nodiscard]] virtual int type_of(const std::byte* input) const = 0;
  /// A type's share of all transactions in the long run, 0 to 1; nothing where every draw is
  /// independent of the others, so that those drawn in any window are a sample of it.
  [[nodiscard]] virtual std::optional<double> share(int /*type*/) const { return {}; }

  /// Whether transactions pass hints.
  [[nodiscard]] virtual bool has_hints() const = 0;
  /// Appends those of an input.
  virtual void hints(const std::byte* input, Hints& hints) const = 0;

  /// Whether transactions arrive by a clock of their own, whether or not a worker is free: an open
  /// loop. If not, a worker's next transaction arrives when the one before has ended.
  ///
  /// The clock counts microseconds, runs on from one run to the next, and stands still between
  /// them. `next_arrival_us` is asked by the worker itself during a run, `arrived` and `begun` only
  /// before and after.
  [[nodiscard]] virtual bool open_loop() const = 0;
  /// When the transaction arrives that `draw` gives the worker next; never earlier than the one
  /// before.
  [[nodiscard]] virtual double next_arrival_us(int worker) const = 0;
  /// How many transactions arrive before a time, for all workers, from the clock's beginning.
  [[nodiscard]] virtual double arrived(double us) const = 0;
  /// How many `draw` has given since then, to all workers.
  [[nodiscard]] virtual double begun() const = 0;
};

}  // namespace heddle
