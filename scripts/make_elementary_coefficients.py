#!/usr/bin/env python3
"""Prints the coefficients of src/base/elementary.h, elementary_angles.h and elementary_pow.h: minimax polynomials by the Remez exchange,
rounded to f32 one after the other from the lowest on, the rest fitted anew each time. Needs mpmath.

    scripts/make_elementary_coefficients.py

Each line names the function, the largest weighted error (relative to the function's result, in units of 2^-24), and the
coefficients from the lowest power on.
"""
import struct

from mpmath import asin, atan, cos, erf, erfc, exp, expm1, inf, log, log1p, lu_solve, matrix, mp, mpf, pi, sin, sinh
from mpmath import sqrt, tanh

mp.dps = 40
GRID = 600


def to_f32(value):
    return mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def remez(target, weight, low, high, fixed, free, grid=GRID):
    """Coefficients number len(fixed) to len(fixed) + free - 1 of a polynomial whose lower ones are `fixed`."""
    first = len(fixed)
    points = [low + (high - low) * (1 - cos(pi * i / grid)) / 2 for i in range(grid + 1)]
    rest = [target(x) - sum(c * x**i for i, c in enumerate(fixed)) for x in points]
    weights = [weight(x) for x in points]
    chosen = [round(grid * (2 * i + 1) / (2 * (free + 1))) for i in range(free + 1)]
    for _ in range(40):
        rows = matrix(free + 1, free + 1)
        right = matrix(free + 1, 1)
        for row, at in enumerate(chosen):
            for j in range(free):
                rows[row, j] = points[at] ** (first + j) * weights[at]
            rows[row, free] = (-1) ** row
            right[row] = rest[at] * weights[at]
        solution = lu_solve(rows, right)
        errors = [
            (r - sum(solution[j] * x ** (first + j) for j in range(free))) * w
            for x, r, w in zip(points, rest, weights)
        ]
        # The extreme of each run of one sign; of too many the neighbouring smallest ones leave.
        extremes = []
        for i, error in enumerate(errors):
            if extremes and (errors[extremes[-1]] > 0) == (error > 0):
                if abs(error) > abs(errors[extremes[-1]]):
                    extremes[-1] = i
            else:
                extremes.append(i)
        while len(extremes) > free + 1:
            if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]):
                extremes.pop(0)
            else:
                extremes.pop()
        if len(extremes) < free + 1 or extremes == chosen:
            break
        chosen = extremes
    return [solution[j] for j in range(free)], max(abs(e) for e in errors)


def fit(name, target, weight, low, high, degree, fixed=()):
    low, high = mpf(low), mpf(high)
    coefficients = list(fixed)
    while len(coefficients) <= degree:
        found, _ = remez(target, weight, low, high, coefficients, degree + 1 - len(coefficients))
        coefficients.append(to_f32(found[0]))
    worst = max(
        abs((target(x) - sum(c * x**i for i, c in enumerate(coefficients))) * weight(x))
        for x in (low + (high - low) * i / 4000 for i in range(4001))
    )
    print(f"{name}: {float(worst * 2**24):.3g}", ", ".join(float(c).hex() for c in coefficients))


def main():
    tiny = mpf(10) ** -12
    half = log(2) / 2 * mpf("1.0001")
    at = lambda x: x if x else tiny
    fit("exp", lambda x: (expm1(at(x)) - at(x)) / at(x) ** 2, lambda x: at(x) ** 2 / expm1(at(x)), -half, half, 5)
    fit("log", lambda f: (log1p(at(f)) - at(f)) / at(f) ** 2, lambda f: at(f) ** 2 / log1p(at(f)), mpf(2) / 3 - 1,
        mpf(1) / 3, 8, [mpf("-0.5")])
    edge = mpf("0.925")
    fit("erf, small, of x^2", lambda s: erf(sqrt(at(s))) / sqrt(at(s)) - 1,
        lambda s: sqrt(at(s)) / erf(sqrt(at(s))), 0, edge**2, 5)
    fit("erf, large", lambda t: -log(erfc(t)) - t, lambda t: erfc(t) / erf(t), edge, 4, 6)
    fit("tanh, small, of x^2", lambda s: tanh(sqrt(at(s))) / sqrt(at(s)) - 1,
        lambda s: sqrt(at(s)) / tanh(sqrt(at(s))), 0, mpf("0.6") ** 2, 5, [mpf(0)])
    phi = lambda x: erfc(-x / sqrt(2)) / 2
    fit("gelu, small, of x^2", lambda s: (phi(sqrt(at(s))) - mpf("0.5")) / sqrt(at(s)),
        lambda s: sqrt(at(s)) / phi(-sqrt(at(s))), 0, mpf("0.75") ** 2, 4)
    slope = mpf("0.5")

    def g(t):
        u = (1 / t - 1) / slope
        return exp(u * u / 2) * erfc(u / sqrt(2)) / 2

    fit("gelu tail", lambda t: g(t) / t, lambda t: t / g(t), 1 / (1 + slope * mpf("14.6")), 1 / (1 + slope * mpf("0.7")), 9)
    quarter = pi / 4 * mpf("1.0001")
    fit("sin, of x^2", lambda s: (sin(sqrt(at(s))) / sqrt(at(s)) - 1) / at(s),
        lambda s: at(s) * sqrt(at(s)) / sin(sqrt(at(s))), 0, quarter**2, 2)
    fit("cos, of x^2", lambda s: (cos(sqrt(at(s))) - 1 + s / 2) / at(s) ** 2, lambda s: s**2 / cos(sqrt(s)), 0,
        quarter**2, 2)
    for name, odd, high, degree in [("asin", asin, "0.25", 4), ("atan", atan, "1", 8), ("sinh", sinh, "1", 3)]:
        fit(f"{name}, of x^2", lambda s: (odd(sqrt(at(s))) / sqrt(at(s)) - 1) / at(s),
            lambda s: at(s) * sqrt(at(s)) / odd(sqrt(at(s))), 0, mpf(high), degree)
    log2_of = lambda f: log1p(at(f)) / at(f) / log(2)
    found, worst = remez(log2_of, lambda f: 1 / log2_of(f), mpf(2) / 3 - 1, mpf(1) / 3, [], 13, 400)
    print(f"log2 of pow, in f64: {float(worst * 2**24):.3g}", ", ".join(float(c).hex() for c in found))


if __name__ == "__main__":
    main()
