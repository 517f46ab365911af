#include "reference/exact_backward.h"
