/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Compound TCP with TUBE (K. Tan, J. Song, Q. Zhang, M. Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp):
 * crates/cc/src/compound.rs with the rules of the paper and the draft.
 */
#include "round_trip.h"

/* Growth of the window for each round trip is alpha times window^k. */
PARAM(alpha, 0.125);
PARAM(k, 0.75);
/* Fraction of the window given up on a loss. */
PARAM(beta, 0.5);
/* Factor of dwnd's decrease, times the segments in queues. */
PARAM(zeta, 1);
/* Initial threshold of segments in queues below which dwnd grows, and the limits of its tuning. */
PARAM(gamma, 30);
PARAM(gamma_low, 5);
PARAM(gamma_high, 30);
/* Fraction of the way to its target by which gamma moves at each loss; 0: gamma is fixed. */
PARAM(gamma_gain, 0.25);
/* Window below which dwnd is 0, segments. */
PARAM(low_window, 38);
/* Base of dwnd's growth: the segments sent in the last round trip, or dwnd itself. */
enum { WINDOW, DWND };
CHOICE(grow_from, WINDOW, DWND);
/* RTT used for a round trip. */
enum { MIN, MEAN };
CHOICE(rtt_filter, MIN, MEAN);
/* Spread the growth of dwnd over the next round trip. */
PARAM(spread, 1);
/* Forget the base RTT when sending resumes after an idle period. */
PARAM(forget_base, 0);

struct state {
	/* Sum of Reno's window and dwnd. */
	struct window win;
	fx dwnd;
	fx saved_dwnd;
	fx gamma;
	/* us; FX_MAX before the first sample. */
	fx base;
	struct round_trip round;
	/* Reno's window when the round began. */
	fx reno_at_start;
	/* Queue that Reno alone would cause, segments. */
	fx diff_reno;
	bool has_diff;
	/* Remaining growth of dwnd in this round trip, and growth for each segment acknowledged. */
	fx left;
	fx pace;
};

/* Reno's component of the window. */
static fx reno(const struct state *s)
{
	return s->win.w - s->dwnd;
}

/* Changes dwnd, and with it the window. */
static void add(struct state *s, fx segments)
{
	s->dwnd += segments;
	s->win.w += segments;
}

/* Increase of dwnd in a round trip at a window of w, less Reno's one segment. */
static fx increment(fx w)
{
	return fx_max(fx_mul(p_alpha, fx_exp2(fx_mul(p_k, fx_log2(w)))) - FX_ONE, 0);
}

/* Lowers the threshold, so that slow start does not regain the reduction of dwnd. */
static void keep_out_of_slow_start(struct state *s)
{
	s->win.ssthresh = fx_min(s->win.ssthresh, fx_max(s->win.w, FLOOR));
}

/* Segments in queues if `sent` segments were sent in a round trip of rtt us. */
static fx queued(const struct state *s, fx sent, fx rtt)
{
	return sent - fx_muldiv(sent, s->base, rtt);
}

static void grow_dwnd(struct state *s, fx segments)
{
	if (!p_spread) {
		add(s, segments);
	} else if (segments > 0) {
		s->left = segments;
		s->pace = fx_div(segments, s->win.w);
	}
}

/* Changes dwnd after a round with the measurements `round`, which began with Reno's window at reno_then. */
static void decide(struct state *s, const struct round_trip *round, fx reno_then)
{
	fx rtt = p_rtt_filter == FX(MIN) ? round->min : round_mean(round);
	/* Segments sent in the round: those that its ACKs report, at most one window. */
	fx sent = fx_min(round->acked, s->win.w), in_queues = queued(s, sent, rtt);

	s->diff_reno = queued(s, reno_then, rtt);
	s->has_diff = true;
	if (in_queues < s->gamma) {
		grow_dwnd(s, increment(p_grow_from == FX(WINDOW) ? sent : fx_max(s->dwnd, FX_ONE)));
	} else {
		add(s, fx_max(s->dwnd - fx_mul(p_zeta, in_queues), 0) - s->dwnd);
		keep_out_of_slow_start(s);
	}
}

