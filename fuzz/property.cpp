#include "property.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "source/rules/registry.h"

namespace torchport::fuzz {

namespace {

// The lines of all code blocks in the pages of all rules.
const std::vector<std::string>& page_lines() {
  static const std::vector<std::string> kLines = [] {
    std::vector<std::string> lines;
    for (const rules::EmbeddedPage& page : rules::embedded_pages()) {
      bool inside = false;
      for (const std::string_view line : base::split(page.text, '\n')) {
        if (line.starts_with("```"))
          inside = !inside && line.starts_with("```python");
        else if (inside)
          lines.emplace_back(line);
      }
    }
    return lines;
  }();
  return kLines;
}

std::size_t below(std::size_t count, std::minstd_rand& random) {
  return count == 0 ? 0 : random() % count;
}

std::string indentation(std::string_view line) {
  const auto end = line.find_first_not_of(" \t");
  return std::string(line.substr(0, end == std::string_view::npos ? line.size() : end));
}

constexpr std::array kOpeners{"if torch.cuda.is_available():",
                              "def forward(self, x, device=None):",
                              "class Net(torch.nn.Module):",
                              "for i in range(torch.cuda.device_count()):",
                              "with torch.no_grad():",
                              "try:",
                              "async def f(*args, device='cuda'):",
                              "while True:",
                              "else:",
                              "except RuntimeError:",
                              "if args.device == 'cuda':",
                              "lambda x: x.cuda(",
                              "x = ("};

}  // namespace

void require(bool holds, std::string_view promise, std::string_view text) {
  if (holds) return;
  fmt::print(stderr, "broken promise: {}\n--- text\n{}\n---\n", promise, text);
  std::abort();
}

void require_inside(const std::vector<rules::Finding>& findings, std::string_view text) {
  const auto inside = [&](base::Span span) {
    return span.start <= span.end && span.end <= text.size();
  };
  for (const rules::Finding& finding : findings) {
    require(inside(finding.span), "a finding lies inside of the text", text);
    for (const edit::Fix& fix : finding.fix) {
      for (const edit::Edit& edit : fix.edits)
        require(inside(edit.span), "an edit lies inside of the text", text);
    }
  }
}

std::string mutate_lines(std::string_view text, std::minstd_rand& random) {
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(text, '\n')) lines.emplace_back(line);
  const std::size_t at = below(lines.size(), random);
  const auto here = lines.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random() % 8) {
    case 0:
      lines.erase(here);
      break;
    case 1:
      lines.insert(here, std::string(lines[at]));
      break;
    case 2:
      std::swap(lines[at], lines[below(lines.size(), random)]);
      break;
    case 3:
      lines[at].insert(0, random() % 4 == 0 ? "\t" : "    ");
      break;
    case 4:
      lines[at].erase(0, std::min<std::size_t>(4, indentation(lines[at]).size()));
      break;
    case 5: {
      const std::string indent = indentation(lines[at]);
      const std::size_t end = std::min(lines.size(), at + 1 + below(6, random));
      for (std::size_t i = at; i < end; ++i) lines[i].insert(0, "    ");
      lines.insert(here, indent + kOpeners[below(kOpeners.size(), random)]);
      break;
    }
    case 6:
      lines[at] += (random() % 2 == 0 ? "; " : " if x else ") +
                   std::string(base::trim(lines[below(lines.size(), random)]));
      break;
    default: {
      const auto& pages = page_lines();
      const std::size_t first = below(pages.size(), random);
      const std::size_t count = std::min(pages.size() - first, 1 + below(6, random));
      const std::string indent = indentation(lines[at]);
      std::vector<std::string> run;
      for (std::size_t i = first; i < first + count; ++i) run.push_back(indent + pages[i]);
      lines.insert(here, run.begin(), run.end());
    }
  }
  std::string result;
  for (const std::string& line : lines) result += line + "\n";
  if (!result.empty()) result.pop_back();
  return result;
}

}  // namespace torchport::fuzz
