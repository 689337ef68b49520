/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Evaluates operations from standard input: each line has a name and two numbers in units of 2^-32. */
#include "kernel.h"
#include "fixed.h"

#include <stdio.h>

int main(void)
{
	char name[16];
	long long a, b;

	while (scanf("%15s %lld %lld", name, &a, &b) == 3) {
		fx result = 0;

		if (!strcmp(name, "mul"))
			result = fx_mul(a, b);
		else if (!strcmp(name, "div"))
			result = fx_div(a, b);
		else if (!strcmp(name, "log2"))
			result = fx_log2(a);
		else if (!strcmp(name, "exp2"))
			result = fx_exp2(a);
		else if (!strcmp(name, "mean"))
			result = fx_mean((__u64)a, (__u32)b);
		printf("%lld\n", result);
	}
	return 0;
}
