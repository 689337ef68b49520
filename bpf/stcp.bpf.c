/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Scalable TCP (T. Kelly, CCR 33(2), 2003): crates/cc/src/stcp.rs in real numbers.
 */
#include "elephan.h"

/* Growth for each segment acknowledged (a), segments. */
PARAM(increase, 0.01);
/* Fraction of the window given up on a loss (b). */
PARAM(decrease, 0.125);
/* Largest window at which standard TCP's rules apply (lwnd), segments. */
PARAM(legacy_window, 16);

struct state {
	struct window win;
};

static void on_start(struct state *s, __u64 now)
{
}

static void on_ack(struct state *s, const struct ack *ack)
{
	fx n = slow_start(&s->win, ack);

	if (n <= 0)
		return;
	if (s->win.w <= p_legacy_window)
		grow_per_round(&s->win, n, FX_ONE);
	else
		s->win.w += fx_mul(n, p_increase);
}

static fx reduced(const struct state *s)
{
	if (s->win.w <= p_legacy_window)
		return fx_half(s->win.w);
	return s->win.w - fx_mul(s->win.w, p_decrease);
}

WINDOW_CUTS
WINDOW_IDLE
NO_RECOVERY_EXIT
WINDOW_UNDO
WINDOW_METHODS

#define INTERNALS(variable)

#include "hooks.h"

ALGORITHM;
