#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <utility>

#include "report/svg_text.h"

namespace exhume::svg {
namespace {

constexpr int kPalette = 6;
constexpr double kLargestShown = 1e300;  // of what an axis shows
constexpr double kLabelGap = 4;          // between labels below an axis
constexpr double kMostSteps = 1e15;      // whole numbers below it are exact

std::string superscript(int number) {
  static constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = number < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(number))) text += kDigits[digit - '0'];
  return text;
}

// "2.5×10⁻⁹", without the factor where it is 1.
std::string scientific(double value) {
  const std::string text = fmt::format("{:.2e}", value);
  const std::size_t e = text.find('e');
  std::string digits = text.substr(0, e);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  std::string power = "10" + superscript(std::stoi(text.substr(e + 1)));
  if (digits == "1") return power;
  if (digits == "-1") return "-" + power;
  return digits + "×" + power;
}

bool is_power_of_ten(double value) {
  const double exponent = std::log10(value);
  return std::abs(exponent - std::round(exponent)) < 1e-9;
}

// Where the data lie on one axis, in axis units (the logarithm, where it is one).
class Extent {
 public:
  explicit Extent(bool log) : log_(log) {}
  void add(double value) {
    if (!std::isfinite(value) || (log_ && value <= 0)) return;
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  bool empty() const { return low_ > high_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  bool log_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -std::numeric_limits<double>::infinity();
};

// One axis with its limits decided: value -> position.
class Mapping {
 public:
  Mapping(const Axis& axis, const Extent& extent, double from, double to, int at_most)
      : log_(axis.log), from_(from), to_(to) {
    double low = axis.low.value_or(extent.empty() ? (log_ ? 0.1 : 0.0) : extent.low());
    double high = axis.high.value_or(extent.empty() ? 1.0 : extent.high());
    // So that the range is finite too; what lies beyond is drawn at the end.
    low = std::clamp(low, -kLargestShown, kLargestShown);
    high = std::clamp(high, -kLargestShown, kLargestShown);
    if (log_) {
      low = std::max(low, std::numeric_limits<double>::min());
      high = std::max(high, low);
      double a = std::log10(low), b = std::log10(high);
      // A little air, then out to the next power of ten unless that would leave the chart half empty.
      if (!axis.low) a = b - a > 1.5 ? std::floor(a - 0.05) : a - 0.1 * std::max(b - a, 1.0);
      if (!axis.high) b = b - a > 1.5 ? std::ceil(b + 0.05) : b + 0.1 * std::max(b - a, 1.0);
      low_ = a;
      high_ = b;
    } else {
      if (high <= low) {
        const double air = std::max(std::abs(low) * 0.1, 0.5);
        low -= axis.low ? 0 : air;
        high = std::max(low, high) + air;
      } else {
        const double air = 0.04 * (high - low);
        if (!axis.low && low != 0) low -= air;
        if (!axis.high) high += air;
      }
      low_ = low;
      high_ = high;
    }
    if (!(high_ > low_)) high_ = low_ + 1;
    const double tick_low = log_ ? std::pow(10, low_) : low_, tick_high = log_ ? std::pow(10, high_) : high_;
    for (const double tick : svg::ticks(tick_low, tick_high, at_most, log_)) {
      const double t = place(tick);
      if (t > -1e-9 && t < 1 + 1e-9) ticks_.push_back(tick);
    }
  }
  bool shows(double value) const { return std::isfinite(value); }
  double operator()(double value) const { return from_ + (to_ - from_) * std::clamp(place(value), 0.0, 1.0); }
  double low() const { return log_ ? std::pow(10, low_) : low_; }
  double high() const { return log_ ? std::pow(10, high_) : high_; }
  bool inside(double value) const { return place(value) >= 0 && place(value) <= 1; }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  double place(double value) const {
    const double v =
        log_ ? (value > 0 ? std::log10(value) : -std::numeric_limits<double>::infinity()) : value;
    return (v - low_) / (high_ - low_);
  }
  bool log_;
  double from_, to_, low_ = 0, high_ = 1;
  std::vector<double> ticks_;
};

}  // namespace

double text_width(std::string_view text) {
  // Bytes that continue a UTF-8 character take no room.
  const auto letters = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return 0.56 * kFont * static_cast<double>(letters);
}

std::string open_svg(double width, double height, std::string_view title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n",
      width, height, escape(title));
}

