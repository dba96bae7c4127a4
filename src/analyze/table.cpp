// Tables and pages. Part of analyze/.
#include "analyze/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace octavo {
namespace {

// Light or dark as the reader's system is; what is wider than a phone scrolls by itself.
constexpr std::string_view kPageStyle =
    ":root{color-scheme:light dark}body{font:15px/1.45 sans-serif;margin:24px;max-width:1140px}"
    "h1{font-size:24px;overflow-wrap:anywhere}h2{font-size:19px;margin-top:28px}"
    "table{border-collapse:collapse;margin:8px 0;display:block;overflow-x:auto}"
    "td,th{padding:2px 8px;border-bottom:1px solid #8885;text-align:left;vertical-align:top}.n{text-align:right}"
    "pre{background:#8882;padding:8px 12px;white-space:pre-wrap;overflow-wrap:anywhere}small,.quiet{opacity:.75}"
    ".grid{stroke:#8885}text{font-size:11px;fill:currentColor;opacity:.75}"
    "@media(max-width:640px){body{margin:14px}}";

}  // namespace

Table::Table(std::vector<std::string> titles) {
  for (std::string& title : titles) {
    is_right_.push_back(title.starts_with('#'));
    titles_.push_back(is_right_.back() ? title.substr(1) : std::move(title));
  }
}

std::vector<std::size_t> Table::filled_columns() const {
  std::vector<std::size_t> filled;
  for (std::size_t c = 0; c < titles_.size(); ++c) {
    if (std::any_of(rows_.begin(), rows_.end(), [&](const auto& row) { return !row[c].text.empty(); }))
      filled.push_back(c);
  }
  return filled;
}

std::string Table::text(std::string_view indent) const {
  const std::vector<std::size_t> columns = filled_columns();
  std::vector<std::size_t> widths(titles_.size());
  for (const std::size_t c : columns) {
    widths[c] = titles_[c].text.size();
    for (const auto& row : rows_) widths[c] = std::max(widths[c], row[c].text.size());
  }
  std::string lines;
  const auto add_line = [&](const std::vector<TableCell>& cells) {
    std::string line(indent);
    for (const std::size_t c : columns) {
      const std::string blanks(widths[c] - cells[c].text.size(), ' ');
      line += (c == columns.front() ? "" : "  ") + (is_right_[c] ? blanks + cells[c].text : cells[c].text + blanks);
    }
    lines += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  };
  add_line(titles_);
  for (const auto& row : rows_) add_line(row);
  return lines;
}

std::string Table::html() const {
  const std::vector<std::size_t> columns = filled_columns();
  std::string html = "<table>\n";
  const auto add_row = [&](const std::vector<TableCell>& cells, std::string_view tag) {
    html += "<tr>";
    for (const std::size_t c : columns) {
      html += fmt::format("<{}{}>{}</{}>", tag, is_right_[c] ? " class=\"n\"" : "",
                          cells[c].is_markup ? cells[c].text : escaped_html(cells[c].text), tag);
    }
    html += "</tr>\n";
  };
  add_row(titles_, "th");
  for (const auto& row : rows_) add_row(row, "td");
  return html + "</table>\n";
}

std::string escaped_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string html_page(std::string_view title, std::string_view body, std::string_view style) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{0}</title><style>{1}{3}</style>"
      "</head>"
      "<body>\n<h1>{0}</h1>\n{2}</body></html>\n",
      escaped_html(title), kPageStyle, body, style);
}

}  // namespace octavo
