/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP-Fusion (K. Kaneko, T. Fujikawa, Z. Su, J. Katto, PFLDnet 2007): crates/cc/src/fusion.rs.
 */
#include "round_trip.h"

/* Queueing delay below which the window grows, us; it shrinks above three times this delay. */
PARAM(queue_delay, 4000);
/* Time that gives the growth for each round trip when multiplied by the bandwidth, us. */
PARAM(growth_delay, 1000);
/* Flows that share the growth (N). */
PARAM(flows, 1);
/* Smallest threshold, in own segments in queues. */
PARAM(queue_min, 1);
/* Virtual Reno window after a loss: half of the window before it, or the window after it. */
enum { HALF, REDUCED };
CHOICE(reno_reset, HALF, REDUCED);
/* RTT used for a round trip. */
enum { MIN, MEAN };
CHOICE(rtt_statistic, MIN, MEAN);
/* Smallest fraction of the window kept on a loss. */
PARAM(keep_min, 0.5);
/* Weight of the past in the bandwidth estimate. */
PARAM(filter_pole, 0.9);

/* Ratio of the upper to the lower threshold on the queue. */
#define HOLD_RATIO 3

struct state {
	struct window win;
	/* The virtual Reno window, segments. */
	fx reno;
	fx saved_reno;
	/* us; FX_MAX before the first sample. */
	fx base;
	/* RTT of the newest sample, us; 0 while unknown. */
	fx rtt;
	struct round_trip round;
	struct acked_rate rate;
	/* Change of the window for each segment acknowledged. */
	fx per_segment;
};

/* Change of the window, segments a round trip, at an RTT of rtt us. */
static fx change(const struct state *s, fx rtt)
{
	fx w = s->win.w, queued = fx_muldiv(w, rtt - s->base, rtt);
	fx threshold = fx_max(fx_muldiv(w, p_queue_delay, rtt), p_queue_min);

	if (queued < threshold)
		return fx_div(fx_muldiv(s->rate.rate, p_growth_delay, US_PER_S), p_flows);
	return queued <= HOLD_RATIO * threshold ? 0 : threshold - queued;
}

static void end_round(struct state *s)
{
	fx by = FX_ONE;

	if (s->round.samples >= MIN_SAMPLES)
		by = change(s, p_rtt_statistic == FX(MIN) ? s->round.min : round_mean(&s->round));
	round_forget(&s->round);
	s->per_segment = fx_min(fx_div(by, s->win.w), FX_ONE);
}

static void forget_round(struct state *s)
{
	round_forget(&s->round);
	s->per_segment = 0;
}

/* Window kept on a loss: the window without the flow's share of the queue. */
static fx keep(const struct state *s)
{
	return s->rtt > 0 ? fx_clamp(fx_div(s->base, s->rtt), p_keep_min, FX_ONE) : p_keep_min;
}

static void on_start(struct state *s, __u64 now)
{
	s->base = FX_MAX;
	s->reno = s->win.w;
	s->saved_reno = FX_ONE;
	round_forget(&s->round);
	rate_restart(&s->rate, now);
}

static void on_ack(struct state *s, const struct ack *ack)
{
	fx n;

	rate_add(&s->rate, ack, p_filter_pole);
	if (ack->rtt >= 0) {
		s->base = fx_min(s->base, ack->rtt);
		s->rtt = ack->rtt;
	}
	round_add(&s->round, ack);
	if (ack->round_start && !ack->in_recovery)
		end_round(s);
	if (in_slow_start(&s->win)) {
		/* Segments of this ACK beyond the threshold are not counted; congestion avoidance begins with the next ACK. */
		slow_start(&s->win, ack);
		s->reno = s->win.w;
		return;
	}
	n = slow_start(&s->win, ack);
	if (n <= 0)
		return;
	s->reno += fx_div(n, s->reno);
	s->win.w = fx_max(fx_max(s->win.w + fx_mul(n, s->per_segment), s->reno), FLOOR);
	/* Slow start must not regain the reduction. */
	s->win.ssthresh = fx_min(s->win.ssthresh, s->win.w);
}

static void on_congestion(struct state *s, const struct signal *signal)
{
	fx before = s->win.w;

	reduce_to(&s->win, fx_min(fx_mul(keep(s), before), before));
	s->saved_reno = s->reno;
	s->reno = p_reno_reset == FX(HALF) ? fx_min(fx_max(fx_half(before), FLOOR), s->win.w) : s->win.w;
	forget_round(s);
}

static void on_timeout(struct state *s, const struct signal *signal)
{
	time_out(&s->win, fx_half(s->win.w));
	s->saved_reno = s->reno;
	s->reno = FX_ONE;
	forget_round(s);
}

static void on_idle(struct state *s, __u64 now)
{
	idle(&s->win);
	s->reno = s->win.w;
	forget_round(s);
	rate_restart(&s->rate, now);
}

static void on_recovery_exit(struct state *s, __u64 now)
{
	forget_round(s);
}

static void on_undo(struct state *s)
{
	if (undo(&s->win))
		s->reno = fx_max(s->saved_reno, s->reno);
}

static void moderate(struct state *s, fx w)
{
	moderate_window(&s->win, w);
	s->reno = fx_min(s->reno, s->win.w);
}

#define INTERNALS(variable) \
	variable(reno, s->reno) \
	variable(base_us, s->base) \
	variable(rate, s->rate.rate) \
	variable(per_segment, s->per_segment)

#include "hooks.h"

ALGORITHM;
