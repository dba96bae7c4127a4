// Tables as text and as HTML.
#include "analyze/table.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

TEST(Table, NumbersStandRightAndEmptyColumnsAreLeftOut) {
  Table table({"name", "#ms", "note", "#share"});
  table.add_row({"a<b", "1.5", "", "9 %"});
  table.add_row({{"<b>longer</b>", true}, "12.25", "", ""});
  EXPECT_EQ(table.text("  "),
            "  name              ms  share\n"
            "  a<b              1.5    9 %\n"
            "  <b>longer</b>  12.25\n");
  EXPECT_EQ(table.html(),
            "<table>\n<tr><th>name</th><th class=\"n\">ms</th><th class=\"n\">share</th></tr>\n"
            "<tr><td>a&lt;b</td><td class=\"n\">1.5</td><td class=\"n\">9 %</td></tr>\n"
            "<tr><td><b>longer</b></td><td class=\"n\">12.25</td><td class=\"n\"></td></tr>\n</table>\n");
}

TEST(Table, WithoutRowsNoColumnIsFilled) { EXPECT_EQ(Table({"name"}).text(), "\n"); }

}  // namespace
}  // namespace octavo
