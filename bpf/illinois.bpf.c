/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP-Illinois (S. Liu, T. Basar, R. Srikant, VALUETOOLS 2006; Performance Evaluation 65, 2008):
 * crates/cc/src/illinois.rs in real numbers.
 */
#include "round_trip.h"

/* Largest and smallest additive increase for each round trip, segments. */
PARAM(alpha_max, 10);
PARAM(alpha_min, 0.3);
/* Smallest and largest fraction of the window given up on a loss. */
PARAM(beta_min, 0.125);
PARAM(beta_max, 0.5);
/* Fractions of the largest queueing delay: alpha_max up to d1, beta_min up to d2, beta_max from d3. */
PARAM(d1, 0.01);
PARAM(d2, 0.1);
PARAM(d3, 0.8);
/* Round trips with a delay of at most d1 before alpha is alpha_max again, consecutive or not. */
PARAM(theta, 5);
PARAM(theta_consecutive, 0);
/* Window below which Illinois behaves as standard TCP, segments. */
PARAM(window_threshold, 15);
/* Keep the fraction beta of the window on a loss, instead of 1 - beta. */
PARAM(keeps_beta, 0);
/* Round trips after a loss in which RTT samples are ignored. */
PARAM(ignored_rounds, 0);
/* Source of the largest RTT: all samples, or the means of all round trips. */
enum { SAMPLE, ROUND_MEAN };
CHOICE(max_source, SAMPLE, ROUND_MEAN);
/* Halve on a timeout, independently of beta. */
PARAM(halve_on_timeout, 1);

struct state {
	struct window win;
	fx alpha;
	fx beta;
	/* us. */
	fx base;
	fx max;
	struct round_trip round;
	/* A round trip has ended, and its update waits for the end of recovery. */
	bool due;
	/* The delay has exceeded d1 since alpha was last at its maximum. */
	bool above;
	/* Round trips. */
	fx low;
	fx ignored;
};

/* alpha and beta of standard TCP, which apply below the window threshold and after a timeout. */
static void standard(struct state *s)
{
	s->alpha = FX_ONE;
	s->beta = fx_half(FX_ONE);
}

/* alpha by the paper's curve, segments a round trip, for a delay da beyond d1 times dm, us. */
static fx alpha_curve(fx da, fx dm)
{
	fx span = fx_mul(dm, FX_ONE - p_d1), beyond = da - fx_mul(dm, p_d1);
	fx steepness = fx_div(p_alpha_max - p_alpha_min, p_alpha_min);

	return fx_muldiv(p_alpha_max, span, span + fx_mul(beyond, steepness));
}

/* beta by the paper's curve for a delay da of at most dm, us. */
static fx beta_curve(fx da, fx dm)
{
	fx d2 = fx_mul(p_d2, dm), d3 = fx_mul(p_d3, dm);

	if (da <= d2)
		return p_beta_min;
	if (da >= d3)
		return p_beta_max;
	return p_beta_min + fx_muldiv(p_beta_max - p_beta_min, da - d2, d3 - d2);
}

/* alpha by the rule of theta round trips with almost no delay; on_curve is the curve's value above d1. */
static fx alpha_by_theta(struct state *s, bool good, fx on_curve)
{
	if (!good) {
		s->above = true;
		if (p_theta_consecutive)
			s->low = 0;
		return on_curve;
	}
	if (s->above) {
		s->low += FX_ONE;
		if (s->low < p_theta)
			return s->alpha;
		s->low = 0;
		s->above = false;
	}
	return p_alpha_max;
}

/* Computes alpha and beta for the next round trip. */
static void end_round(struct state *s)
{
	struct round_trip round = s->round;
	fx mean, dm, da;
	bool good;

	round_forget(&s->round);
	s->due = false;
	if (s->win.w < p_window_threshold) {
		standard(s);
		return;
	}
	if (!round.samples)
		return;
	mean = round_mean(&round);
	if (p_max_source == FX(ROUND_MEAN))
		s->max = fx_max(s->max, mean);
	dm = fx_max(s->max - s->base, 0);
	da = fx_clamp(mean - s->base, 0, dm);
	good = da <= fx_mul(dm, p_d1);
	s->alpha = alpha_by_theta(s, good, good ? 0 : alpha_curve(da, dm));
	s->beta = beta_curve(da, dm);
}

static void on_start(struct state *s, __u64 now)
{
	s->alpha = p_alpha_max;
	s->beta = p_beta_max;
	s->base = FX_MAX;
	round_forget(&s->round);
}

static void on_ack(struct state *s, const struct ack *ack)
{
	fx n;

	if (ack->rtt >= 0 && s->ignored == 0) {
		s->base = fx_min(s->base, ack->rtt);
		if (p_max_source == FX(SAMPLE))
			s->max = fx_max(s->max, ack->rtt);
		round_add(&s->round, ack);
	}
	if (ack->round_start)
		s->due = true;
	if (s->due && !ack->in_recovery) {
		s->ignored = fx_max(s->ignored - FX_ONE, 0);
		end_round(s);
	}
	n = slow_start(&s->win, ack);
	if (n > 0)
		grow_per_round(&s->win, n, s->alpha);
}

/* Window after a loss. */
static fx reduced(const struct state *s)
{
	fx part = fx_mul(s->beta, s->win.w);

	return p_keeps_beta ? part : s->win.w - part;
}

static void on_congestion(struct state *s, const struct signal *signal)
{
	reduce_to(&s->win, reduced(s));
	s->ignored = p_ignored_rounds;
}

static void on_timeout(struct state *s, const struct signal *signal)
{
	time_out(&s->win, p_halve_on_timeout ? fx_half(s->win.w) : reduced(s));
	standard(s);
	s->low = 0;
	s->above = false;
	round_forget(&s->round);
}

static void on_idle(struct state *s, __u64 now)
{
	idle(&s->win);
	round_forget(&s->round);
}

NO_RECOVERY_EXIT
WINDOW_UNDO
WINDOW_METHODS

#define INTERNALS(variable) \
	variable(alpha, s->alpha) \
	variable(beta, s->beta) \
	variable(base_us, s->base) \
	variable(max_us, s->max)

#include "hooks.h"

ALGORITHM;
