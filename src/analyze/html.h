// What the pages of reports share. Part of analyze/.
#ifndef OCTAVO_ANALYZE_HTML_H_
#define OCTAVO_ANALYZE_HTML_H_

#include <string>
#include <string_view>

namespace octavo {

inline constexpr std::string_view kPageStyle =
    "body{font:14px sans-serif;margin:24px;max-width:1140px}table{border-collapse:collapse;margin:8px 0}"
    "td,th{padding:2px 8px;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}.n{text-align:right}"
    ".grid{stroke:#ddd}text{font-size:11px;fill:#555}h2{margin-top:28px}";
inline constexpr double kPageWidth = 1100.0;  // of drawings, in CSS pixels

// Text, fit for elements and quoted attributes.
std::string escaped_html(std::string_view text);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_HTML_H_