std::string text(double x, double y, std::string_view anchor, std::string_view words,
                 std::string_view extra) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, extra,
                     escape(words));
}

std::string shortened(std::string_view text, std::size_t letters) {
  std::size_t seen = 0, at = 0;
  for (; at < text.size(); ++at) {
    if ((text[at] & 0xC0) != 0x80 && ++seen > letters) break;
  }
  return at == text.size() ? std::string(text) : std::string(text.substr(0, at)) + "…";
}

std::string printable(std::string_view text) {
  // Bytes of a character that a terminal or a page would obey rather than show: controls of one byte and of
  // two (U+0080 to U+009F), and marks that turn, join, hide or break a line (U+200B to U+200F, U+2028 to
  // U+202E, U+2060 to U+206F, U+FEFF).
  const auto obeyed = [&](std::size_t at) -> std::size_t {
    const auto byte = [&](std::size_t i) {
      return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
    };
    if (byte(0) < 0x20 || byte(0) == 0x7F) return 1;
    if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) <= 0x9F) return 2;
    if (byte(0) == 0xE2 && byte(1) == 0x80 &&
        ((byte(2) >= 0x8B && byte(2) <= 0x8F) || (byte(2) >= 0xA8 && byte(2) <= 0xAE)))
      return 3;
    if (byte(0) == 0xE2 && byte(1) == 0x81 && byte(2) >= 0xA0 && byte(2) <= 0xAF) return 3;
    if (byte(0) == 0xEF && byte(1) == 0xBB && byte(2) == 0xBF) return 3;
    // Alone, a byte of that range is a control too where a terminal does not read UTF-8.
    const bool follows = at > 0 && static_cast<unsigned char>(text[at - 1]) >= 0x80;
    return byte(0) >= 0x80 && byte(0) <= 0x9F && !follows ? 1 : 0;
  };
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = obeyed(at);
    plain += bytes > 0 ? ' ' : text[at];
    at += std::max<std::size_t>(bytes, 1);
  }
  return plain;
}

std::string escape(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char letter : printable(text)) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

std::vector<double> ticks(double low, double high, int at_most, bool log) {
  std::vector<double> places;
  if (!(high > low) || at_most < 1 || !std::isfinite(low) || !std::isfinite(high)) return {low};
  if (log) {
    if (low <= 0)
      throw std::invalid_argument(fmt::format("low is {}, but must be positive on a log axis", low));
    const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
    if (last - first >= 2) {
      int step = 1;
      for (const int wider : {1, 2, 3, 4, 5, 10, 20, 50, 100}) {
        step = wider;
        if ((last - first) / step + 1 <= at_most) break;
      }
      // Steps count from 1 = 10^0, so that neighbouring charts agree.
      for (int e = first; e <= last; ++e) {
        if (e % step == 0) places.push_back(std::pow(10, e));
      }
      return places;
    }
    for (int e = first - 1; e <= last; ++e) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double place = digit * std::pow(10, e);
        if (place >= low * (1 - 1e-9) && place <= high * (1 + 1e-9)) places.push_back(place);
      }
    }
    if (places.size() >= 2) return places;
    places.clear();  // a sliver of the axis: even steps do better
  }
  const double rough = (high - low) / at_most;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= rough * (1 - 1e-9)) {
      step = digit * power;
      break;
    }
  }
  // Steps that a double cannot count: the ends are closer together than its last bits, or the range is next
  // to nothing.
  if (!(step > 0) || std::max(std::abs(low), std::abs(high)) / step > kMostSteps) return {low};
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high + 1e-9 * step; ++i) places.push_back(i == 0 ? 0 : i * step);
  return places;
}

