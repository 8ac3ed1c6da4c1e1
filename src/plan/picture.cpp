#include "plan/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "page/page.h"

namespace torchport::plan {

namespace {

// From the bottom to the top: what stays comes first.
constexpr std::array<std::string_view, 9> kStacked = {
    "parameters",    "optimizer states", "gradients",        "activations",      "workspaces",
    "communication", "backward pass",    "optimizer's step", "inputs and others"};

// The units of the SVG.
constexpr double kWide = 2000;
constexpr double kHigh = 1000;
constexpr std::size_t kMostColumns = 1000;
// A device that has more than so many times what is reserved is above the picture.
constexpr double kMostEmpty = 3;

std::size_t place_of(std::string_view holds) {
  return static_cast<std::size_t>(
      std::distance(kStacked.begin(), std::find(kStacked.begin(), kStacked.end(), holds)));
}

struct Layer {
  std::string_view holds;
  std::vector<std::uint64_t> bytes;
};

// What is drawn at each column.
struct Columns {
  std::vector<int> at;  // in the SVG's units
  std::vector<std::uint64_t> reserved;
  std::vector<Layer> layers;
};

// The moments that are drawn: of neighbours the one with most.
std::vector<std::size_t> chosen(const Timeline& timeline) {
  const std::size_t count = timeline.at.size();
  const std::size_t group = (count + kMostColumns - 1) / kMostColumns;
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < count; i += group) {
    std::size_t most = i;
    for (std::size_t k = i; k < std::min(i + group, count); ++k)
      if (timeline.allocated[k] > timeline.allocated[most]) most = k;
    result.push_back(most);
  }
  return result;
}

Columns columns_of(const Timeline& timeline) {
  const std::vector<std::size_t> moments = chosen(timeline);
  const double events = static_cast<double>(std::max<std::uint64_t>(timeline.events, 1));
  Columns columns;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const std::uint64_t event = timeline.at[moments[i]];
    columns.at.push_back(static_cast<int>(
        std::lround(kWide * static_cast<double>(event > 0 ? event - 1 : 0) / events)));
    const std::size_t end = i + 1 < moments.size() ? moments[i + 1] : timeline.at.size();
    columns.reserved.push_back(
        *std::max_element(timeline.reserved.begin() + static_cast<std::ptrdiff_t>(moments[i]),
                          timeline.reserved.begin() + static_cast<std::ptrdiff_t>(end)));
  }
  for (const auto& [holds, bytes] : timeline.held) {
    Layer layer{holds, {}};
    for (const std::size_t moment : moments) layer.bytes.push_back(bytes[moment]);
    columns.layers.push_back(std::move(layer));
  }
  std::stable_sort(
      columns.layers.begin(), columns.layers.end(),
      [](const Layer& a, const Layer& b) { return place_of(a.holds) < place_of(b.holds); });
  return columns;
}

// Steps from left to right, without the ones that go nowhere.
std::string steps(const std::vector<int>& at, const std::vector<int>& heights) {
  std::string path = fmt::format("M{} {}", at.front(), heights.front());
  for (std::size_t i = 1; i < at.size(); ++i)
    if (heights[i] != heights[i - 1]) path += fmt::format("H{}V{}", at[i], heights[i]);
  return path + fmt::format("H{}", static_cast<int>(kWide));
}

// The lower edge of an area, from right to left.
std::string steps_back(const std::vector<int>& at, const std::vector<int>& heights) {
  std::string path = fmt::format("V{}", heights.back());
  for (std::size_t i = at.size(); i-- > 1;)
    if (heights[i] != heights[i - 1]) path += fmt::format("H{}V{}", at[i], heights[i - 1]);
  return path + fmt::format("H{}Z", at.front());
}

int height_of(std::uint64_t bytes, double top) {
  return static_cast<int>(std::lround(kHigh * (1 - static_cast<double>(bytes) / top)));
}

