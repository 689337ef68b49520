/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * YeAH-TCP (A. Baiocchi, A. Castellani, F. Vacirca, PFLDnet 2007): crates/cc/src/yeah.rs in real numbers.
 */
#include "round_trip.h"

/* Largest number of segments in queues. */
PARAM(q_max, 80);
/* Divisor of the queue in an early decrease. */
PARAM(gamma, 1);
/* Smallest fraction of the window given up on a loss, and largest fraction in an early decrease. */
PARAM(loss_min, 0.125);
PARAM(early_max, 0.5);
/* Largest queueing delay, as a fraction of the base RTT. */
PARAM(delay_max, 0.125);
/* Round trips of slow mode in a row that indicate competition with a Reno flow. */
PARAM(rho, 16);
/* Round trips of fast mode after which a Reno flow is forgotten. */
PARAM(zeta, 50);
/* Segments acknowledged for each segment of growth in fast mode, at windows above this number. */
PARAM(stcp_count, 100);
/* Forget the base RTT when sending resumes after an idle period. */
PARAM(forget_base, 0);

struct state {
	struct window win;
	/* us. */
	fx base;
	struct round_trip round;
	bool due;
	/* Segments in queues in the last complete round. */
	fx q;
	/* Round trips of slow mode in a row; 0 is fast mode. */
	fx slow;
	fx fast_count;
	/* Window of a Reno flow that may be competing, segments. */
	fx reno_count;
};

/* Early decrease: empties the queue before it overflows. */
static void decongest(struct state *s, fx q)
{
	fx w = s->win.w, cut = fx_min(fx_div(q, p_gamma), fx_mul(w, p_early_max));

	/* The window does not fall below the floor; a window already below the floor is not raised. */
	s->win.w = fx_min(fx_max(fx_max(w - cut, s->reno_count), FLOOR), w);
	s->win.ssthresh = fx_max(s->win.w, FLOOR);
}

/* Updates the mode at the end of a round, which this ACK ends. */
static void end_round(struct state *s)
{
	struct round_trip round = s->round;
	fx q, waited;

	round_forget(&s->round);
	s->due = false;
	if (round.samples < MIN_SAMPLES)
		return;
	waited = round.min - s->base;
	q = fx_muldiv(s->win.w, waited, round.min);
	if (q > p_q_max || waited > fx_mul(p_delay_max, s->base)) {
		if (q > p_q_max && s->win.w > s->reno_count)
			decongest(s, q);
		if (s->reno_count <= FLOOR)
			s->reno_count = fx_max(fx_half(s->win.w), FLOOR);
		else
			s->reno_count += FX_ONE;
		s->slow += FX_ONE;
	} else {
		s->fast_count += FX_ONE;
		if (s->fast_count > p_zeta) {
			s->reno_count = FLOOR;
			s->fast_count = 0;
		}
		s->slow = 0;
	}
	s->q = q;
}

/* Window after a loss. */
static fx reduced(struct state *s)
{
	fx w = s->win.w, half = fx_max(fx_half(w), FLOOR);
	fx cut = s->slow < p_rho ? fx_max(fx_min(s->q, half), fx_mul(w, p_loss_min)) : half;

	s->fast_count = 0;
	s->reno_count = fx_max(fx_half(s->reno_count), FLOOR);
	return w - cut;
}

static void on_start(struct state *s, __u64 now)
{
	s->base = FX_MAX;
	s->reno_count = FLOOR;
	round_forget(&s->round);
}

static void on_ack(struct state *s, const struct ack *ack)
{
	fx n;

	if (ack->rtt >= 0)
		s->base = fx_min(s->base, ack->rtt);
	round_add(&s->round, ack);
	if (ack->round_start)
		s->due = true;
	n = slow_start(&s->win, ack);
	if (n > 0)
		s->win.w += fx_div(n, s->slow == 0 ? fx_min(s->win.w, p_stcp_count) : s->win.w);
	if (s->due && may_grow(ack))
		end_round(s);
}

static void on_congestion(struct state *s, const struct signal *signal)
{
	reduce_to(&s->win, reduced(s));
}

static void on_timeout(struct state *s, const struct signal *signal)
{
	time_out(&s->win, reduced(s));
	round_forget(&s->round);
}

static void on_idle(struct state *s, __u64 now)
{
	idle(&s->win);
	round_forget(&s->round);
	if (p_forget_base)
		s->base = FX_MAX;
}

static void on_recovery_exit(struct state *s, __u64 now)
{
	round_forget(&s->round);
	s->due = false;
}

WINDOW_UNDO
WINDOW_METHODS

#define INTERNALS(variable) \
	variable(q, s->q) \
	variable(slow, s->slow) \
	variable(fast_count, s->fast_count) \
	variable(reno_count, s->reno_count) \
	variable(base_us, s->base)

#include "hooks.h"

ALGORITHM;
