/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP Westwood+ (L. A. Grieco, S. Mascolo, CCR 2004): crates/cc/src/westwood.rs in real numbers; a loss sets
 * the window at once.
 */
#include "elephan.h"

/* Smoothing of the bandwidth samples: once with `pole`, or twice with 7/8. */
enum { SINGLE, TWICE };
CHOICE(filter, SINGLE, TWICE);
PARAM(pole, 0.9);
/* Shortest time over which bandwidth is sampled, us; otherwise one RTT. */
PARAM(sample_min, 50000);
/* Set the threshold to the estimate at a timeout; off: to half of the window. */
PARAM(estimate_on_timeout, 1);
/* Forget the smallest RTT at a timeout. */
PARAM(relearn_rtt, 0);

#define US_PER_S FX(1000000)

struct state {
	struct window win;
	/* Smoothed once and twice, segments/s. */
	fx y1;
	fx bwe;
	/* Current sample: segments delivered, and its start, us. */
	fx bk;
	__u64 t0;
	/* us; FX_MAX before the first sample. */
	fx rtt_min;
	bool sampled;
	bool relearn;
};

/* Takes one sample of bandwidth into the filter. */
static void filter(struct state *s, fx sample)
{
	if (!s->sampled || (s->y1 == 0 && s->bwe == 0)) {
		s->sampled = true;
		s->y1 = sample;
		s->bwe = sample;
	} else if (p_filter == FX(TWICE)) {
		s->y1 = (7 * s->y1 + sample) >> 3;
		s->bwe = (7 * s->bwe + s->y1) >> 3;
	} else {
		s->bwe = fx_mul(p_pole, s->bwe) + fx_mul(FX_ONE - p_pole, sample);
	}
}

static void measure(struct state *s, const struct ack *ack)
{
	fx elapsed = fx_us(ack->now - s->t0);

	if (ack->rtt < 0)
		return;
	if (ack->rtt > 0 && elapsed > fx_max(ack->rtt, p_sample_min)) {
		filter(s, fx_muldiv(s->bk, US_PER_S, elapsed));
		s->bk = 0;
		s->t0 = ack->now;
	}
	s->bk += ack->acked;
	s->rtt_min = s->relearn ? ack->rtt : fx_min(s->rtt_min, ack->rtt);
	s->relearn = false;
}

/* Estimated bandwidth times the smallest RTT, segments; half of the window before the first measurement. */
static fx estimate(const struct state *s)
{
	if (s->rtt_min == FX_MAX || !s->sampled)
		return fx_half(s->win.w);
	return fx_max(fx_muldiv(s->bwe, s->rtt_min, US_PER_S), FLOOR);
}

static void on_start(struct state *s, __u64 now)
{
	s->rtt_min = FX_MAX;
	s->t0 = now;
}

static void on_ack(struct state *s, const struct ack *ack)
{
	fx n;

	measure(s, ack);
	n = slow_start(&s->win, ack);
	if (n > 0)
		grow_per_round(&s->win, n, FX_ONE);
}

static void on_congestion(struct state *s, const struct signal *signal)
{
	reduce_to(&s->win, fx_min(estimate(s), s->win.w));
}

static void on_timeout(struct state *s, const struct signal *signal)
{
	time_out(&s->win, p_estimate_on_timeout ? fx_min(estimate(s), s->win.w) : fx_half(s->win.w));
	s->relearn = p_relearn_rtt != 0;
}

static void on_idle(struct state *s, __u64 now)
{
	idle(&s->win);
	/* The sample that spans the idle period is discarded. */
	s->bk = 0;
	s->t0 = now;
}

NO_RECOVERY_EXIT
WINDOW_UNDO
WINDOW_METHODS

#define INTERNALS(variable) \
	variable(bwe, s->bwe) \
	variable(rtt_min_us, s->rtt_min)

#include "hooks.h"

ALGORITHM;
