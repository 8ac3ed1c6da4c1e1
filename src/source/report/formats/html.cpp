// Writes one self-contained page for people who do not work in a terminal: the score, what blocks
// each device, where, and the source with its findings.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "page/page.h"
#include "source/report/portability.h"
#include "source/report/report.h"
#include "source/rules/registry.h"

namespace torchport::report::html {

namespace {

constexpr std::string_view kStyle = R"css(
.top{display:flex;gap:20px 28px;align-items:center;flex-wrap:wrap;margin-top:18px}
.score{font-size:56px;font-weight:700;line-height:1}.score small{font-size:18px;color:var(--soft);font-weight:400}
.devices{display:flex;gap:12px;flex-wrap:wrap}.device{border:1px solid var(--line);border-radius:8px;padding:10px 14px;min-width:120px;background:var(--panel)}
.device b{display:block}
details{border:1px solid var(--line);border-radius:8px;margin:8px 0;background:var(--panel)}summary{padding:8px 14px;overflow-wrap:anywhere}
summary b{font-weight:600}.code{border-top:1px solid var(--line);background:var(--ground);border-radius:0 0 8px 8px}
.code pre{margin:0;tab-size:4;white-space:pre-wrap;overflow-wrap:anywhere;overflow:visible}
pre>span{display:block;position:relative;min-height:1.5em;padding:0 14px 0 72px}
pre i{position:absolute;left:14px;color:var(--soft);font-style:normal;user-select:none}
.e{background:var(--badbg)}.w{background:var(--warnbg)}pre>.gap{padding-left:14px;color:var(--soft)}
pre>.note{font:14px/1.45 system-ui,sans-serif;white-space:normal;padding:4px 14px 6px 69px;border-left:3px solid var(--bad)}
pre>.note.w{border-color:var(--warn)}
@media(max-width:600px){pre>span{padding-left:52px}pre>.note{padding-left:17px}}
)css";

std::string escape(std::string_view text) {
  return page::escape(printable(text));
}

// Turns `code` in messages into <code>.
std::string prose(std::string_view text) {
  std::string result;
  bool inside = false;
  for (const std::string_view part : base::split(text, '`')) {
    result += inside ? "<code>" + escape(part) + "</code>" : escape(part);
    inside = !inside;
  }
  return result;
}

// Says where the program ends without CUDA; "" if it does not.
std::string stopped(const project::CheckReport& report) {
  const auto places = demands(report);
  if (places.empty()) return {};
  return fmt::format(
      "<p class=bad>{}:{} ends the program without CUDA{}: nothing in this folder counts</p>",
      escape(places.front()->path), places.front()->line,
      places.size() > 1 ? fmt::format(", and {} more", counted(places.size() - 1, "place")) : "");
}

std::string head(const Input& input) {
  const project::CheckReport& report = input.report;
  std::string html = fmt::format(
      "<h1>Portability of this code</h1>\n<p class=soft>torchport {}; files read: {}; files that "
      "mention torch or CUDA: {}</p>\n",
      escape(input.version), report.files, report.relevant);
  if (!input.since.empty()) {
    // The score is one of all files, so there is none.
    return html + fmt::format("<p>Only the lines changed since <b>{}</b>. {}</p>\n",
                              escape(input.since), escape(left_out(input)));
  }
  if (report.relevant == 0 && report.diagnostics.empty()) return html;
  html += fmt::format(
      "<div class=top>\n<div><div class=score id=score>{}<small> %</small></div>"
      "<p class=soft>of the files that mention torch or CUDA run as they are on any device<br>"
      "(a file with only warnings counts as one half)</p>{}</div>\n<div class=devices>\n",
      portability_score(report), stopped(report));
  for (const DeviceBlocks& device : blocked_devices(report)) {
    html +=
        device.findings == 0
            ? fmt::format("<div class=device><b>{}</b><span class=ok>not blocked</span></div>\n",
                          device.device)
            : fmt::format(
                  "<div class=device><b>{}</b><span class=bad>{}</span><br><span class=soft>in "
                  "{}</span></div>\n",
                  device.device, counted(device.findings, "blocker"),
                  counted(device.files, "file"));
  }
  return html + "</div></div>\n";
}

// A cell with a number. A narrow page shows a heading in each cell, and leaves out zeros.
std::string number(std::string_view head, std::size_t count) {
  return fmt::format("<td class=\"n{}\" data-head={}>{}</td>", count == 0 ? " empty" : "", head,
                     count);
}

std::string table(std::string_view id, std::string_view first, const std::vector<Group>& groups,
                  bool rules) {
  std::string html = fmt::format(
      "<div class=scroll><table id={} class=stack><thead><tr><th scope=col>{}<th scope=col "
      "class=n>errors<th scope=col class=n>warnings{}</tr></thead><tbody>\n",
      id, first, rules ? "<th scope=col>description" : "");
  for (const Group& group : groups) {
    const rules::Rule* rule = rules ? rules::find_rule(group.name) : nullptr;
    html +=
        fmt::format("<tr><th scope=row{}>{}</th>{}{}{}</tr>\n", rules ? "" : " class=path",
                    escape(rule != nullptr ? fmt::format("{} {}", rule->info.code, rule->info.name)
                                           : group.name),
                    number("errors", group.errors), number("warnings", group.warnings),
                    rule != nullptr ? "<td class=text>" + prose(rule->info.summary) + "</td>" : "");
  }
  return html + "</tbody></table></div>\n";
}

using Findings = std::vector<const project::Diagnostic*>;

std::string note(const project::Diagnostic& d) {
  std::string html = fmt::format("<span class=\"note {}\"><b>{} {}</b>: {}",
                                 d.severity == rules::Severity::kError ? "e" : "w", escape(d.code),
                                 escape(d.name), prose(d.message));
  if (d.has_fix) {
    html += fmt::format("<br><span class=soft>{}: {}</span>",
                        d.applicability == edit::Applicability::kSafe ? "torchport fix"
                        : d.applicability == edit::Applicability::kUnsafe
                            ? "torchport fix --unsafe-fixes"
                            : "by hand",
                        prose(d.fix_title));
  }
  return html + "</span>";
}

// The lines around the findings of one file, with each finding under its line.
std::string source(const Input& input, const std::string& path, const Findings& findings) {
  constexpr std::uint32_t kContext = 3;
  constexpr std::size_t kLongest = 300;
  const auto text = input.fs.read(path);
  std::string html = "<div class=code><pre>";
  if (!text) {
    for (const auto* d : findings)
      html += fmt::format("<span class=e><i>{}</i>{}</span>{}", d->line, escape(d->source_line),
                          note(*d));
    return html + "</pre></div>\n";
  }
  const base::LineIndex lines(*text);
  std::map<std::uint32_t, Findings> at;
  for (const auto* d : findings) at[d->line].push_back(d);
  std::uint32_t shown = 0;
  for (auto entry = at.begin(); entry != at.end(); ++entry) {
    const std::uint32_t first =
        std::max(shown + 1, entry->first > kContext ? entry->first - kContext : 1);
    const auto next = std::next(entry);
    const std::uint32_t stop = std::min(lines.line_count(), entry->first + kContext);
    const std::uint32_t last = next != at.end() ? std::min(stop, next->first - 1) : stop;
    if (first > shown + 1) html += "<span class=gap>&#8942;</span>";
    for (std::uint32_t n = first; n <= last; ++n) {
      const bool marked = n == entry->first;
      const bool error =
          marked && std::any_of(entry->second.begin(), entry->second.end(), [](const auto* d) {
            return d->severity == rules::Severity::kError;
          });
      html += fmt::format("<span{}><i>{}</i>{}</span>",
                          !marked ? ""
                          : error ? " class=e"
                                  : " class=w",
                          n, escape(lines.line(n).substr(0, kLongest)));
      if (!marked) continue;
      for (const auto* d : entry->second) html += note(*d);
    }
    shown = last;
  }
  return html + "</pre></div>\n";
}

std::size_t errors_of(const Findings& findings) {
  return static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(),
      [](const project::Diagnostic* d) { return d->severity == rules::Severity::kError; }));
}

