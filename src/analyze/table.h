// Table: what reports say row by row, as text for a terminal and as HTML. Part of analyze/.
#ifndef OCTAVO_ANALYZE_TABLE_H_
#define OCTAVO_ANALYZE_TABLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octavo {

// What stands in a column of a row; of markup, HTML as it is.
struct TableCell {
  TableCell(std::string content, bool markup = false) : text(std::move(content)), is_markup(markup) {}
  TableCell(std::string_view content) : text(content) {}
  TableCell(const char* content) : text(content) {}

  std::string text;
  bool is_markup = false;
};

class Table {
 public:
  // A title for each column; one that begins with '#', which is not shown, is of numbers, which stand right.
  explicit Table(std::vector<std::string> titles);

  // A cell for each column.
  void add_row(std::vector<TableCell> cells) { rows_.push_back(std::move(cells)); }

  // Lines, each after `indent`; columns as wide as their longest cell, two blanks apart. Those that no row fills are
  // left out.
  std::string text(std::string_view indent = "") const;
  std::string html() const;

 private:
  std::vector<std::size_t> filled_columns() const;

  std::vector<TableCell> titles_;
  std::vector<bool> is_right_;
  std::vector<std::vector<TableCell>> rows_;
};

// Text, fit for elements and quoted attributes of HTML.
std::string escaped_html(std::string_view text);

// A page that needs nothing else, with its title as first heading; `body` is markup, `style` CSS beside that of all
// pages.
std::string html_page(std::string_view title, std::string_view body, std::string_view style = "");
inline constexpr double kPageWidth = 1100.0;  // of drawings, in CSS pixels

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_TABLE_H_
