#include "reference/unfused_backward.h"
