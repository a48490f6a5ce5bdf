// Sections that a result adds to the page: data in the certificate, drawn by the page.
//
//   facts   {"kind": "facts", "facts": [[name, value], ...]}
//   table   {"kind": "table", "heading", "text", "columns": [...], "rows": [[...], ...]}
//   chart   {"kind": "chart", "heading", "text", "x", "y", "diagonal", "rules": [{at, label, vertical}],
//            "series": [{name, x, y, dashed, points}]}
//   network {"kind": "network", "heading", "text", "columns": [[units, circles], ...], "skips",
//            "lines": [[[from, to, weight], ...], ...]}      report/network_picture.h
//   forest  {"kind": "forest", "heading", "text", "charts": [{heading, label, names, values, reaches}]}
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "report/network_picture.h"
#include "report/report.h"
#include "report/svg.h"
#include "report/weight_charts.h"

namespace exhume {

[[nodiscard]] Json facts_section(const std::vector<Fact>& facts);
[[nodiscard]] Json table_section(std::string heading, std::string text, std::vector<std::string> columns,
                                 Json rows);
[[nodiscard]] Json chart_section(std::string heading, std::string text, const svg::Chart& chart);
[[nodiscard]] Json network_section(std::string heading, std::string text, const svg::NetworkPicture& picture);

[[nodiscard]] Json forest_section(std::string heading, std::string text,
                                  const std::vector<svg::Forest>& charts);

// One section as HTML; empty where it is not one.
// Signed values as cells; large ones are thinned.
[[nodiscard]] Json heat_map_section(std::string heading, std::string text, const Matrix& values);
[[nodiscard]] std::string draw_section(const Json& json);

}  // namespace exhume
