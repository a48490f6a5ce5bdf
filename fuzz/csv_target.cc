// A table as text (io/csv.h). What is read and written again is read as the same numbers.
#include "io/csv.h"

#include "io/open.h"
#include "tables.h"

namespace exhume::fuzz {
namespace {

void csv(std::string_view bytes) {
  TablePtr table;
  if (!accepted([&] { table = open_table(file_with(bytes, "csv")); })) return;
  check_table(*table, bytes);
  const RowMatrix values = read_all(*table);
  const std::filesystem::path again = file_with("", "again.csv");
  write_csv(again, values);
  expect(read_all(*open_csv(again)) == values, "numbers that were written and read again differ");
}

const Registration registration("csv", csv);

}  // namespace
}  // namespace exhume::fuzz
