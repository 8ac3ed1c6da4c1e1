#include "plan/html.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.h"
#include "page/page.h"
#include "plan/picture.h"
#include "plan/report.h"
#include "plan/sums.h"

namespace torchport::plan {

namespace {

using page::escape;

constexpr std::size_t kRowsShown = 15;  // of a table; the others are folded
constexpr std::size_t kRowsFolded = 500;

constexpr std::string_view kPageStyle = R"css(
.figures{margin:8px 0}.figures td{border-width:0;padding:3px 10px 3px 0}
td.share{width:38%;min-width:90px;vertical-align:middle}.bar{height:14px;min-width:1px;border-radius:2px;background:var(--c)}
.dot{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:7px;background:var(--c)}
th.path{font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}details{margin:6px 0}summary{color:var(--soft)}
@media(max-width:760px){td.share{width:auto}.stack td.share{display:block}}
)css";

std::string bytes_text(std::uint64_t bytes) {
  return base::format_bytes_as_c10(bytes);
}

std::string table_head(std::string_view name, bool draws) {
  return fmt::format(
      "<table class=stack><thead><tr><th scope=col>{}<th scope=col class=n>memory<th scope=col "
      "class=n>blocks{}</tr></thead><tbody>\n",
      name, draws ? "<th scope=col>" : "<th scope=col>what");
}

std::string numbers(const Sum& sum) {
  return fmt::format("<td class=n data-head=memory>{}<td class=n data-head=blocks>{}",
                     bytes_text(sum.bytes), sum.blocks);
}

// Kinds, each with a bar.
std::string kinds_table(const std::vector<Row>& rows) {
  const std::vector<Sum> sums = sums_by(rows, SumBy::kKind);
  std::uint64_t total = 0;
  for (const Sum& sum : sums) total += sum.bytes;
  std::string html = table_head("what it holds", true);
  for (const Sum& sum : sums) {
    const double part = 100 * static_cast<double>(sum.bytes) /
                        static_cast<double>(std::max<std::uint64_t>(total, 1));
    html += fmt::format(
        "<tr class={0}><th scope=row><span class=dot></span>{1}</th>{2}<td class=\"share drawn\">"
        "<div class=bar style=\"width:{3:.2f}%\" title=\"{3:.1f} %\"></div></tr>\n",
        colour_of(sum.name), escape(sum.name), numbers(sum), part);
  }
  return html + "</tbody></table>\n";
}

std::string named_rows(const std::vector<Sum>& sums, std::size_t from, std::size_t to,
                       std::string_view nameless) {
  std::string html;
  for (std::size_t i = from; i < std::min(to, sums.size()); ++i)
    html +=
        fmt::format("<tr><th scope=row class=path>{}</th>{}<td class=text data-head=what>{}</tr>\n",
                    sums[i].name.empty() ? std::string(nameless) : escape(sums[i].name),
                    numbers(sums[i]), escape(fmt::format("{}", fmt::join(sums[i].holds, ", "))));
  return html;
}

// Modules or lines; most of a long list is folded.
std::string names_table(const std::vector<Row>& rows, SumBy by, std::string_view head,
                        std::string_view nameless) {
  const std::vector<Sum> sums = sums_by(rows, by);
  std::string html =
      table_head(head, false) + named_rows(sums, 0, kRowsShown, nameless) + "</tbody></table>\n";
  if (sums.size() <= kRowsShown) return html;
  html += fmt::format("<details><summary>{} more</summary>{}{}</tbody></table>",
                      sums.size() - kRowsShown, table_head(head, false),
                      named_rows(sums, kRowsShown, kRowsShown + kRowsFolded, nameless));
  if (sums.size() > kRowsShown + kRowsFolded)
    html += fmt::format("<p class=soft>{} smaller ones are in the report of --format json</p>",
                        sums.size() - kRowsShown - kRowsFolded);
  return html + "</details>\n";
}

std::string holders(const std::vector<Row>& rows) {
  return kinds_table(rows) + "<h3>By module</h3>\n" +
         names_table(rows, SumBy::kModule, "module", "<span class=soft>outside of modules</span>") +
         "<h3>By line</h3>\n" + names_table(rows, SumBy::kLine, "line", "");
}

std::string figure(std::string_view bytes, std::string_view meaning) {
  return fmt::format("<tr><td class=n><b>{}</b><td>{}</tr>\n", bytes, meaning);
}

std::string interval(std::uint64_t least, std::uint64_t most) {
  return fmt::format("{} to {}", bytes_text(least), bytes_text(most));
}

std::string figures(const Device& device) {
  std::string html = "<table class=\"figures stack\"><tbody>\n" +
                     figure(bytes_text(device.allocated),
                            "largest sum of allocated blocks (<code>max_memory_allocated</code>)") +
                     figure(bytes_text(device.reserved),
                            "largest sum that PyTorch reserved (<code>max_memory_reserved</code>)");
  for (const Part& part : device.parts)
    html += figure(interval(part.least, part.most),
                   fmt::format("estimated: {}; {}{}", escape(part.name), escape(part.why),
                               part.is_dispensable ? "; only where there is room" : ""));
  return html + figure(interval(device.least(), device.most()), "what the device must hold") +
         "</tbody></table>\n";
}

std::string failure_of(const Device& device) {
  const Failure& first = device.failures.front();
  std::string html = fmt::format(
      "<div class=panel id=ran-out><p><b>No room for {} at <code>{}</code></b>{}</p>",
      bytes_text(first.bytes), escape(first.line),
      first.module.empty() ? "" : fmt::format(" in <code>{}</code>", escape(first.module)));
  if (device.failures.size() > 1)
    html += fmt::format("<p class=soft>{} more requests found no room.</p>",
                        device.failures.size() - 1);
  return html + "</div>\n";
}

std::string device_html(const Plan& plan, const AlikeDevices& one) {
  const Device& device = *one.device;
  std::string html = fmt::format("<section><h2>{}</h2>\n", escape(one.names));
  if (!device.failures.empty()) html += failure_of(device);
  html += figures(device) + picture_of(device.timeline, plan.memory);
  const bool ran_out = !device.rows_when_it_ran_out.empty();
  const bool at_once = ran_out && device.timeline.ran_out == device.timeline.peak;
  if (ran_out)
    html += fmt::format("<h3>Who held it when there was no room{}</h3>\n{}",
                        at_once ? ", which is when most was allocated" : "",
                        holders(device.rows_when_it_ran_out));
  if (!device.rows.empty() && !at_once)
    html += "<h3>Who held it when most was allocated</h3>\n" + holders(device.rows);
  return html + "</section>\n";
}

std::string missing_html(const Plan& plan) {
  if (plan.missing.empty()) return {};
  std::string html =
      "<h2>Values that were not there</h2>\n<p class=soft>Large tensors have no values. A number "
      "that is read is 0, and a mask chooses all: where the program decides by such a value, the "
      "plan may be of another path. A kernel that is given such values is not run.</p>\n<table "
      "class=stack><thead><tr><th scope=col>line<th "
      "scope=col>operator<th scope=col>how<th scope=col class=n>times</tr></thead><tbody>\n";
  for (const MissingValue& one : plan.missing)
    html += fmt::format(
        "<tr><th scope=row class=path>{}</th><td class=text data-head=operator><code>{}</code><td "
        "data-head=how>{}<td class=n data-head=times>{}</tr>\n",
        escape(one.line), escape(one.operation), escape(one.kind), one.count);
  return html + "</tbody></table>\n";
}

std::string uncertain_html(const Plan& plan) {
  std::string html;
  for (const std::string& why : plan.uncertain)
    html += fmt::format("<p class=soft>Not exact: {}.</p>\n", escape(why));
  return html;
}

std::string hangs_html(const Plan& plan) {
  if (plan.hangs_on.empty() && plan.at_most.empty()) return {};
  std::string html = fmt::format(
      "<h2>What hangs on values</h2>\n<p class=soft>At these lines {}.</p>\n<ul>\n",
      plan.hangs_on.empty() ? "sizes depend on values, and were planned as large as they can be"
                            : "a loop, a branch or a size takes another way with values");
  for (const std::string& line : plan.lines_it_hangs_on())
    html += fmt::format("<li class=path>{}</li>\n", escape(line));
  return html + "</ul>\n";
}

std::string head_html(const Plan& plan) {
  const Verdict verdict = plan.verdict();
  std::string line = in_a_line(plan);
  if (!line.empty() && line.front() >= 'a' && line.front() <= 'z')
    line.front() = static_cast<char>(line.front() - 'a' + 'A');
  const std::string_view tone =
      verdict == Verdict::kFits                                              ? "ok"
      : verdict == Verdict::kMayNotFit || verdict == Verdict::kHangsOnValues ? "warning"
                                                                             : "bad";
  std::string html = fmt::format(
      "<h1 class={}>{}</h1>\n<p class=soft>{} of {}; devices: {}; processes: {}; planned in {:.1f} "
      "s without computing</p>\n",
      tone, escape(line), escape(plan.profile), bytes_text(plan.memory), plan.devices.size(),
      plan.processes, plan.seconds);
  if (plan.ranks > 0)
    html += fmt::format("<p>This is rank 0 of {}; the other ranks are assumed to be alike.</p>\n",
                        plan.ranks);
  std::string left_out = what_is_left_out(plan);
  if (!left_out.empty()) {
    left_out.front() = static_cast<char>(left_out.front() - 'a' + 'A');
    html += fmt::format("<div class=panel><p>{}</p></div>\n", escape(left_out));
  }
  return html;
}

}  // namespace

std::string as_html(const Plan& plan) {
  std::string body = head_html(plan);
  for (const AlikeDevices& one : alike_devices(plan)) body += device_html(plan, one);
  body += hangs_html(plan) + missing_html(plan) + uncertain_html(plan);
  return page::framed("torchport plan: memory", picture_style() + std::string(kPageStyle), body);
}

base::Result<void> write_page(Plan& plan, const std::filesystem::path& target) {
  std::ofstream stream(target, std::ios::binary);
  stream << as_html(plan);
  stream.close();
  if (!stream)
    return base::fail(base::ErrorCode::kIo, std::generic_category().message(errno),
                      target.string());
  plan.notes += fmt::format("{}: this report as a page\n", target.string());
  return {};
}

}  // namespace torchport::plan
