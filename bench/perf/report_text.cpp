// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdarg>
#include <cstdio>
#include <string>

#include <perf/report_text.hpp>

namespace perf {

namespace {

__attribute__((format(printf, 1, 2))) std::string format(char const* how, ...) {
  char text[256];
  std::va_list values;
  va_start(values, how);
  std::vsnprintf(text, sizeof text, how, values);
  va_end(values);
  return text;
}

//! Four digits that count, or so, in so many places.
std::string figure(double value, int width) {
  int const decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  return format(" %*.*f", width, decimals, value);
}

std::string side_heading(std::vector<std::string> const& peers) {
  auto text = format(" %9s %9s %9s %7s %7s %6s", "time", "min", "max", "algbw", "busbw", "#wrong");
  for (auto const& peer : peers) text += format(" %9s %6s", peer.c_str(), "ratio");
  return text;
}

std::string side_units(std::vector<std::string> const& peers) {
  auto text = format(" %9s %9s %9s %7s %7s %6s", "(us)", "(us)", "(us)", "(GB/s)", "(GB/s)", "");
  for (std::size_t i = 0; i < peers.size(); ++i) text += format(" %9s %6s", "(us)", "");
  return text;
}

std::string peer_figures(Row const& row, std::string const& name) {
  for (auto const& [peer, times] : row.peers)
    if (peer == name) return figure(times.median, 9) + format(" %6.2f", times.median / row.time_us.median);
  return format(" %9s %6s", "-", "-");
}

std::string side_figures(Row const& row, std::vector<std::string> const& peers) {
  if (!row.error.empty()) return format(" %52s", "-") + std::string(17 * peers.size(), ' ');
  auto text = figure(row.time_us.median, 9) + figure(row.time_us.min, 9) + figure(row.time_us.max, 9) +
              figure(row.algorithm_bandwidth(), 7) + figure(row.bus_bandwidth(), 7) +
              format(" %6s", row.wrong ? std::to_string(*row.wrong).c_str() : "-");
  for (auto const& peer : peers) text += peer_figures(row, peer);
  return text;
}

std::string policy(Row const& out_of_place, Row const& in_place) {
  auto const first = out_of_place.policy();
  auto const second = in_place.policy();
  return first == second ? first : first + ", " + second;
}

}  // namespace

void TextReport::begin(Machine const& machine, Settings const& settings) {
  out_ << "# chevron-perf " << machine.chevron << ": " << settings.collective << '\n'
       << "# " << machine.cpu << ", " << machine.cores << " cores; " << machine.compiler << "; "
       << machine.date << '\n';
  if (!machine.gpu.empty()) out_ << "# " << machine.gpu << '\n';
  out_ << "# time: median over batches of the slowest rank's time per call; ratio: the peer's time by "
          "chevron's\n";
}

void TextReport::begin_table(Heading const& heading) {
  peers_.clear();
  out_ << "#\n# " << heading.transport << ", " << heading.ranks << " ranks, " << heading.placement << '\n';
  for (auto const& [name, version] : heading.peers) {
    peers_.push_back(name);
    out_ << "# " << name << ": " << version << '\n';
  }
  auto const side = side_heading(peers_);
  auto const half = static_cast<int>(side.size());
  out_ << format("# %41s %-*s", "", half, " out of place") << "  in place" << '\n'
       << format("#%11s %11s %11s %6s", "size", "count", "type", "redop") << side << "  " << side
       << "  policy\n"
       << format("#%11s %11s %11s %6s", "(B)", "(elements)", "", "") << side_units(peers_) << "  "
       << side_units(peers_) << '\n'
       << std::flush;
}

void TextReport::add(Rows const& rows) {
  for (std::size_t i = 0; i < rows.out_of_place.size(); ++i) {
    auto const& out_of_place = rows.out_of_place[i];
    auto const& in_place = rows.in_place[i];
    out_ << format(" %11zu %11zu %11s %6s", out_of_place.bytes, out_of_place.count,
                   out_of_place.element.c_str(), out_of_place.op.c_str())
         << side_figures(out_of_place, peers_) << "  " << side_figures(in_place, peers_) << "  "
         << policy(out_of_place, in_place) << '\n';
    for (auto const* row : {&out_of_place, &in_place})
      if (!row->error.empty()) note(row->requested + (row->in_place ? ", in place: " : ": ") + row->error);
  }
  out_ << std::flush;
}

void TextReport::note(std::string const& text) { out_ << "# " << text << '\n' << std::flush; }

}  // namespace perf
