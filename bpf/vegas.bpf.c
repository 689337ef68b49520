/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP Vegas (L. Brakmo, L. Peterson, JSAC 13(8), 1995): crates/cc/src/vegas.rs with the arithmetic of the paper, of
 * ns-2 or of Linux.
 */
#include "elephan.h"

/* Thresholds of segments in queues: the window grows below alpha, shrinks above beta; slow start ends above gamma. */
PARAM(alpha, 2);
PARAM(beta, 4);
PARAM(gamma, 1);
/* Formula of segments in queues: w (1 - base/rtt), the same rounded, or w (rtt - base)/base truncated. */
enum { PAPER, NS2, LINUX };
CHOICE(diff, PAPER, LINUX);
/* RTT used for a round. */
enum { MIN, MEAN };
CHOICE(round_rtt, MEAN, MEAN);
/* Smallest number of samples of a round; with fewer the flow behaves as standard TCP for one ACK. */
PARAM(samples_min, 1);
/* Double the window every other round trip of slow start and measure in between. */
PARAM(double_every_other, 1);
/* Spread an increase over the next round. */
PARAM(spread_increase, 0);
/* Fraction of the window given up on a loss. */
PARAM(decrease, 0.25);
/* Window after a timeout, segments. */
PARAM(timeout_window, 1);
/* Forget the base RTT when sending resumes after an idle period. */
PARAM(forget_base, 0);

struct state {
	struct window win;
	/* us; FX_MAX before the first sample. */
	fx base;
	fx rtt_min;
	/* Whole us. */
	__u64 rtt_sum;
	__u32 samples;
	bool slow_starting;
	/* True in a round of slow start in which the window grows, false in one that measures. */
	bool growing;
	/* False from a timeout to the end of its recovery, during which standard slow start applies. */
	bool enabled;
	bool saved_slow_starting;
	/* Growth for each segment acknowledged, while an increase is spread. */
	fx per_ack;
};

/* A real number of segments, rounded down. */
static fx whole(fx x)
{
	return fx_from(fx_floor(x));
}

/* Segments of this flow in queues. */
static fx diff(const struct state *s, fx rtt)
{
	fx queued = s->win.w - fx_muldiv(s->win.w, s->base, rtt);

	if (p_diff == FX(NS2))
		return whole(queued + FX(0.5));
	if (p_diff == FX(LINUX))
		return whole(fx_muldiv(s->win.w, rtt - s->base, s->base));
	return queued;
}

/* Lowers the window, but not below the floor; a window already below the floor is not raised. */
static void lower_to(struct state *s, fx w)
{
	s->win.w = fx_max(w, fx_min(FLOOR, s->win.w));
}

static void leave_slow_start(struct state *s)
{
	s->slow_starting = false;
	s->growing = false;
	s->per_ack = 0;
}

/* Lowers the threshold to the window, so that a lowered window does not cause slow start. */
static void lower_threshold(struct state *s)
{
	s->win.ssthresh = fx_min(s->win.ssthresh, s->win.w);
}

static void forget_round(struct state *s)
{
	s->samples = 0;
	s->rtt_sum = 0;
	s->rtt_min = FX_MAX;
}

static void round_in_slow_start(struct state *s, fx rtt)
{
	bool measured = !p_double_every_other || !s->growing;
	fx w = s->win.w;

	if (measured && diff(s, rtt) > p_gamma) {
		leave_slow_start(s);
		if (p_diff == FX(LINUX))
			lower_to(s, fx_min(w, whole(fx_muldiv(w, s->base, rtt)) + FX_ONE));
		else
			lower_to(s, w - (w >> 3));
		lower_threshold(s);
	} else if (p_double_every_other) {
		s->growing = !s->growing;
	}
}

static void round_in_avoidance(struct state *s, fx rtt, bool grow)
{
	fx queued = diff(s, rtt);

	s->per_ack = 0;
	if (queued > p_beta) {
		lower_to(s, s->win.w - FX_ONE);
		lower_threshold(s);
	} else if (queued < p_alpha) {
		if (p_spread_increase)
			s->per_ack = fx_div(FX_ONE, s->win.w);
		else if (grow)
			s->win.w += FX_ONE;
	}
}

