#define EXHUME_INSTANCE template
#include "linalg/eigen_products.h"
// The products first: what is instantiated uses them.
#include "linalg/eigen_instances.h"
