// The arithmetic of a layer's stages: exact in fp64, or like a V100 in fp16 with products on tensor
// cores.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/problem/attention.h"
#include "reference/encoder/matrix.h"
#include "reference/unfused/tensor_core_matmul.h"

namespace sparkbench {

/// dQ, dK and dV, [tokens, hidden] each.
template <class Real>
struct AttentionGradients {
  Matrix<Real> dq, dk, dv;
};

/// Attention over a problem's tokens: one sequence, or several (varlen). q and o have the rows from
/// `first_row` on; k and v have all rows.
template <class Real>
struct AttentionFunctions {
  std::function<Matrix<Real>(const Matrix<Real>& q, const Matrix<Real>& k, const Matrix<Real>& v,
                             int first_row)>
      forward;
  /// For all rows; the last argument is d_o.
  std::function<AttentionGradients<Real>(const Matrix<Real>& q, const Matrix<Real>& k,
                                         const Matrix<Real>& v, const Matrix<Real>& d_o)>
      backward;
};

/// The definition in fp64, forward and backward; arguments need not be fp16 numbers. It shares only
/// the definitions of mask and dropout with the kernels.
AttentionFunctions<double> exact_attention(const Problem& problem);

struct ExactMath {
  using Real = double;
  static double round(double value) { return value; }
  /// A B^T.
  static Matrix<double> product(const Matrix<double>& a, const Matrix<double>& b);
};

/// Values are fp16 numbers in floats. Arithmetic between two roundings is fp32.
struct HalfMath {
  using Real = float;
  TensorCores tensor_cores;

  static float round(float value) { return to_float(to_half(value)); }
  /// A B^T on tensor cores. k ascends in one accumulator per element, as in CUTLASS's main loop
  /// without split-K. The result is fp32, not rounded yet. A and B are fp16 numbers.
  Matrix<float> product(const Matrix<float>& a, const Matrix<float>& b) const;
};

}  // namespace sparkbench
