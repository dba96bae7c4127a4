// Elementary functions whose bits do not depend on the machine or its C library. Part of base/.
//
// Only IEEE additions, multiplications, divisions, square roots, fma and bit operations, in a fixed order. Within 3
// (erfc, tan: 4) units in the last place of f64, so that the value rounded to f32 is the correctly rounded one, except
// about once in 2^27 arguments. They need round-to-nearest, which a run guarantees on each of its threads. Special
// values are those of the C library's functions.
#ifndef OCTAVO_BASE_MATH_H_
#define OCTAVO_BASE_MATH_H_

namespace octavo {

double math_exp(double x);
double math_expm1(double x);  // exp(x) - 1
double math_log(double x);
double math_log1p(double x);  // log(1 + x)
double math_tanh(double x);
double math_erf(double x);
double math_erfc(double x);  // 1 - erf(x), small results included
double math_pow(double x, double y);
double math_sin(double x);
double math_cos(double x);
double math_tan(double x);
double math_asin(double x);
double math_acos(double x);
double math_atan(double x);
double math_sinh(double x);
double math_cosh(double x);
double math_asinh(double x);
double math_acosh(double x);
double math_atanh(double x);
double math_sigmoid(double x);   // 1 / (1 + exp(-x))
double math_softplus(double x);  // log(1 + exp(x))

// The sigmoid of an f32 as ONNX Runtime computes it, a rational function in f32: within 2e-7 of the value, 0 below -18.
// Never above 1, which ONNX Runtime exceeds by one step for some arguments.
float math_sigmoid_f32(float x);

}  // namespace octavo

#endif  // OCTAVO_BASE_MATH_H_
