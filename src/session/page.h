// report.html again, from the certificate in a folder alone; or view.html, with what only a reader knows.
#pragma once

#include <string>
#include <vector>

#include "exhume/types.h"

namespace exhume {

struct PageOptions {
  std::string folder;   // that holds a result
  std::string truth{};  // file of the network behind the samples: the page compares; empty: none
  std::vector<Index>
      input_shape{};  // rows and columns of the inputs: the page shows units as images; empty: none
};

// Writes the page and returns its path. With a truth or a shape that is view.html, and report.html stays what
// it is. Throws DataError where the folder holds no certificate, or no network to draw or to compare.
std::string write_page(const PageOptions& options);

}  // namespace exhume
