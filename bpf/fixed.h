/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Fixed-point arithmetic. BPF has no floating point and, in this dialect, no signed division.
 *
 * A number is a signed count of 2^-32: windows in segments, times in microseconds, both up to 2^31. A result that
 * would be larger is FX_MAX, which stands for infinity; products are exact except for their last bit, and quotients have
 * a relative error of about 2^-31.
 */
#ifndef ELEPHAN_FIXED_H
#define ELEPHAN_FIXED_H

typedef __s64 fx;

#define FX_BITS 32
#define FX_ONE ((fx)1 << FX_BITS)
#define FX_MAX ((fx)0x7fffffffffffffffLL)
/* A constant, computed by the compiler. */
#define FX(x) ((fx)((x) * 4294967296.0))

static __always_inline fx fx_from(__s64 n)
{
	return n * FX_ONE;
}

/* The whole part, rounded down. */
static __always_inline __s64 fx_floor(fx x)
{
	return x >> FX_BITS;
}

static __always_inline fx fx_min(fx a, fx b)
{
	return a < b ? a : b;
}

static __always_inline fx fx_max(fx a, fx b)
{
	return a > b ? a : b;
}

static __always_inline fx fx_clamp(fx x, fx low, fx high)
{
	return fx_min(fx_max(x, low), high);
}

static __always_inline fx fx_half(fx x)
{
	return x >> 1;
}

/* The number of bits of x. */
static __always_inline int bit_length(__u64 x)
{
	int n = 0;

	if (x >> 32) {
		n += 32;
		x >>= 32;
	}
	if (x >> 16) {
		n += 16;
		x >>= 16;
	}
	if (x >> 8) {
		n += 8;
		x >>= 8;
	}
	if (x >> 4) {
		n += 4;
		x >>= 4;
	}
	if (x >> 2) {
		n += 2;
		x >>= 2;
	}
	if (x >> 1) {
		n += 1;
		x >>= 1;
	}
	return n + (int)x;
}

/* a b. Functions that are not static are verified once and not at each call. */
__noinline fx fx_mul(fx a, fx b)
{
	__u64 x = a < 0 ? -(__u64)a : (__u64)a, y = b < 0 ? -(__u64)b : (__u64)b;
	__u64 xh = x >> 32, xl = x & 0xffffffff, yh = y >> 32, yl = y & 0xffffffff;
	__u64 high = xh * yh, cross = xh * yl, low = xl * yl, sum;

	if (high >> 31)
		return (a < 0) != (b < 0) ? -FX_MAX : FX_MAX;
	sum = (high << 32) + cross;
	if (sum >> 63)
		return (a < 0) != (b < 0) ? -FX_MAX : FX_MAX;
	sum += xl * yh + (low >> 32) + ((low >> 31) & 1);
	if (sum >> 63)
		return (a < 0) != (b < 0) ? -FX_MAX : FX_MAX;
	return (a < 0) != (b < 0) ? -(fx)sum : (fx)sum;
}

/* a / b; FX_MAX for 0 / 0 too. */
__noinline fx fx_div(fx a, fx b)
{
	__u64 x = a < 0 ? -(__u64)a : (__u64)a, y = b < 0 ? -(__u64)b : (__u64)b;
	__u64 whole, rest, part;
	int shift;

	if (!y)
		return a < 0 ? -FX_MAX : FX_MAX;
	whole = x / y;
	rest = x % y;
	if (whole >> 31)
		return (a < 0) != (b < 0) ? -FX_MAX : FX_MAX;
	/* rest 2^32 / y, with the divisor truncated to 32 bits so that the dividend fits. */
	shift = bit_length(y) - 32;
	if (shift > 0)
		part = (rest << (32 - shift)) / (y >> shift);
	else
		part = (rest << 32) / y;
	whole = (whole << 32) + part;
	if (whole >> 63)
		return (a < 0) != (b < 0) ? -FX_MAX : FX_MAX;
	return (a < 0) != (b < 0) ? -(fx)whole : (fx)whole;
}

/* a n / d, with an absolute error of about a 2^-32. */
static __always_inline fx fx_muldiv(fx a, fx n, fx d)
{
	return fx_mul(a, fx_div(n, d));
}

/* A time in whole microseconds. */
static __always_inline fx fx_us(__u64 us)
{
	return us >> 31 ? FX_MAX : (fx)(us << FX_BITS);
}

/* The mean of n whole numbers; n is not 0. */
static __always_inline fx fx_mean(__u64 sum, __u32 n)
{
	return (fx)(((sum / n) << FX_BITS) + ((sum % n) << FX_BITS) / n);
}

/* The base-2 logarithm of x > 0. */
__noinline fx fx_log2(fx x)
{
	__u64 mantissa;
	fx result;
	int i, bits;

	if (x <= 0)
		return -FX_MAX;
	bits = bit_length((__u64)x);
	result = fx_from(bits - 1 - FX_BITS);
	/* The mantissa, 1 <= m < 2, with 31 fractional bits, so that its square fits. */
	mantissa = bits > 32 ? (__u64)x >> (bits - 32) : (__u64)x << (32 - bits);
	for (i = 1; i <= 31; i++) {
		mantissa = (mantissa * mantissa) >> 31;
		if (mantissa >> 32) {
			mantissa >>= 1;
			result += FX_ONE >> i;
		}
	}
	return result;
}

/* 2^x, by the Taylor series of e^(f ln 2) for the fractional part f. */
__noinline fx fx_exp2(fx x)
{
	__s64 whole = fx_floor(x);
	fx f = fx_mul(x - fx_from(whole), FX(0.6931471805599453)), term = FX_ONE, sum = FX_ONE;
	int i;

	if (whole >= 31)
		return FX_MAX;
	if (whole < -32)
		return 0;
	for (i = 1; i <= 12; i++) {
		term = fx_mul(term, f);
		term = (fx)((__u64)term / (__u64)i);
		sum += term;
	}
	return whole >= 0 ? sum << whole : sum >> -whole;
}

#endif
