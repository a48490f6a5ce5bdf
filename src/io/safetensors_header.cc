#include "io/safetensors_header.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "exhume/error.h"

namespace exhume {
namespace {

// nlohmann's document parser keeps the last of two equal keys and turns 2^64 into a double;
// its events show both.
class HeaderEvents final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderEvents(const std::string& file) : file_(file) {}
  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { fail("null is not expected"); }
  bool boolean(bool) override { fail("true or false is not expected"); }
  bool binary(binary_t&) override { fail("binary data are not expected"); }
  bool number_integer(number_integer_t) override {
    fail(fmt::format("'{}' holds a negative number", name()));
  }
  bool number_float(number_float_t, const string_t& text) override {
    fail(fmt::format("'{}' holds {}, which is not a whole number below 2^63", name(), text.substr(0, 32)));
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      fail(fmt::format("'{}' holds {}, which is not a whole number below 2^63", name(), value));
    }
    if (place_ == Place::kShape) {
      if (entry().shape.size() == 64) fail(fmt::format("'{}' has more than 64 dimensions", name()));
      entry().shape.push_back(static_cast<Index>(value));
    } else if (place_ == Place::kOffsets && offsets_.size() < 2) {
      offsets_.push_back(value);
    } else {
      fail(fmt::format("a number is out of place in '{}'", name()));
    }
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      header_.metadata[metadata_key_] = std::move(value);
    } else if (place_ == Place::kEntry && field_ == "dtype") {
      entry().dtype = std::move(value);
    } else {
      fail(fmt::format("a text is out of place in '{}'", name()));
    }
    return true;
  }

  bool key(string_t& key) override {
    switch (place_) {
      case Place::kRoot:
        if (!names_.insert(key).second) fail(fmt::format("the key '{}' is given twice", key));
        in_metadata_ = key == "__metadata__";
        if (!in_metadata_) header_.entries.push_back({key, "", {}, 0, 0});
        break;
      case Place::kMetadata:
        if (!metadata_keys_.insert(key).second)
          fail(fmt::format("the metadata key '{}' is given twice", key));
        metadata_key_ = key;
        break;
      default:
        if (key != "dtype" && key != "shape" && key != "data_offsets") {
          fail(fmt::format("'{}' has an unknown field '{}'", name(), key));
        }
        if (!fields_.insert(key).second) fail(fmt::format("'{}' has its field '{}' twice", name(), key));
        field_ = key;
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kRoot;
    } else if (place_ == Place::kRoot) {
      place_ = in_metadata_ ? Place::kMetadata : Place::kEntry;
      fields_.clear();
    } else {
      fail(fmt::format("an object is out of place in '{}'", name()));
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kEntry) {
      if (fields_.size() != 3) fail(fmt::format("'{}' lacks dtype, shape or data_offsets", name()));
      place_ = Place::kRoot;
    } else {
      place_ = place_ == Place::kMetadata ? Place::kRoot : Place::kOutside;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::kEntry && field_ == "shape") {
      place_ = Place::kShape;
    } else if (place_ == Place::kEntry && field_ == "data_offsets") {
      place_ = Place::kOffsets;
      offsets_.clear();
    } else {
      fail(fmt::format("a list is out of place in '{}'", name()));
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::kOffsets) {
      if (offsets_.size() != 2) fail(fmt::format("'{}' needs two data_offsets", name()));
      entry().begin = offsets_[0];
      entry().end = offsets_[1];
    }
    place_ = Place::kEntry;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail(fmt::format("it is not valid JSON at byte {}", position));
  }

 private:
  enum class Place { kOutside, kRoot, kMetadata, kEntry, kShape, kOffsets };

  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format("{} has a damaged header: {}; save the network again", file_, what));
  }
  TensorEntry& entry() { return header_.entries.back(); }
  std::string name() const {
    if (in_metadata_ || header_.entries.empty()) return "__metadata__";
    return header_.entries.back().name;
  }

  const std::string& file_;
  SafetensorsHeader header_;
  Place place_ = Place::kOutside;
  bool in_metadata_ = false;
  std::string field_, metadata_key_;
  std::vector<std::uint64_t> offsets_;
  std::set<std::string> names_, fields_, metadata_keys_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& file) {
  if (!json.starts_with('{')) {
    throw DataError(fmt::format(
        "{} is not a .safetensors file: its header does not start with a brace; check the path", file));
  }
  HeaderEvents events(file);
  nlohmann::json::sax_parse(json.begin(), json.end(), &events);
  return events.take();
}

}  // namespace exhume