/* Changes the window at the end of a round, which this ACK ends. */
static void end_round(struct state *s, const struct ack *ack)
{
	if (s->samples && fx_from(s->samples) >= p_samples_min) {
		fx rtt = p_round_rtt == FX(MEAN) ? fx_mean(s->rtt_sum, s->samples) : s->rtt_min;

		if (s->slow_starting)
			round_in_slow_start(s, rtt);
		else
			round_in_avoidance(s, rtt, may_grow(ack));
		/* Linux keeps the threshold at three quarters of the window. */
		if (p_diff == FX(LINUX))
			s->win.ssthresh = fx_max(s->win.ssthresh, s->win.w - (s->win.w >> 2));
	} else if (!s->slow_starting && may_grow(ack)) {
		s->win.w += fx_div(ack->acked, s->win.w);
	}
	forget_round(s);
}

static void on_start(struct state *s, __u64 now)
{
	s->base = FX_MAX;
	s->growing = true;
	s->enabled = true;
	s->slow_starting = s->win.w < s->win.ssthresh;
	forget_round(s);
}

static void on_ack(struct state *s, const struct ack *ack)
{
	if (ack->rtt >= 0)
		s->base = fx_min(s->base, ack->rtt);
	if (ack->in_recovery)
		return;
	if (ack->rtt >= 0) {
		s->samples++;
		s->rtt_sum += (__u64)fx_floor(ack->rtt);
		s->rtt_min = fx_min(s->rtt_min, ack->rtt);
	}
	/* The ACK that starts a round acknowledges a segment of the previous round. */
	if (ack->round_start && s->enabled)
		end_round(s, ack);
	if (!ack->window_limited)
		return;
	if (s->slow_starting) {
		if (s->growing || !s->enabled)
			s->win.w = fx_min(s->win.w + ack->acked, s->win.ssthresh);
		if (s->win.w >= s->win.ssthresh)
			leave_slow_start(s);
	} else if (s->per_ack > 0) {
		s->win.w += fx_mul(s->per_ack, ack->acked);
	}
}

static void reduce(struct state *s)
{
	fx given_up = fx_mul(p_decrease, s->win.w);

	save(&s->win);
	s->saved_slow_starting = s->slow_starting;
	/* Linux rounds the remaining window down (tcp_reno_ssthresh); the other forms round the decrease down. */
	if (p_diff == FX(LINUX))
		given_up += FX(1) - 1;
	s->win.ssthresh = fx_max(s->win.w - whole(given_up), FLOOR);
	leave_slow_start(s);
	forget_round(s);
}

static void on_congestion(struct state *s, const struct signal *signal)
{
	reduce(s);
	s->win.w = s->win.ssthresh;
	s->enabled = true;
}

static void on_timeout(struct state *s, const struct signal *signal)
{
	fx half = fx_half(s->win.w);

	if (p_diff == FX(LINUX))
		half = whole(half);
	reduce(s);
	s->win.ssthresh = fx_max(half, FLOOR);
	s->win.w = p_timeout_window;
	s->slow_starting = s->win.w < s->win.ssthresh;
	s->growing = true;
	s->enabled = p_diff != FX(LINUX);
}

static void on_idle(struct state *s, __u64 now)
{
	idle(&s->win);
	s->per_ack = 0;
	forget_round(s);
	if (p_forget_base)
		s->base = FX_MAX;
}

static void on_recovery_exit(struct state *s, __u64 now)
{
	s->enabled = true;
	forget_round(s);
}

static void on_undo(struct state *s)
{
	if (undo(&s->win))
		s->slow_starting = s->saved_slow_starting && s->win.w < s->win.ssthresh;
	/* The timeout ends any recovery. */
	s->enabled = true;
	forget_round(s);
}

static void moderate(struct state *s, fx w)
{
	if (w >= s->win.w)
		return;
	moderate_window(&s->win, w);
	s->slow_starting = s->win.w < s->win.ssthresh;
	s->growing = true;
}

#define INTERNALS(variable) \
	variable(base_us, s->base) \
	variable(slow_starting, s->slow_starting ? FX_ONE : 0) \
	variable(samples, fx_from(s->samples))

#include "hooks.h"

ALGORITHM;
