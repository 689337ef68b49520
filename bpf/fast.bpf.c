/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * FAST TCP (C. Jin, D. Wei, S. Low, INFOCOM 2004; Wei et al., ToN 14(6), 2006): crates/cc/src/fast.rs with the papers'
 * update. The kernel does the recovery; FAST's own window applies again afterwards.
 */
#include "elephan.h"

/* Segments that the flow keeps in queues. */
PARAM(alpha, 200);
/* Fraction of the way to the target covered by one update. */
PARAM(gamma, 0.5);
/* Averaged queueing delay below which the window doubles each round trip, us. */
PARAM(mi_threshold, 750);
/* Round trips between two updates, 1 or 2. */
PARAM(update_every, 2);
/* Largest weight of a new RTT sample in the average. */
PARAM(filter_max, 0.25);
/* Round-trip time of the empty path, us, if known; 0: the smallest RTT of this flow. */
PARAM(known_rtt, 0);
/* Fraction of the window given up on a loss. */
PARAM(decrease, 0.5);

/* Weight of a sample, times the window: 3/w. */
#define FILTER_SEGMENTS FX(3)

struct state {
	struct window win;
	/* Smallest RTT seen, us. */
	fx base;
	/* Averaged RTT, us; 0 before the first sample. */
	fx avg;
	/* Increase not yet added to the window, and the amount added for each acknowledged segment. */
	fx pending;
	fx per_ack;
	bool update_round;
};

static void measure(struct state *s, fx rtt)
{
	fx gain;

	s->base = fx_min(s->base, rtt);
	if (s->avg == 0) {
		s->avg = rtt;
		return;
	}
	gain = fx_min(fx_div(FILTER_SEGMENTS, s->win.w), p_filter_max);
	s->avg += fx_mul(gain, rtt - s->avg);
}

static void release(struct state *s, fx segments)
{
	fx step = fx_min(segments, s->pending);

	s->win.w += step;
	s->pending -= step;
}

/* The papers' update, at the start of a round. */
static void update(struct state *s)
{
	fx w = s->win.w, target;

	s->update_round = p_update_every == FX_ONE || !s->update_round;
	if (!s->update_round)
		return;
	target = fx_mul(FX_ONE - p_gamma, w) + fx_mul(p_gamma, fx_muldiv(w, s->base, s->avg) + p_alpha);
	target = fx_max(fx_min(target, 2 * w), FLOOR);
	if (target > w) {
		s->pending = target - w;
		s->per_ack = fx_div(s->pending, w);
	} else {
		s->win.w = target;
	}
}

static void forget_round(struct state *s)
{
	s->pending = 0;
	s->update_round = false;
}

static void on_start(struct state *s, __u64 now)
{
	s->base = p_known_rtt > 0 ? p_known_rtt : FX_MAX;
}

static void on_ack(struct state *s, const struct ack *ack)
{
	if (ack->rtt < 0)
		return;
	measure(s, ack->rtt);
	if (ack->in_recovery)
		return;
	if (s->avg - s->base < p_mi_threshold) {
		s->pending = 0;
		if (ack->window_limited)
			s->win.w += ack->acked;
		return;
	}
	if (ack->round_start) {
		/* The rest of the last round's increase is added now, or dropped if the window was not used. */
		if (ack->window_limited)
			release(s, FX_MAX);
		s->pending = 0;
		update(s);
	}
	if (ack->window_limited)
		release(s, fx_mul(s->per_ack, ack->acked));
}

static void reduce(struct state *s, fx w)
{
	save(&s->win);
	s->win.ssthresh = fx_max(fx_mul(FX_ONE - p_decrease, s->win.w), FLOOR);
	s->win.w = fx_max(w, FLOOR);
	forget_round(s);
}

static void on_congestion(struct state *s, const struct signal *signal)
{
	reduce(s, fx_mul(FX_ONE - p_decrease, s->win.w));
}

static void on_timeout(struct state *s, const struct signal *signal)
{
	reduce(s, FLOOR);
}

static void on_idle(struct state *s, __u64 now)
{
	idle(&s->win);
	forget_round(s);
}

static void on_recovery_exit(struct state *s, __u64 now)
{
	forget_round(s);
}

WINDOW_UNDO

static void moderate(struct state *s, fx w)
{
	if (w >= s->win.w)
		return;
	moderate_window(&s->win, w);
	/* An increase decided at a larger window does not apply to this one. */
	s->pending = 0;
}

#define INTERNALS(variable) \
	variable(base_us, s->base) \
	variable(avg_us, s->avg) \
	variable(pending, s->pending)

#include "hooks.h"

ALGORITHM;
