// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_EXPLAIN_HPP
#define CHEVRON_SELECT_EXPLAIN_HPP

//! @file
//! Tables and selectors in words: what is chosen for which calls, and where that comes from.

#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/epilogue/scope.hpp>
#include <chevron/select/call_box.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/size_classes.hpp>
#include <chevron/select/table.hpp>
#include <chevron/transport/cuda_segment.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace chevron {

namespace detail {

//! A size as people write it, exactly: 1536 is "1536 B", 2048 "2 KiB".
[[nodiscard]] inline std::string bytes_in_words(std::size_t bytes) {
  if (bytes == ByteRange::unlimited) return "any size";
  constexpr char const* units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  while (unit < 4 && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + units[unit];
}

[[nodiscard]] inline std::string sizes_in_words(std::size_t from, std::size_t to) {
  if (to == ByteRange::unlimited) return from == 0 ? "any size" : "from " + bytes_in_words(from);
  if (from == 0) return "below " + bytes_in_words(to);
  return bytes_in_words(from) + " to below " + bytes_in_words(to);
}

[[nodiscard]] inline std::string capability_in_words(int architecture) {
  return std::to_string(architecture / 10) + "." + std::to_string(architecture % 10);
}

//! Which ranks a half-open range of architectures is: hosts, devices of some compute capabilities, or any.
[[nodiscard]] inline std::string architectures_in_words(int from, int to) {
  bool const endless = to == ArchitectureRange::unlimited;
  if (from <= host_architecture && endless) return "hosts and all devices";
  if (from <= host_architecture && to == host_architecture + 1) return "hosts";
  if (from <= host_architecture) return "hosts and devices below " + capability_in_words(to);
  if (endless && from == host_architecture + 1) return "all devices";
  if (endless) return "devices from " + capability_in_words(from);
  if (to == from + 1) return "devices of " + capability_in_words(from);
  return "devices of " + capability_in_words(from) + " to below " + capability_in_words(to);
}

//! Those of a list that lie in a range.
[[nodiscard]] inline std::string architectures_in_words(Architectures<>, int from, int to) {
  return architectures_in_words(from, to);
}
template <int... Values>
[[nodiscard]] std::string architectures_in_words(Architectures<Values...>, int from, int to) {
  std::string text;
  for (int const value : {Values...}) {
    if (value < from || value >= to) continue;
    text += text.empty() ? "" : ", ";
    text += value == host_architecture ? "hosts" : "devices of " + capability_in_words(value);
  }
  return text;
}

template <class Kind>
[[nodiscard]] std::string kinds_in_words(std::uint32_t bits, std::uint32_t every, char const* what) {
  if ((bits & every) == every) return std::string("any ") + what;
  std::string text;
  for (unsigned kind = 0; every >> kind != 0; ++kind) {
    if ((bits >> kind & 1u) == 0) continue;
    text += text.empty() ? "" : " ";
    text += name(static_cast<Kind>(kind));
  }
  return text.empty() ? std::string("no ") + what : text;
}

//! How a policy runs: on a device what is launched, on a host how it stores.
[[nodiscard]] inline std::string manner_in_words(Policy const& policy, bool on_hosts, bool on_devices) {
  std::string text;
  auto const add = [&](std::string const& part) { text += (text.empty() ? "" : ", ") + part; };
  CudaGeometry const& cuda = policy.cuda;
  if (on_hosts && policy.stores == Stores::non_temporal) add("stores past the caches");
  if (!on_devices) return text;
  add((cuda.lanes == 0 ? "lanes by size" : std::to_string(cuda.lanes) + " lanes") + " of " +
      std::to_string(cuda.threads) + " threads");
  if (cuda.packs != 0) add(std::to_string(cuda.packs) + " packs in flight");
  if (cuda.packets != PacketKind::automatic) add(std::string(name(cuda.packets)) + " packets");
  if (cuda.ordering == Ordering::formal) add("formal ordering");
  if (cuda.ordering == Ordering::relaxed) add("relaxed ordering");
  if (cuda.let_go == LetGo::when_sent) add("lets go when sent");
  if (cuda.let_go == LetGo::when_met) add("lets go when met");
  if (!cuda.dependent_launch) add("no dependent launch");
  return text;
}

[[nodiscard]] inline std::string in_column(std::string text, std::size_t width) {
  text.resize(text.size() < width ? width : text.size(), ' ');
  return text + "  ";
}

//! The name of a row's algorithm: of one's own as its template has it.
template <class Table, std::size_t... Rows>
[[nodiscard]] std::string algorithm_of_row(std::size_t row, std::index_sequence<Rows...>) {
  std::string text;
  ((Rows == row
        ? void(text = algorithm_named_t<rows_of<Table>[Rows].policy.algorithm, 2, float, Sum, Identity>::name)
        : void()),
   ...);
  return text;
}

//! One line: sizes, algorithm, how it runs, which row that is and where it comes from.
template <class Table>
[[nodiscard]] std::string line_in_words(std::string const& first, std::size_t number, bool on_hosts,
                                        bool on_devices) {
  Row const& row = rows_of<Table>[number];
  std::string const algorithm =
      algorithm_of_row<Table>(number, std::make_index_sequence<rows_of<Table>.size()>{});
  std::string const manner = manner_in_words(row.policy, on_hosts, on_devices);
  std::string text = in_column(first, 26) + in_column(algorithm, 35);
  if (on_devices) text += in_column(manner, 32);
  if (!on_devices && !manner.empty()) text += manner + "  ";
  text += "row " + std::to_string(number);
  if (row.source[0] != '\0') text += ": " + std::string(row.source);
  return text + "\n";
}

}  // namespace detail

//! @brief A table in words: a line for each row, in order.
template <SelectionTable Table>
[[nodiscard]] std::string explain(Table /*table*/ = {}) {
  using namespace detail;
  std::string text;
  for (std::size_t i = 0; i < rows_of<Table>.size(); ++i) {
    Row const& row = rows_of<Table>[i];
    std::string calls = row.ranks.from == row.ranks.to ? std::to_string(row.ranks.from) + " ranks"
                                                       : std::to_string(row.ranks.from) + " to " +
                                                             std::to_string(row.ranks.to) + " ranks";
    if (row.architectures.from > 0 || row.architectures.to != ArchitectureRange::unlimited) {
      calls += ", " + architectures_in_words(row.architectures.from, row.architectures.to);
    }
    if ((~row.elements.bits & CallBox::every[0]) != 0) {
      calls += ", " + kinds_in_words<ElementKind>(row.elements.bits, CallBox::every[0], "element");
    }
    if ((~row.operations.bits & CallBox::every[1]) != 0) {
      calls += ", " + kinds_in_words<OperationKind>(row.operations.bits, CallBox::every[1], "operation");
    }
    if (row.in_windows_only) calls += ", in windows";
    if (row.epilogues.contains(EpilogueScope::row)) {
      calls += row.epilogues.contains(EpilogueScope::element) ? ", any epilogue" : ", epilogues of row scope";
    }
    if (row.numerics == Numerics::relaxed) calls += ", relaxed numerics";
    text += in_column(calls, 32) + line_in_words<Table>(sizes_in_words(row.bytes.from, row.bytes.to), i,
                                                        row.architectures.from <= host_architecture,
                                                        row.architectures.to > host_architecture + 1);
  }
  return text;
}

namespace detail {

//! The lines of one rank count, element, operation and window state.
template <class Selector, int NRanks, class T, class Op>
[[nodiscard]] std::string classes_in_words(WindowState windows) {
  using Classes = typename Selector::template Classes<NRanks, T, Op>;
  using Table = typename Selector::Table;
  using List = typename Selector::ArchitectureList;
  std::string text;
  int architecture = -1;
  SizeClass range{};
  int row = no_row;
  auto const end_range = [&] {
    if (row == no_row) return;
    text += "    " +
            line_in_words<Table>(
                sizes_in_words(range.bytes_from, range.bytes_to), static_cast<std::size_t>(row),
                List::meets(range.architecture_from, host_architecture + 1),
                List::meets(std::max(range.architecture_from, host_architecture + 1), range.architecture_to));
    row = no_row;
  };
  for (SizeClass const& sizes : Classes::all) {
    if (!List::meets(sizes.architecture_from, sizes.architecture_to)) continue;
    int const next = windows == WindowState::all ? sizes.in_windows : sizes.elsewhere;
    if (row == next && architecture == sizes.architecture_from) {
      range.bytes_to = sizes.bytes_to;
      continue;
    }
    end_range();
    if (architecture != sizes.architecture_from) {
      architecture = sizes.architecture_from;
      text += "   " + architectures_in_words(List{}, sizes.architecture_from, sizes.architecture_to) + "\n";
    }
    range = sizes;
    row = next;
  }
  end_range();
  return text;
}

template <class Selector, int NRanks, class T, class Op>
[[nodiscard]] std::string calls_in_words() {
  std::string const in_windows = classes_in_words<Selector, NRanks, T, Op>(WindowState::all);
  std::string const elsewhere = classes_in_words<Selector, NRanks, T, Op>(WindowState::none);
  std::string text = std::to_string(NRanks) + " ranks, " + name(ElementTraits<T>::kind) + ", " +
                     name(operation_kind<Op>) + "\n";
  if (in_windows == elsewhere) return text + "  wherever the buffers lie\n" + in_windows;
  return text + "  in windows\n" + in_windows + "  in no window\n" + elsewhere;
}

template <class Selector, class Ranks, class Types, class Ops>
struct InWords;
template <class Selector, int... Counts, class... Ts, class... Ops>
struct InWords<Selector, RankCounts<Counts...>, Elements<Ts...>, Operations<Ops...>> {
  [[nodiscard]] static std::string all() { return (by_rank_count<Counts>() + ...); }

 private:
  template <int NRanks>
  [[nodiscard]] static std::string by_rank_count() {
    return (by_element<NRanks, Ts>() + ...);
  }
  template <int NRanks, class T>
  [[nodiscard]] static std::string by_element() {
    return (calls_in_words<Selector, NRanks, T, Ops>() + ...);
  }
};

}  // namespace detail

//! @brief What a selector chooses, in words: exactly what a program that uses it holds, and no row that it can't reach.
//!
//! For each rank count, element and operation: ranges of sizes, the algorithm, how it runs, the row and its source.
//! Example: docs/selection.md
template <class Choice>
requires is_selector<Choice>
[[nodiscard]] std::string explain(Choice /*selector*/ = {}) {
  static_assert(Choice::total);
  return detail::InWords<Choice, typename Choice::Ranks, typename Choice::Types,
                         typename Choice::OperationList>::all();
}

}  // namespace chevron

#endif
