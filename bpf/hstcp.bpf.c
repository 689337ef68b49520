/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * HighSpeed TCP (RFC 3649): crates/cc/src/hstcp.rs, the closed form of section 5.
 *
 * All logarithms have base two. The parameters have the logarithms of the loss rates at both ends.
 */
#include "elephan.h"

/* Largest window at which standard TCP's rules apply (Low_Window), segments. */
PARAM(low_window, 38);
/* Upper end of the response function (High_Window), segments. */
PARAM(high_window, 83000);
/* Base-2 logarithms of the loss rates at both ends: 10^-3 and 10^-7. */
PARAM(log2_low_p, -9.965784284662087);
PARAM(log2_high_p, -23.253496664211536);
/* Decrease at high_window (High_Decrease). */
PARAM(high_decrease, 0.1);
/* Smallest decrease. */
PARAM(min_decrease, 0.1);

struct state {
	struct window win;
	/* Last computed a(w), valid while the window is within these limits. */
	fx a;
	fx fresh_from;
	fx fresh_to;
};

/* Position of log w between log low_window (0) and log high_window (1). */
static fx x(fx w)
{
	fx low = fx_log2(p_low_window);

	return fx_div(fx_log2(w) - low, fx_log2(p_high_window) - low);
}

/* b(w) (RFC 3649 section 5). */
static fx b(fx w)
{
	if (w <= p_low_window)
		return fx_half(FX_ONE);
	return fx_max(FX(0.5) + fx_mul(p_high_decrease - FX(0.5), x(w)), p_min_decrease);
}

/* a(w) (RFC 3649 section 5): w^2 p(w) 2 b / (2 - b). */
static fx a(fx w)
{
	fx log2_p, of_b;

	if (w <= p_low_window)
		return FX_ONE;
	log2_p = p_log2_low_p + fx_mul(x(w), p_log2_high_p - p_log2_low_p);
	of_b = fx_div(2 * b(w), FX(2) - b(w));
	return fx_max(fx_exp2(2 * fx_log2(w) + log2_p + fx_log2(of_b)), FX_ONE);
}

static void on_start(struct state *s, __u64 now)
{
	s->a = FX_ONE;
	s->fresh_from = FX_MAX;
}

static void on_ack(struct state *s, const struct ack *ack)
{
	fx n = slow_start(&s->win, ack);

	if (n <= 0)
		return;
	if (s->win.w < s->fresh_from || s->win.w > s->fresh_to) {
		s->a = a(s->win.w);
		s->fresh_from = s->win.w;
		s->fresh_to = fx_mul(s->win.w, FX(1.001));
	}
	grow_per_round(&s->win, n, s->a);
}

static fx reduced(const struct state *s)
{
	return fx_mul(FX_ONE - b(s->win.w), s->win.w);
}

WINDOW_CUTS
WINDOW_IDLE
NO_RECOVERY_EXIT
WINDOW_UNDO
WINDOW_METHODS

#define INTERNALS(variable) \
	variable(a, s->a)

#include "hooks.h"

ALGORITHM;