std::string group_thousands(std::string_view digits) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool after_digit = i > 0 && digits[i - 1] != '-';
    if (after_digit && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string tick_label(double value, bool log) {
  if (value == 0) return "0";
  if (log && value > 0 && is_power_of_ten(value)) {
    const int exponent = static_cast<int>(std::lround(std::log10(value)));
    if (exponent < -2 || exponent > 3) return "10" + superscript(exponent);
  }
  const double size = std::abs(value);
  std::string label;
  if (size >= 1e7 || size < 1e-4) {
    label = scientific(value);
  } else {
    label = fmt::format("{:.10g}", value);
    if (size >= 10000 && label.find('.') == std::string::npos) label = group_thousands(label);
  }
  return label[0] == '-' ? "−" + label.substr(1) : label;
}

namespace {

constexpr double kLegendLine = 20;
constexpr double kZeroRow = 34;  // below a logarithmic axis

// Where the name of a series stands.
struct LegendPlace {
  std::size_t series = 0;
  double x = 0;
  int line = 0;
};

std::vector<LegendPlace> place_legend(const std::vector<Series>& series, double width) {
  constexpr double kLeft = 50, kMark = 21, kGap = 18;
  std::vector<LegendPlace> places;
  double x = kLeft;
  int line = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].name.empty()) continue;
    const double size = kMark + text_width(series[i].name);
    if (x > kLeft && x + size > width - 4) {
      x = kLeft;
      ++line;
    }
    places.push_back({i, x, line});
    x += size + kGap;
  }
  return places;
}

// What the axes of a chart span: its series, its rules and, with a diagonal, each what the other does.
std::pair<Extent, Extent> extents(const Chart& chart) {
  Extent along_x(chart.x.log), along_y(chart.y.log);
  for (const Series& s : chart.series) {
    if (s.x.size() != s.y.size()) {
      throw std::invalid_argument(
          fmt::format("series '{}' has {} x but {} y", s.name, s.x.size(), s.y.size()));
    }
    for (const double v : s.x) along_x.add(v);
    for (const double v : s.y) along_y.add(v);
  }
  for (const Rule& rule : chart.rules) (rule.vertical ? along_x : along_y).add(rule.at);
  const Extent x = along_x, y = along_y;
  if (chart.diagonal && !x.empty() && !y.empty()) {
    along_x.add(y.low()), along_x.add(y.high());
    along_y.add(x.low()), along_y.add(x.high());
  }
  return {along_x, along_y};
}

// What stands beside the row below a logarithmic axis; empty where there is none.
std::string zero_label(const Chart& chart) {
  if (!chart.y.log) return "";
  bool zero = false, negative = false;
  for (const Series& s : chart.series) {
    for (std::size_t j = 0; j < s.y.size(); ++j) {
      if (!std::isfinite(s.x[j]) || !std::isfinite(s.y[j])) continue;
      zero = zero || s.y[j] == 0;
      negative = negative || s.y[j] < 0;
    }
  }
  return negative ? "≤ 0" : zero ? "0" : "";
}

double widest_label(const std::vector<double>& ticks, bool log) {
  double widest = 0;
  for (const double tick : ticks) widest = std::max(widest, text_width(tick_label(tick, log)));
  return widest;
}

// A chart being drawn, part by part.
class ChartPicture {
 public:
  ChartPicture(const Chart& chart, const Extent& along_x, const Extent& along_y)
      : chart_(chart),
        legend_(place_legend(chart.series, chart.width)),
        // The legend takes as many lines as it needs, and the picture grows by them.
        lines_(legend_.empty() ? 0 : legend_.back().line + 1),
        height_(chart.height + kLegendLine * std::max(0.0, lines_ - 1)),
        top_(14 + kLegendLine * lines_),
        bottom_(height_ - 46),
        right_(chart.width - 14),
        zero_(zero_label(chart)),
        floor_(zero_.empty() ? bottom_ : bottom_ - kZeroRow),
        v_(chart.y, along_y, floor_, top_, static_cast<int>((floor_ - top_) / 34)),
        left_(16 + widest_label(v_.ticks(), chart.y.log) + (chart.y.label.empty() ? 0 : 20)),
        u_(chart.x, along_x, left_, right_, static_cast<int>((right_ - left_) / 62)) {}

