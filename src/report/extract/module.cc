// What the module extract has for the core: the check of an extraction.
#include "report/extract/extraction_check.h"

namespace exhume {

void register_extract() { check_extraction.fill(check_extraction_from_log); }

}  // namespace exhume
