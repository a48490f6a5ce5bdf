// Certificates, other JSON documents and the files of a result, as Python keeps them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "base/json.h"
#include "report/result_files.h"

namespace exhume::python {

// A document as dictionaries, lists and numbers.
inline nb::object document(const Json& json) {
  return nb::module_::import_("json").attr("loads")(to_line(json));
}

using NamedBytes = std::vector<std::pair<std::string, nb::bytes>>;

inline NamedBytes named_bytes(const std::vector<ResultFile>& files) {
  NamedBytes list;
  for (const ResultFile& file : files) list.emplace_back(file.name, bytes(file.bytes));
  return list;
}

}  // namespace exhume::python