  std::string draw() {
    out_ = open_svg(chart_.width, height_, chart_.title);
    draw_axes();
    draw_diagonal();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      if (chart_.series[i].line) draw_line(chart_.series[i], colour(i));
      if (chart_.series[i].points) draw_points(chart_.series[i], colour(i));
    }
    for (const Rule& rule : chart_.rules) draw_rule(rule);
    for (const LegendPlace& place : legend_) draw_name(place);
    return out_ + "</svg>\n";
  }

 private:
  [[nodiscard]] int colour(std::size_t series) const {
    return chart_.series[series].colour.value_or(static_cast<int>(series)) % kPalette;
  }
  [[nodiscard]] bool shows(const Series& s, std::size_t j) const {
    return u_.shows(s.x[j]) && v_.shows(s.y[j]) && !(chart_.x.log && s.x[j] <= 0);
  }
  // Zero has no place on a logarithmic axis: it has a row of its own below it.
  [[nodiscard]] bool in_zero_row(double y) const { return chart_.y.log && y <= 0; }
  [[nodiscard]] double height_of(double y) const { return in_zero_row(y) ? bottom_ - 0.4 * kZeroRow : v_(y); }

  void draw_axes() {
    for (const double tick : v_.ticks()) {
      out_ += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left_, v_(tick), right_);
      out_ += text(left_ - 7, v_(tick) + 4.2, "end", tick_label(tick, chart_.y.log));
    }
    if (!zero_.empty()) {
      out_ += fmt::format("<path class=\"rule\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left_, floor_, right_);
      out_ += text(left_ - 7, height_of(0) + 4.2, "end", zero_);
    }
    double behind = -std::numeric_limits<double>::infinity();  // the end of the label before
    for (const double tick : u_.ticks()) {
      out_ += fmt::format("<path class=\"tick\" d=\"M{:.1f} {:.1f}v5\"/>\n", u_(tick), bottom_);
      // Phones set text larger than the guess.
      const std::string label = tick_label(tick, chart_.x.log);
      const double half = kLargerText * text_width(label) / 2;
      if (u_(tick) - half < behind) continue;
      out_ += text(u_(tick), bottom_ + 19, "middle", label);
      behind = u_(tick) + half + kLabelGap;
    }
    out_ += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left_, bottom_, right_);
    if (!chart_.x.label.empty()) {
      out_ += text((left_ + right_) / 2, height_ - 8, "middle", chart_.x.label, " class=\"label\"");
    }
    if (!chart_.y.label.empty()) {
      out_ += text(0, 0, "middle", chart_.y.label,
                   fmt::format(" class=\"label\" transform=\"translate(13 {:.1f}) rotate(-90)\"",
                               (top_ + bottom_) / 2));
    }
  }

  void draw_diagonal() {
    if (!chart_.diagonal || chart_.x.log != chart_.y.log) return;
    const double a = std::max(u_.low(), v_.low()), b = std::min(u_.high(), v_.high());
    if (!(a < b)) return;
    out_ += fmt::format("<path class=\"rule\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", u_(a), v_(a), u_(b),
                        v_(b));
  }

  void draw_line(const Series& s, int colour) {
    std::string path;
    bool pen_up = true;
    for (std::size_t j = 0; j < s.x.size(); ++j) {
      if (!shows(s, j) || in_zero_row(s.y[j])) {
        pen_up = true;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", pen_up ? 'M' : 'L', u_(s.x[j]), v_(s.y[j]));
      pen_up = false;
    }
    if (path.empty()) return;
    out_ += fmt::format("<path class=\"line s{}{}\" d=\"{}\"/>\n", colour, s.dashed ? " dashed" : "", path);
  }

  void draw_points(const Series& s, int colour) {
    out_ += fmt::format("<g class=\"f{}\"{}>", colour,
                        s.opacity < 1 ? fmt::format(" fill-opacity=\"{:.2f}\"", s.opacity) : "");
    for (std::size_t j = 0; j < s.x.size(); ++j) {
      if (!shows(s, j)) continue;
      out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>", u_(s.x[j]), height_of(s.y[j]),
                          s.size);
    }
    out_ += "</g>\n";
  }

  void draw_rule(const Rule& rule) {
    if (rule.vertical ? !u_.inside(rule.at) : !v_.inside(rule.at)) return;
    if (rule.vertical) {
      const double x = u_(rule.at);
      out_ += fmt::format("<path class=\"rule\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", x, top_, bottom_);
      // The words go to whichever side has space for them.
      const bool to_right = x + 8 + text_width(rule.label) < right_;
      out_ +=
          text(x + (to_right ? 6 : -6), top_ + 11, to_right ? "start" : "end", rule.label, " class=\"note\"");
    } else {
      const double y = v_(rule.at);
      out_ += fmt::format("<path class=\"rule\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left_, y, right_);
      out_ += text(right_ - 4, y - 6 < top_ + 8 ? y + 15 : y - 6, "end", rule.label, " class=\"note\"");
    }
  }

  void draw_name(const LegendPlace& place) {
    const Series& s = chart_.series[place.series];
    const double x = place.x, y = 15 + kLegendLine * place.line;
    if (s.line) {
      out_ += fmt::format("<path class=\"line s{}{}\" d=\"M{:.1f} {:.1f}h16\"/>\n", colour(place.series),
                          s.dashed ? " dashed" : "", x, y);
    }
    if (s.points) {
      out_ += fmt::format("<circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n",
                          colour(place.series), x + 8, y);
    }
    out_ += text(x + 21, y + 4.2, "start", s.name);
  }

  const Chart& chart_;
  std::vector<LegendPlace> legend_;
  double lines_, height_, top_, bottom_, right_;
  std::string zero_;
  double floor_;
  Mapping v_;
  double left_;
  Mapping u_;
  std::string out_;
};

}  // namespace

