// Tables and pages. Part of analyze/.
#include "analyze/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace octavo {
namespace {

constexpr std::string_view kPageStyle =
    "body{font:14px sans-serif;margin:24px;max-width:1140px}table{border-collapse:collapse;margin:8px 0}"
    "td,th{padding:2px 8px;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}.n{text-align:right}"
    ".grid{stroke:#ddd}text{font-size:11px;fill:#555}h2{margin-top:28px}";

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

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{1}</style></head>"
      "<body>\n<h1>{0}</h1>\n{2}</body></html>\n",
      escaped_html(title), kPageStyle, body);
}

}  // namespace octavo
