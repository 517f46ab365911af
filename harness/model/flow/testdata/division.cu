// Integer division as nvcc 11.8 compiles it for sm_70; the quotients and remainders decide branches
// that the test reads from the path.
extern "C" __global__ void divide(int* out, unsigned a, unsigned b, int c, int d, unsigned quotient,
                                  unsigned remainder, int signed_quotient, int signed_remainder) {
  if (a / b == quotient) out[0] = 1;
  if (a % b == remainder) out[1] = 1;
  if (c / d == signed_quotient) out[2] = 1;
  if (c % d == signed_remainder) out[3] = 1;
}
