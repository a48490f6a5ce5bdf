// A .npy file as a table (io/npy.h).
#include "io/npy.h"

#include "io/open.h"
#include "tables.h"

namespace exhume::fuzz {
namespace {

void npy(std::string_view bytes) {
  TablePtr table;
  if (accepted([&] { table = open_table(file_with(bytes, "npy")); })) check_table(*table, bytes);
}

const Registration registration("npy", npy);

}  // namespace
}  // namespace exhume::fuzz
