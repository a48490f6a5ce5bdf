#include "report/weight_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "report/svg.h"
#include "report/svg_text.h"

namespace exhume::svg {
namespace {

constexpr double kGap = 14, kCaption = 22;
constexpr double kSmallestSide = 64, kLargestSide = 150;  // sides of an image
constexpr double kLine = 19, kAxis = 40;                  // of a forest
constexpr std::size_t kForestLetters = 26;

std::string draw_image(const Matrix& image, double left, double top, double side) {
  double largest = 0;
  for (Index i = 0; i < image.size(); ++i) {
    if (std::isfinite(image.data()[i])) largest = std::max(largest, std::abs(image.data()[i]));
  }
  const double cell = side / static_cast<double>(std::max<Index>({image.rows(), image.cols(), 1}));
  std::string out = "<g>";
  for (Index i = 0; i < image.rows(); ++i) {
    for (Index j = 0; j < image.cols(); ++j) {
      const double strength = largest > 0 ? std::abs(image(i, j)) / largest : 0;
      if (!(strength >= 0.02)) continue;
      out += fmt::format(
          "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
          "fill-opacity=\"{:.2f}\"/>",
          image(i, j) > 0 ? 'p' : 'n', left + cell * static_cast<double>(j),
          top + cell * static_cast<double>(i), cell + 0.05, cell + 0.05, strength);
    }
  }
  return out +
         fmt::format(
             "</g>\n<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
             left, top, cell * static_cast<double>(image.cols()), cell * static_cast<double>(image.rows()));
}

// "0.3312 ± 0.0021": two digits of the reach, and as many decimals of the value.
std::string with_reach(double value, double reach) {
  if (!(reach > 0)) return tick_label(value, false);
  const int decimals = 1 - static_cast<int>(std::floor(std::log10(reach)));
  if (decimals > 9 || reach >= 1e6)
    return fmt::format("{} ± {}", tick_label(value, false), tick_label(reach, false));
  const std::string digits = fmt::format("{:.{}f}", std::abs(value), std::max(decimals, 0));
  return fmt::format("{}{} ± {:.{}f}", value < 0 ? "−" : "", digits, reach, std::max(decimals, 0));
}

}  // namespace

std::string draw(const Images& pictures) {
  const std::size_t count = pictures.images.size();
  if (!pictures.captions.empty() && pictures.captions.size() != count)
    throw std::invalid_argument(fmt::format("{} images have {} captions", count, pictures.captions.size()));
  if (count == 0) return open_svg(pictures.width, 1, pictures.title) + "</svg>\n";
  const Matrix& first = pictures.images[0];
  for (const Matrix& image : pictures.images) {
    if (image.rows() != first.rows() || image.cols() != first.cols())
      throw std::invalid_argument("images are of different shapes");
  }
  // As large as a row of them allows, between two sizes.
  const double room = pictures.width + kGap;
  const double side = std::clamp(room / static_cast<double>(count) - kGap, kSmallestSide, kLargestSide);
  const auto across = std::max<std::size_t>(1, static_cast<std::size_t>(room / (side + kGap)));
  const double longest = static_cast<double>(std::max<Index>({first.rows(), first.cols(), 1}));
  const double high = side * static_cast<double>(first.rows()) / longest;
  const auto down = (count + across - 1) / across;
  std::string out =
      open_svg(pictures.width, static_cast<double>(down) * (high + kCaption + kGap), pictures.title);
  for (std::size_t i = 0; i < count; ++i) {
    const double left = static_cast<double>(i % across) * (side + kGap);
    const auto row = static_cast<std::ptrdiff_t>(i / across);
    const double top = 2 + static_cast<double>(row) * (high + kCaption + kGap);
    out += draw_image(pictures.images[i], left, top, side);
    if (!pictures.captions.empty()) out += text(left, top + high + 16, "start", pictures.captions[i]);
  }
  return out + "</svg>\n";
}

std::string draw(const Forest& forest) {
  const std::size_t count = forest.values.size();
  const auto end = [&](std::size_t i, double sign) {
    const double at = forest.values[i] + sign * std::abs(forest.reaches[i]);
    return i < forest.limits.size() && forest.limits[i] >= std::abs(forest.values[i])
               ? std::clamp(at, -forest.limits[i], forest.limits[i])
               : at;
  };
  const auto words = [&](std::size_t i) {
    const double reach = std::abs(forest.reaches[i]), value = forest.values[i];
    if (end(i, 1) == value + reach && end(i, -1) == value - reach) return with_reach(value, reach);
    return fmt::format("{} to {}", tick_label(std::round(1000 * end(i, -1)) / 1000, false),
                       tick_label(std::round(1000 * end(i, 1)) / 1000, false));
  };
  if (forest.names.size() != count || forest.reaches.size() != count) {
    throw std::invalid_argument(fmt::format("a forest has {} names, {} values and {} reaches",
                                            forest.names.size(), count, forest.reaches.size()));
  }
  double low = 0, high = 0, widest = 0, widest_text = 0;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = forest.values[i], reach = std::abs(forest.reaches[i]);
    if (!std::isfinite(value) || !std::isfinite(reach) || !std::isfinite(value + reach) ||
        !std::isfinite(value - reach))
      continue;
    shown.push_back(i);
    low = std::min(low, end(i, -1));
    high = std::max(high, end(i, 1));
    widest = std::max(widest, text_width(shortened(forest.names[i], kForestLetters)));
    widest_text = std::max(widest_text, text_width(words(i)));
  }
  if (!(high > low) || !std::isfinite(high - low)) {
    low = -1;
    high = 1;
  }
  // Phones set text larger than the guess, and dots stand clear of it.
  const double left = std::min(kLargerText * widest + 16, 0.42 * forest.width);
  const double right = forest.width - kLargerText * widest_text - 14;
  const double air = 0.04 * (high - low);
  low -= air;
  high += air;
  const double bottom = 6 + kLine * static_cast<double>(shown.size());
  const auto place = [&](double value) { return left + (right - left) * (value - low) / (high - low); };
  std::string out = open_svg(forest.width, bottom + kAxis, forest.title);
  std::vector<double> places;
  // An axis with a single number has no scale.
  for (int most = std::max(4, static_cast<int>((right - left) / 60)); places.size() < 2 && most < 20;
       ++most) {
    places = ticks(low, high, most, false);
    std::erase_if(places, [&](double tick) { return tick < low || tick > high; });
  }
  for (const double tick : places) {
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} 2V{:.1f}\"/>\n", place(tick), bottom);
    out += text(place(tick), bottom + 17, "middle", tick_label(tick, false));
  }
  out += fmt::format("<path class=\"rule\" d=\"M{:.1f} 2V{:.1f}\"/>\n", place(0), bottom);
  for (std::size_t line = 0; line < shown.size(); ++line) {
    const std::size_t i = shown[line];
    const double y = 6 + kLine * (static_cast<double>(line) + 0.5), reach = std::abs(forest.reaches[i]);
    const bool over_zero = std::abs(forest.values[i]) <= reach;
    out += text(left - 10, y + 4.2, "end", shortened(forest.names[i], kForestLetters));
    out += fmt::format("<path class=\"line {}\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>",
                       over_zero ? "s1 dashed" : "s0", place(end(i, -1)), y, place(end(i, 1)));
    out += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.4\"/>\n",
                       over_zero ? "f1" : "f0", place(forest.values[i]), y);
    out += text(forest.width - 2, y + 4.2, "end", words(i));
  }
  out += text((left + right) / 2, bottom + 34, "middle", forest.label, " class=\"label\"");
  return out + "</svg>\n";
}

}  // namespace exhume::svg