std::string areas(const Columns& columns, double top) {
  std::vector<std::uint64_t> sums(columns.at.size(), 0);
  std::vector<int> below(columns.at.size(), static_cast<int>(kHigh));
  std::string svg;
  for (const Layer& layer : columns.layers) {
    std::vector<int> above;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += layer.bytes[i];
      above.push_back(height_of(sums[i], top));
    }
    svg += fmt::format("<path class={} d=\"{}{}\"><title>{}</title></path>\n",
                       colour_of(layer.holds), steps(columns.at, above),
                       steps_back(columns.at, below), page::escape(layer.holds));
    below = above;
  }
  return svg;
}

// Four to eight lines at round numbers, in bytes.
std::vector<std::uint64_t> ticks(double top) {
  double unit = 1;
  while (unit * 1024 * 2 <= top) unit *= 1024;
  double step = unit * std::pow(10, std::floor(std::log10(top / unit)));
  while (top / step < 3) step /= 2;
  std::vector<std::uint64_t> result;
  const auto count = static_cast<std::size_t>(top / step);
  for (std::size_t i = 0; i <= count; ++i)
    result.push_back(static_cast<std::uint64_t>(static_cast<double>(i) * step));
  return result;
}

std::string tick_name(std::uint64_t bytes, std::uint64_t largest) {
  std::uint64_t unit = 1;
  std::size_t power = 0;
  constexpr std::array<std::string_view, 6> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  for (; largest / unit >= 2048 && power + 1 < kUnits.size(); ++power) unit *= 1024;
  return fmt::format("{:.4g} {}", static_cast<double>(bytes) / static_cast<double>(unit),
                     kUnits.at(power));
}

std::string line_at(std::string_view style, int height) {
  return fmt::format("<path class={} d=\"M0 {}H{}\"/>", style, height, static_cast<int>(kWide));
}

std::string share(double part) {
  return fmt::format("{:.2f}%", 100 * std::clamp(part, 0.0, 1.0));
}

// What the marks of the picture mean.
std::string key_of(const Timeline& timeline, std::uint64_t memory, bool memory_fits) {
  std::string html = "<p class=key><span><i class=reserved></i>reserved by PyTorch</span>";
  html += fmt::format("<span><i class={}></i>the device's memory, {}{}</span>",
                      memory_fits ? "memory" : "none", base::format_bytes_as_c10(memory),
                      memory_fits ? "" : ", is above the picture");
  html += fmt::format("<span><b></b>most was allocated at event {}</span>", timeline.peak);
  if (timeline.ran_out)
    html += fmt::format("<span><i class=ran></i>no room after event {}</span>", *timeline.ran_out);
  return html + fmt::format(
                    "<span>from left to right: {} events, each a block that is taken or given "
                    "back</span></p>\n",
                    timeline.events);
}

}  // namespace

std::string colour_of(std::string_view holds) {
  return fmt::format("k{}", place_of(holds));
}

