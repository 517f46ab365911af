// What a layer's stages are computed by: exactly, in fp64, or as a V100 would, in fp16 with
// products on tensor cores.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/attention.h"
#include "reference/encoder/matrix.h"
#include "reference/unfused/tensor_core_matmul.h"

namespace sparkbench {

/// dQ, dK and dV, [tokens, hidden] each.
template <class Real>
struct AttentionGradients {
  Matrix<Real> dq, dk, dv;
};

/// Attention of a problem's tokens, of one sequence or of several behind each other. q and o have
/// the rows `first_row` on, k and v all.
template <class Real>
struct AttentionFunctions {
  std::function<Matrix<Real>(const Matrix<Real>& q, const Matrix<Real>& k, const Matrix<Real>& v,
                             int first_row)>
      forward;
  /// Of all rows; of the last argument, d_o.
  std::function<AttentionGradients<Real>(const Matrix<Real>& q, const Matrix<Real>& k,
                                         const Matrix<Real>& v, const Matrix<Real>& d_o)>
      backward;
};

/// The definition, forward and backward, in fp64, of arguments that need not be fp16 numbers. It
/// shares with kernels nothing but the definitions of mask and dropout.
AttentionFunctions<double> exact_attention(const Problem& problem);

struct ExactMath {
  using Real = double;
  static double round(double value) { return value; }
  /// A B^T.
  static Matrix<double> product(const Matrix<double>& a, const Matrix<double>& b);
};

/// Values are fp16 numbers in floats, whose arithmetic between two roundings is fp32.
struct HalfMath {
  using Real = float;
  TensorCores tensor_cores;

  static float round(float value) { return to_float(to_half(value)); }
  /// A B^T on tensor cores, k ascending in one accumulator for each element, as CUTLASS' main loop
  /// goes over k without split-K; in fp32, not rounded yet. A and B are fp16 numbers.
  Matrix<float> product(const Matrix<float>& a, const Matrix<float>& b) const;
};

}  // namespace sparkbench