std::string draw(const Chart& chart) {
  const auto [along_x, along_y] = extents(chart);
  return ChartPicture(chart, along_x, along_y).draw();
}

std::string draw(const Bars& bars) {
  if (bars.names.size() != bars.values.size() ||
      (!bars.texts.empty() && bars.texts.size() != bars.values.size())) {
    throw std::invalid_argument(fmt::format("bars have {} names, {} values and {} texts", bars.names.size(),
                                            bars.values.size(), bars.texts.size()));
  }
  const double row = 26, height = row * static_cast<double>(bars.values.size()) + 8;
  double widest_name = 0, widest_text = 0, largest = 0;
  std::vector<std::string> texts = bars.texts;
  for (std::size_t i = 0; i < bars.values.size(); ++i) {
    if (bars.texts.empty()) texts.push_back(tick_label(bars.values[i], false));
    widest_name = std::max(widest_name, text_width(bars.names[i]));
    widest_text = std::max(widest_text, text_width(texts[i]));
    if (std::isfinite(bars.values[i])) largest = std::max(largest, bars.values[i]);
  }
  const double left = std::min(widest_name + 10, 0.45 * bars.width);
  const double room = std::max(bars.width - left - widest_text - 12, 10.0);
  std::string out = open_svg(bars.width, height, bars.title);
  for (std::size_t i = 0; i < bars.values.size(); ++i) {
    const double y = 4 + row * static_cast<double>(i);
    const double value = std::isfinite(bars.values[i]) ? std::max(bars.values[i], 0.0) : 0.0;
    const double length = largest > 0 ? std::max(room * (value / largest), 1.5) : 1.5;
    out += text(left - 8, y + 16, "end", bars.names[i]);
    out += fmt::format(
        "<rect class=\"f0\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\"/>\n", left,
        y + 3, length, row - 8);
    out += text(left + length + 6, y + 16, "start", texts[i]);
  }
  return out + "</svg>\n";
}

Matrix shrink(const Matrix& values, Index rows, Index columns) {
  const Index down = std::min(rows, values.rows()), across = std::min(columns, values.cols());
  Matrix small = Matrix::Zero(down, across);
  for (Index j = 0; j < values.cols(); ++j) {
    for (Index i = 0; i < values.rows(); ++i) {
      double& cell = small(i * down / values.rows(), j * across / values.cols());
      if (std::abs(values(i, j)) > std::abs(cell)) cell = values(i, j);
    }
  }
  return small;
}

namespace {

// Names of columns: the least width of a cell that has one, their letters, and how far they hang down.
constexpr double kNamedCell = 13, kSlant = 0.72;
constexpr std::size_t kHeatMapLetters = 18;

}  // namespace