std::string picture_style() {
  return R"css(
:root{--k0:#3b6fb6;--k1:#8661c1;--k2:#c75b9b;--k3:#2f9e77;--k4:#5aa9c7;--k5:#b23a48;--k6:#e08e3c;--k7:#c9b037;--k8:#8a8f98;--k9:#555}
@media (prefers-color-scheme:dark){:root{--k0:#5b8fd6;--k1:#a381dc;--k2:#d97bb3;--k3:#46b98f;--k4:#74bfdb;--k5:#d65a68;--k6:#eba35a;--k7:#d8c252;--k8:#9aa0aa;--k9:#bbb}}
.k0{fill:var(--k0);--c:var(--k0)}.k1{fill:var(--k1);--c:var(--k1)}.k2{fill:var(--k2);--c:var(--k2)}.k3{fill:var(--k3);--c:var(--k3)}.k4{fill:var(--k4);--c:var(--k4)}
.k5{fill:var(--k5);--c:var(--k5)}.k6{fill:var(--k6);--c:var(--k6)}.k7{fill:var(--k7);--c:var(--k7)}.k8{fill:var(--k8);--c:var(--k8)}.k9{fill:var(--k9);--c:var(--k9)}
.picture{display:flex;gap:8px;height:320px;margin:16px 0 4px;padding-top:10px}
.scale{position:relative;flex:none;width:64px;font-size:12px;color:var(--soft)}.scale span{position:absolute;right:0;line-height:16px;margin-bottom:-8px;white-space:nowrap}
.plot{position:relative;flex:1;min-width:0;border-left:1px solid var(--line);border-bottom:1px solid var(--line)}.plot svg{width:100%;height:100%}
.plot path:not([class^=k]){fill:none;vector-effect:non-scaling-stroke}.grid{stroke:var(--line)}.reserved{stroke:var(--ink);stroke-width:1.5}
.memory{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:7 5}
.peak{position:absolute;width:11px;height:11px;margin:0 0 -6px -6px;border-radius:50%;background:var(--ground);border:3px solid var(--ink)}
.ran{position:absolute;top:0;bottom:0;width:0;margin-left:-2px;border-left:2px solid var(--bad)}
.key{display:flex;flex-wrap:wrap;gap:2px 20px;font-size:13px;color:var(--soft);margin-left:72px}.key span{overflow-wrap:anywhere}
.key i{position:static;display:inline-block;width:22px;height:0;margin-right:6px;vertical-align:4px;border-top:2px solid var(--ink)}.key .memory{border-top:2px dashed var(--bad)}
.key .ran{width:0;height:14px;border:0;margin-left:0;border-left:2px solid var(--bad);vertical-align:-2px}.key .none{display:none}
.key b{display:inline-block;width:11px;height:11px;margin-right:6px;border-radius:50%;border:3px solid var(--ink);vertical-align:-1px}
@media(max-width:600px){.picture{height:240px}.scale{width:52px}.key{margin-left:0}}
)css";
}

std::string picture_of(const Timeline& timeline, std::uint64_t memory) {
  if (timeline.at.empty()) return {};
  const Columns columns = columns_of(timeline);
  const auto most = std::max<std::uint64_t>(
      *std::max_element(columns.reserved.begin(), columns.reserved.end()),
      *std::max_element(timeline.allocated.begin(), timeline.allocated.end()));
  const bool memory_fits = static_cast<double>(memory) <= kMostEmpty * static_cast<double>(most);
  const double top =
      std::max(1.0, 1.05 * static_cast<double>(memory_fits ? std::max(memory, most) : most));
  std::string scale;
  std::string grid;
  const std::vector<std::uint64_t> lines = ticks(top);
  for (const std::uint64_t tick : lines) {
    scale += fmt::format("<span style=\"bottom:{}\">{}</span>",
                         share(static_cast<double>(tick) / top), tick_name(tick, lines.back()));
    grid += line_at("grid", height_of(tick, top));
  }
  std::vector<int> reserved;
  for (const std::uint64_t bytes : columns.reserved) reserved.push_back(height_of(bytes, top));
  const double events = static_cast<double>(std::max<std::uint64_t>(timeline.events, 1));
  const auto peak = std::find(timeline.at.begin(), timeline.at.end(), timeline.peak);
  std::string marks;
  if (peak != timeline.at.end())
    marks += fmt::format(
        "<div class=peak style=\"left:{};bottom:{}\"></div>",
        share((static_cast<double>(timeline.peak) - 1) / events),
        share(static_cast<double>(
                  timeline.allocated[static_cast<std::size_t>(peak - timeline.at.begin())]) /
              top));
  if (timeline.ran_out)
    marks += fmt::format("<div class=ran style=\"left:{}\"></div>",
                         share(static_cast<double>(*timeline.ran_out) / events));
  return fmt::format(
      "<div class=picture><div class=scale>{}</div><div class=plot role=img aria-label=\"Memory "
      "over the run, by what it holds\"><svg viewBox=\"0 0 {} {}\" preserveAspectRatio=none>{}\n"
      "{}<path class=reserved d=\"{}\"/>{}</svg>{}</div></div>\n{}",
      scale, static_cast<int>(kWide), static_cast<int>(kHigh), grid, areas(columns, top),
      steps(columns.at, reserved), memory_fits ? line_at("memory", height_of(memory, top)) : "",
      marks, key_of(timeline, memory, memory_fits));
}

}  // namespace torchport::plan