// Each file with its findings: those with the most errors first, and the first ones open.
std::string sources(const Input& input) {
  constexpr std::size_t kOpen = 3;
  std::map<std::string, Findings> by_path;
  for (const auto& d : input.report.diagnostics) by_path[d.path].push_back(&d);
  std::vector<std::pair<std::string, Findings>> files(by_path.begin(), by_path.end());
  std::stable_sort(files.begin(), files.end(), [](const auto& one, const auto& other) {
    return std::pair(errors_of(one.second), one.second.size()) >
           std::pair(errors_of(other.second), other.second.size());
  });
  std::string html;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& [path, findings] = files[i];
    const std::size_t errors = errors_of(findings);
    std::string counts = errors > 0 ? counted(errors, "error") : "";
    if (const std::size_t warnings = findings.size() - errors; warnings > 0)
      counts += (counts.empty() ? "" : ", ") + counted(warnings, "warning");
    html += fmt::format(
        "<details class=file{}><summary><b>{}</b> <span class=soft>{}</span></summary>{}"
        "</details>\n",
        i < kOpen ? " open" : "", escape(path), counts, source(input, path, findings));
  }
  return html;
}

std::string render(const Input& input) {
  const project::CheckReport& report = input.report;
  std::string html = head(input);
  if (!report.diagnostics.empty()) {
    html += "<h2>By rule</h2>\n" + table("rules", "rule", by_rule(report), true);
    html += "<h2>By folder</h2>\n" + table("folders", "folder", by_folder(report), false);
    html +=
        "<h2>In the source</h2>\n<p class=soft>The files with the most errors come first. Open a "
        "file to see each place, why it matters, and what would fix it.</p>\n" +
        sources(input);
  } else {
    html += "<h2>Nothing to report</h2>\n";
    html += report.relevant == 0  ? "<p>No file that was read mentions torch or CUDA.</p>\n"
            : input.since.empty() ? "<p>No line of these files ties them to a device.</p>\n"
                                  : "<p>No changed line ties these files to a device.</p>\n";
  }
  if (!report.problems.empty()) {
    html += "<h2>Not checked completely</h2>\n<ul>\n";
    for (const auto& p : report.problems)
      html += fmt::format("<li>{}{}: {}\n", escape(p.path),
                          p.line > 0 ? fmt::format(":{}", p.line) : "", escape(p.message));
    html += "</ul>\n";
  }
  return page::framed("torchport check: portability report", kStyle, html);
}

const FormatRegistration kRegistered{{"html", "one page with the annotated source", &render}};

}  // namespace

}  // namespace torchport::report::html