std::string draw(const HeatMap& map) {
  const Matrix cells = shrink(map.values, map.max_rows, map.max_columns);
  double largest = 0;
  for (Index j = 0; j < cells.cols(); ++j) {
    for (Index i = 0; i < cells.rows(); ++i) {
      if (std::isfinite(cells(i, j))) largest = std::max(largest, std::abs(cells(i, j)));
    }
  }
  const double left = 58, top = 8, right = map.width - 74;
  const auto count = [](Index n) { return static_cast<double>(std::max<Index>(n, 1)); };
  // Cells are square where that fits between a strip and a page.
  const double wide = std::min((right - left) / count(cells.cols()), 40.0);
  const double high = std::clamp(wide, 48 / count(cells.rows()), std::max(420 / count(cells.rows()), 4.0));
  const double end_x = left + wide * count(cells.cols()), end_y = top + high * count(cells.rows());
  const bool named = !map.column_names.empty() && wide >= kNamedCell &&
                     map.column_names.size() == static_cast<std::size_t>(cells.cols());
  double names_high = 0;  // column names hang down at an angle
  for (const std::string& name : map.column_names) {
    if (named) names_high = std::max(names_high, kSlant * text_width(shortened(name, kHeatMapLetters)));
  }
  const double width = end_x + 74, height = std::max(end_y + names_high, top + 60) + 46;
  // The drawing is as wide as its cells; it is centred in the width asked for.
  const double shift = std::max(0.0, (map.width - width) / 2);

  std::string out = open_svg(map.width, height, map.title);
  out += fmt::format("<g transform=\"translate({:.1f} 0)\">\n", shift);
  const double gap = std::min(wide, high) > 8 ? 1 : 0;
  for (Index i = 0; i < cells.rows(); ++i) {
    out += "<g>";
    for (Index j = 0; j < cells.cols(); ++j) {
      const double strength = largest > 0 ? std::abs(cells(i, j)) / largest : 0;
      if (!(strength >= 0.005)) continue;
      out += fmt::format(
          "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
          "fill-opacity=\"{:.2f}\"/>",
          cells(i, j) > 0 ? 'p' : 'n', left + wide * static_cast<double>(j),
          top + high * static_cast<double>(i), wide - gap, high - gap, strength);
    }
    out += "</g>\n";
  }
  out += fmt::format("<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                     left - 1, top - 1, end_x - left + 2 - gap, end_y - top + 2 - gap);

  const Index rows = map.rows > 0 ? map.rows : map.values.rows();
  const Index columns = map.columns > 0 ? map.columns : map.values.cols();
  const auto number = [](Index n) { return fmt::format("{}", n); };
  out += text(left - 7, top + std::min(high / 2 + 4, 11.0), "end", "1");
  if (rows > 1) out += text(left - 7, end_y - std::max(high / 2 - 4, 0.0), "end", number(rows));
  for (std::size_t j = 0; named && j < map.column_names.size(); ++j) {
    out += text(0, 0, "end", shortened(map.column_names[j], kHeatMapLetters),
                fmt::format(" transform=\"translate({:.1f} {:.1f}) rotate(-45)\"",
                            left + wide * (static_cast<double>(j) + 0.5) + 4, end_y + 13));
  }
  if (!named) out += text(left + std::min(wide / 2, 5.0), end_y + 17, "middle", "1");
  if (!named && columns > 1)
    out += text(end_x - std::min(wide / 2, 5.0), end_y + 17, "middle", number(columns));
  out += text((left + end_x) / 2, end_y + 34 + names_high, "middle", map.column_label, " class=\"label\"");
  out +=
      text(0, 0, "middle", map.row_label,
           fmt::format(" class=\"label\" transform=\"translate(13 {:.1f}) rotate(-90)\"", (top + end_y) / 2));

  // The scale, in steps because gradients would need an id that is unique on the page.
  constexpr int kSteps = 10;
  const double scale_height = std::clamp(end_y - top, 60.0, 180.0), step = scale_height / (2 * kSteps + 1),
               x = end_x + 14;
  for (int s = -kSteps; s <= kSteps; ++s) {
    if (s == 0) continue;
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.2f}\" width=\"11\" height=\"{:.2f}\" "
        "fill-opacity=\"{:.2f}\"/>",
        s > 0 ? 'p' : 'n', x, top + step * (kSteps - s), step + 0.05,
        std::abs(s) / static_cast<double>(kSteps));
  }
  out += fmt::format("\n<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"{:.1f}\"/>\n",
                     x, top, scale_height);
  const std::string end_label =
      tick_label(std::strtod(fmt::format("{:.1e}", largest).c_str(), nullptr), false);
  out += text(x + 17, top + 9, "start", "+" + end_label);
  out += text(x + 17, top + scale_height / 2 + 4, "start", "0");
  out += text(x + 17, top + scale_height, "start", "−" + end_label);
  return out + "</g>\n</svg>\n";
}

}  // namespace exhume::svg
