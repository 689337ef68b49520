/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP Adaptive Reno (H. Shimonishi, T. Hama, T. Murase, PFLDnet 2006): crates/cc/src/areno.rs.
 */
#include "round_trip.h"

/* Bandwidth for which the probe window grows by one segment a round trip (M), bit/s. */
PARAM(bandwidth_unit, 10e6);
/* Steepness of the increase's fall with the congestion level (alpha). */
PARAM(steepness, 10);
/* Weight of the past in the RTT at which losses happen. */
PARAM(history, 0.85);
/* Increase of the probe window for each round trip at full congestion, besides Reno's own, segments. */
PARAM(increase_constant, 0);
/* RTT that shows congestion: the mean of the last round trip, or the last sample. */
enum { MEAN, LAST };
CHOICE(rtt_source, MEAN, LAST);
/* First step on a loss: update the RTT at which losses happen, or compute the level with that of earlier losses. */
enum { UPDATE_FIRST, LEVEL_FIRST };
CHOICE(loss_order, UPDATE_FIRST, LEVEL_FIRST);
/* Grow the probe window before the first loss, while no RTT of a loss is known. */
PARAM(probe_at_first, 1);
/* Weight of the past in the bandwidth estimate. */
PARAM(filter_pole, 0.9);

#define LOG2_E FX(1.4426950408889634)

struct state {
	/* Sum of Reno's window and the probe window. */
	struct window win;
	fx probe;
	/* us; FX_MAX before the first sample. */
	fx base;
	/* RTT at which losses happen, RTT that shows congestion, last sample outside recovery, us; 0 while unknown. */
	fx congested;
	fx rtt;
	fx last_rtt;
	struct round_trip round;
	struct acked_rate rate;
	/* Increase of the probe window, segments a round trip. */
	fx increase;
	fx saved_probe;
};

/* e^-x. */
static fx exp_minus(fx x)
{
	return fx_exp2(-fx_mul(x, LOG2_E));
}

/*
 * Increase of the probe window at the congestion level c (0 to 1), segments a round trip (W_inc). At c = 1 the increase
 * is increase_constant, and so is its integral from 0 to 1. `most` scales the exponential term.
 */
static fx probe_increase(fx c, fx most)
{
	fx a = p_steepness, inverse = fx_div(FX_ONE, a), end = exp_minus(a);
	fx beta = fx_mul(2 * most, inverse - fx_mul(inverse + FX_ONE, end));
	fx gamma = p_increase_constant - fx_mul(2 * most, inverse - fx_mul(inverse + FX(0.5), end));

	return fx_mul(most, exp_minus(fx_mul(a, c))) + fx_mul(beta, c) + gamma;
}

/* Congestion level, 0 to 1, that an RTT shows. */
static fx level(const struct state *s, fx rtt)
{
	if (s->congested == 0)
		return p_probe_at_first ? 0 : FX_ONE;
	if (s->congested <= s->base)
		return rtt > s->base ? FX_ONE : 0;
	return fx_clamp(fx_div(rtt - s->base, s->congested - s->base), 0, FX_ONE);
}

static void update_increase(struct state *s, fx rtt)
{
	fx per_unit = fx_div(fx_from(8 * s->win.segment_bytes), p_bandwidth_unit);

	s->rtt = rtt;
	s->increase = probe_increase(level(s, rtt), fx_mul(s->rate.rate, per_unit));
}

static void measure(struct state *s, const struct ack *ack)
{
	rate_add(&s->rate, ack, p_filter_pole);
	round_add(&s->round, ack);
	if (ack->rtt >= 0) {
		s->base = fx_min(s->base, ack->rtt);
		if (!ack->in_recovery)
			s->last_rtt = ack->rtt;
	}
	if (ack->round_start) {
		if (s->round.samples)
			update_increase(s, p_rtt_source == FX(MEAN) ? round_mean(&s->round) : s->last_rtt);
		round_forget(&s->round);
	} else if (p_rtt_source == FX(LAST) && ack->rtt >= 0) {
		update_increase(s, ack->rtt);
	}
}

/* Congestion level at a loss; also updates the RTT at which losses happen. */
static fx level_at_loss(struct state *s)
{
	fx rtt = s->last_rtt, before = level(s, rtt);

	if (rtt > 0) {
		if (s->congested == 0)
			s->congested = rtt;
		else
			s->congested = fx_mul(p_history, s->congested) + fx_mul(FX_ONE - p_history, rtt);
	}
	return p_loss_order == FX(LEVEL_FIRST) ? before : level(s, rtt);
}

static void give_up_probe(struct state *s)
{
	s->saved_probe = s->probe;
	s->probe = 0;
}

static void on_start(struct state *s, __u64 now)
{
	s->base = FX_MAX;
	round_forget(&s->round);
	rate_restart(&s->rate, now);
}

static void on_ack(struct state *s, const struct ack *ack)
{
	fx n, w, probe;

	measure(s, ack);
	n = slow_start(&s->win, ack);
	if (n <= 0)
		return;
	w = s->win.w;
	probe = fx_max(s->probe + fx_muldiv(n, fx_min(s->increase, w - FX_ONE), w), 0);
	/* The probe window does not fall below 0, so it never takes away from Reno's window. */
	s->win.w += fx_div(n, w) + (probe - s->probe);
	s->probe = probe;
}

static void on_congestion(struct state *s, const struct signal *signal)
{
	fx w = s->win.w;

	reduce_to(&s->win, fx_min(fx_div(w, FX_ONE + level_at_loss(s)), w));
	give_up_probe(s);
}

static void on_timeout(struct state *s, const struct signal *signal)
{
	time_out(&s->win, fx_half(s->win.w));
	give_up_probe(s);
}

static void on_idle(struct state *s, __u64 now)
{
	idle(&s->win);
	s->probe = 0;
	round_forget(&s->round);
	rate_restart(&s->rate, now);
}

static void on_recovery_exit(struct state *s, __u64 now)
{
	round_forget(&s->round);
}

static void on_undo(struct state *s)
{
	if (undo(&s->win))
		s->probe = s->saved_probe;
}

static void moderate(struct state *s, fx w)
{
	moderate_window(&s->win, w);
	s->probe = fx_min(s->probe, fx_max(s->win.w - FLOOR, 0));
}

#define INTERNALS(variable) \
	variable(probe, s->probe) \
	variable(base_us, s->base) \
	variable(congested_us, s->congested) \
	variable(rtt_mean_us, s->rtt) \
	variable(rate, s->rate.rate) \
	variable(increase, s->increase)

#include "hooks.h"

ALGORITHM;
