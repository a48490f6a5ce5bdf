#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "report/report_page.h"
#include "report/rounded.h"

namespace exhume {
namespace {

using svg::escape;

constexpr std::size_t kRowsShown = 12;    // of a table; further ones are folded away
constexpr std::size_t kMostColumns = 64;  // of a picture, whatever a certificate says

Json rounded_list(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(rounded(value));
  return list;
}

std::string draw_facts(const Json& facts) {
  if (!facts.is_array()) return "";
  std::string rows;
  for (const Json& fact : facts) {
    if (!fact.is_array() || fact.size() != 2) continue;
    rows += fmt::format("<tr><td class=\"name\">{}</td><td>{}</td></tr>\n",
                        escape(capitalised(words(fact[0]))), typeset(words(fact[1])));
  }
  return section("What was found", "", "<div class=\"scroll\"><table>\n" + rows + "</table></div>\n");
}

// Words with a space between them, or a list in parentheses: set to the left, and broken into lines.
bool is_phrase(const Json& cell) {
  if (!cell.is_string()) return false;
  const std::string& text = cell.get_ref<const std::string&>();
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool words =
      text.find(' ') != std::string::npos && std::count_if(text.begin(), text.end(), letter) > 2;
  return words || (!text.empty() && text.front() == '(');
}

std::string draw_table(const Json& json) {
  std::string out = "<div class=\"scroll\"><table>\n<tr>";
  // The first column names the rows where it holds words; the others are phrases or numbers.
  const Json& rows = at(json, "rows");
  const bool named = !rows.empty() && rows[0].is_array() && !rows[0].empty() && rows[0][0].is_string();
  const auto kind = [&](std::size_t column) {
    if (named && column == 0) return "name";
    const bool phrases = std::any_of(rows.begin(), rows.end(), [column](const Json& row) {
      return row.is_array() && column < row.size() && is_phrase(row[column]);
    });
    return phrases ? "phrase" : "number";
  };
  std::vector<const char*> kinds;
  bool folded = false;
  for (const Json& column : at(json, "columns")) {
    kinds.push_back(kind(kinds.size()));
    out += fmt::format("<th class=\"{}\">{}</th>", kinds.back(), escape(capitalised(words(column))));
  }
  out += "</tr>\n";
  std::size_t drawn = 0;
  for (const Json& row : rows) {
    // What is long is folded away after its first rows.
    if (drawn++ == kRowsShown && rows.size() > kRowsShown + kRowsShown / 4) {
      out += fmt::format(
          "</table></div>\n<details><summary>{} more rows</summary>\n<div class=\"scroll\"><table>\n",
          rows.size() - kRowsShown);
      folded = true;
    }
    out += "<tr>";
    std::size_t column = 0;
    for (const Json& cell : row) {
      out += fmt::format("<td class=\"{}\">{}</td>", column < kinds.size() ? kinds[column] : "number",
                         cell.is_number() ? pretty(cell.get<double>()) : typeset(words(cell)));
      ++column;
    }
    out += "</tr>\n";
  }
  return section(words(at(json, "heading")), typeset(words(at(json, "text"))),
                 out + "</table></div>\n" + (folded ? "</details>\n" : ""), "wide long");
}

std::string draw_chart(const Json& json) {
  svg::Chart chart;
  chart.title = words(at(json, "heading"));
  chart.x.label = words(at(json, "x"));
  chart.y.label = words(at(json, "y"));
  chart.diagonal = is_true(at(json, "diagonal"));
  for (const Json& rule : at(json, "rules")) {
    chart.rules.push_back(
        {number_of(at(rule, "at")), words(at(rule, "label")), is_true(at(rule, "vertical"))});
  }
  for (const Json& series : at(json, "series")) {
    chart.series.push_back({.name = words(at(series, "name")),
                            .x = numbers(at(series, "x")),
                            .y = numbers(at(series, "y")),
                            .line = !is_true(at(series, "points")),
                            .points = is_true(at(series, "points")),
                            .dashed = is_true(at(series, "dashed"))});
    if (chart.series.back().x.size() != chart.series.back().y.size()) return "";
  }
  return section(words(at(json, "heading")), typeset(words(at(json, "text"))), svg::draw(chart));
}

// Whole numbers of a list where they are; 0 for others.
Index whole(const Json& list, std::size_t place) {
  const bool good = list.is_array() && place < list.size() && list[place].is_number_integer();
  return good ? list[place].get<Index>() : 0;
}

std::string draw_network(const Json& json) {
  svg::NetworkPicture picture;
  picture.title = words(at(json, "heading"));
  picture.skips = is_true(at(json, "skips"));
  if (!at(json, "columns").is_array() || !at(json, "lines").is_array()) return "";
  for (const Json& column : at(json, "columns"))
    picture.columns.push_back({whole(column, 0), whole(column, 1)});
  if (picture.columns.size() > kMostColumns) return "";
  for (const Json& layer : at(json, "lines")) {
    auto& lines = picture.lines.emplace_back();
    if (!layer.is_array()) continue;
    for (const Json& line : layer) {
      if (line.is_array() && line.size() == 3)
        lines.push_back({whole(line, 0), whole(line, 1), number_of(line[2])});
    }
  }
  return section(words(at(json, "heading")), typeset(words(at(json, "text"))), svg::draw(picture), "wide");
}

std::string draw_forest(const Json& json) {
  std::string charts;
  if (!at(json, "charts").is_array()) return "";
  for (const Json& chart : at(json, "charts")) {
    svg::Forest forest{.title = words(at(chart, "heading")), .label = words(at(chart, "label"))};
    if (!at(chart, "names").is_array()) return "";
    for (const Json& name : at(chart, "names")) forest.names.push_back(words(name));
    forest.values = numbers(at(chart, "values"));
    forest.reaches = numbers(at(chart, "reaches"));
    if (forest.names.size() != forest.values.size() || forest.names.size() != forest.reaches.size())
      return "";
    if (!forest.names.empty())
      charts += fmt::format("<div><h3>{}</h3>\n{}</div>\n", escape(forest.title), svg::draw(forest));
  }
  if (charts.empty()) return "";
  return section(words(at(json, "heading")), typeset(words(at(json, "text"))),
                 "<div class=\"lines\">\n" + charts + "</div>\n", "wide");
}

std::string draw_heat_map(const Json& json) {
  svg::HeatMap map;
  map.title = words(at(json, "heading"));
  map.row_label = "units";
  map.column_label = "inputs, or units below";
  const Json& rows = at(json, "values");
  if (!rows.is_array() || rows.empty() || !rows[0].is_array()) return "";
  map.values = Matrix::Zero(static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size()));
  if (map.values.rows() > map.max_rows || map.values.cols() > map.max_columns) return "";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double> row = numbers(rows[i]);
    if (static_cast<Index>(row.size()) != map.values.cols()) return "";
    for (std::size_t j = 0; j < row.size(); ++j)
      map.values(static_cast<Index>(i), static_cast<Index>(j)) = row[j];
  }
  map.rows = at(json, "rows").is_number_integer() ? at(json, "rows").get<Index>() : 0;
  map.columns = at(json, "columns").is_number_integer() ? at(json, "columns").get<Index>() : 0;
  return section(words(at(json, "heading")), typeset(words(at(json, "text"))), svg::draw(map));
}

}  // namespace

