#include "reference/unfused_softmax.h"
