#include "reference/wide_head.h"