static void end_round(struct state *s)
{
	struct round_trip round = s->round;
	fx reno_then = s->reno_at_start, rest = s->left;

	round_forget(&s->round);
	s->reno_at_start = reno(s);
	s->left = 0;
	add(s, rest);
	if (in_slow_start(&s->win))
		return;
	if (s->win.w < p_low_window) {
		/* Reno's window alone; a window already below the floor is not raised. */
		s->win.w = fx_max(reno(s), fx_min(FLOOR, s->win.w));
		s->dwnd = 0;
		keep_out_of_slow_start(s);
	} else if (round.samples >= MIN_SAMPLES) {
		decide(s, &round, reno_then);
	}
}

/* This ACK's share of the growth of dwnd. */
static void spread(struct state *s, fx n)
{
	fx share = fx_min(fx_mul(n, s->pace), s->left);

	if (s->left <= 0)
		return;
	s->left -= share;
	add(s, share);
}

/* Tunes gamma to the queue that Reno alone would have caused before a loss. */
static void tune(struct state *s)
{
	fx way;

	if (!s->has_diff)
		return;
	s->has_diff = false;
	if (p_gamma_gain <= 0)
		return;
	way = fx_mul(FX(0.75), s->diff_reno) - s->gamma;
	s->gamma = fx_clamp(s->gamma + fx_mul(way, p_gamma_gain), p_gamma_low, p_gamma_high);
}

/* Ends the round trip and its measurements at a loss or a timeout. */
static void interrupt(struct state *s)
{
	s->saved_dwnd = s->dwnd;
	tune(s);
	s->left = 0;
	round_forget(&s->round);
}

static void on_start(struct state *s, __u64 now)
{
	s->base = FX_MAX;
	s->gamma = p_gamma;
	s->reno_at_start = s->win.w;
	round_forget(&s->round);
}

static void on_ack(struct state *s, const struct ack *ack)
{
	fx n;

	if (ack->rtt >= 0)
		s->base = fx_min(s->base, ack->rtt);
	round_add(&s->round, ack);
	if (!may_grow(ack) || ack->acked <= 0) {
		/* A round trip in which something other than the window limited the flow is not used. */
		if (ack->round_start)
			round_forget(&s->round);
		return;
	}
	n = slow_start(&s->win, ack);
	if (n > 0) {
		grow_per_round(&s->win, n, FX_ONE);
		spread(s, n);
	}
	if (ack->round_start)
		end_round(s);
}

static void on_congestion(struct state *s, const struct signal *signal)
{
	fx half;

	interrupt(s);
	half = fx_half(reno(s));
	reduce_to(&s->win, fx_mul(FX_ONE - p_beta, s->win.w));
	s->dwnd = fx_max(s->win.w - half, 0);
}

static void on_timeout(struct state *s, const struct signal *signal)
{
	interrupt(s);
	time_out(&s->win, fx_half(s->win.w));
	s->dwnd = 0;
	s->gamma = p_gamma;
}

static void on_idle(struct state *s, __u64 now)
{
	idle(&s->win);
	s->dwnd = 0;
	s->left = 0;
	s->gamma = p_gamma;
	s->has_diff = false;
	round_forget(&s->round);
	if (p_forget_base)
		s->base = FX_MAX;
}

static void on_recovery_exit(struct state *s, __u64 now)
{
	round_forget(&s->round);
	s->has_diff = false;
	s->reno_at_start = reno(s);
}

static void on_undo(struct state *s)
{
	/* If the window has since grown beyond the saved window, dwnd is not restored. */
	if (undo(&s->win) && s->win.w <= s->win.saved_w)
		s->dwnd = s->saved_dwnd;
}

static void moderate(struct state *s, fx w)
{
	fx before = s->win.w, was = reno(s);

	moderate_window(&s->win, w);
	if (s->win.w >= before)
		return;
	s->left = 0;
	s->dwnd = fx_max(s->win.w - fx_muldiv(was, s->win.w, before), 0);
}

#define INTERNALS(variable) \
	variable(dwnd, s->dwnd) \
	variable(gamma, s->gamma) \
	variable(diff_reno, s->has_diff ? s->diff_reno : 0) \
	variable(base_us, s->base)

#include "hooks.h"

ALGORITHM;