Json facts_section(const std::vector<Fact>& facts) {
  Json list = Json::array();
  for (const Fact& fact : facts) {
    // Several lines are a table for terminals; the page has one of its own.
    if (fact.value.find('\n') == std::string::npos) list.push_back(Json::array({fact.name, fact.value}));
  }
  return {{"kind", "facts"}, {"facts", std::move(list)}};
}

Json table_section(std::string heading, std::string text, std::vector<std::string> columns, Json rows) {
  return {{"kind", "table"},
          {"heading", std::move(heading)},
          {"text", std::move(text)},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)}};
}

Json chart_section(std::string heading, std::string text, const svg::Chart& chart) {
  Json rules = Json::array(), lines = Json::array();
  for (const auto& rule : chart.rules)
    rules.push_back({{"at", rounded(rule.at)}, {"label", rule.label}, {"vertical", rule.vertical}});
  for (const svg::Series& series : chart.series) {
    lines.push_back({{"name", series.name},
                     {"x", rounded_list(series.x)},
                     {"y", rounded_list(series.y)},
                     {"dashed", series.dashed}});
    if (!series.line) lines.back()["points"] = true;
  }
  return {{"kind", "chart"},           {"heading", std::move(heading)},
          {"text", std::move(text)},   {"x", chart.x.label},
          {"y", chart.y.label},        {"diagonal", chart.diagonal},
          {"rules", std::move(rules)}, {"series", std::move(lines)}};
}

Json network_section(std::string heading, std::string text, const svg::NetworkPicture& picture) {
  Json columns = Json::array(), layers = Json::array();
  for (const auto& column : picture.columns) columns.push_back({column.units, column.shown});
  for (const auto& lines : picture.lines) {
    Json layer = Json::array();
    // Three decimals are more than a shade shows.
    for (const auto& line : lines)
      layer.push_back({line.from, line.to, std::round(1000 * line.weight) / 1000});
    layers.push_back(std::move(layer));
  }
  return {{"kind", "network"},       {"heading", std::move(heading)},
          {"text", std::move(text)}, {"columns", std::move(columns)},
          {"skips", picture.skips},  {"lines", std::move(layers)}};
}

Json forest_section(std::string heading, std::string text, const std::vector<svg::Forest>& charts) {
  Json list = Json::array();
  for (const svg::Forest& chart : charts) {
    list.push_back({{"heading", chart.title},
                    {"label", chart.label},
                    {"names", chart.names},
                    {"values", rounded_list(chart.values)},
                    {"reaches", rounded_list(chart.reaches)}});
  }
  return {{"kind", "forest"},
          {"heading", std::move(heading)},
          {"text", std::move(text)},
          {"charts", std::move(list)}};
}

Json heat_map_section(std::string heading, std::string text, const Matrix& values) {
  return {{"kind", "heat map"},
          {"heading", std::move(heading)},
          {"text", std::move(text)},
          {"rows", values.rows()},
          {"columns", values.cols()},
          {"values", rounded(svg::shrink(values, svg::HeatMap().max_rows, svg::HeatMap().max_columns))}};
}

std::string draw_section(const Json& json) {
  const std::string kind = words(at(json, "kind"));
  if (kind == "facts") return draw_facts(at(json, "facts"));
  if (kind == "table" && at(json, "columns").is_array() && at(json, "rows").is_array())
    return draw_table(json);
  if (kind == "chart") return draw_chart(json);
  if (kind == "network") return draw_network(json);
  if (kind == "forest") return draw_forest(json);
  if (kind == "heat map") return draw_heat_map(json);
  return "";
}

}  // namespace exhume
