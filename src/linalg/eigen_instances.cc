#define EXHUME_INSTANCE template
#include "linalg/eigen_instances.h"
