/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * H-TCP (R. Shorten, D. Leith, PFLDnet 2004; draft-leith-tcp-htcp-06): crates/cc/src/htcp.rs in real numbers.
 */
#include "elephan.h"

/* Time after a loss in which H-TCP grows as standard TCP, us. */
PARAM(delta_l, 1000000);
/* Smallest and largest fraction of the window kept on a loss. */
PARAM(beta_min, 0.5);
PARAM(beta_max, 0.8);
/* Keep the fraction RTT_min / RTT_max of the window on a loss; off: keep beta_min. */
PARAM(adaptive_backoff, 1);
/* Keep only beta_min if the throughputs of two successive epochs differ by this fraction. */
PARAM(bandwidth_switch, 1);
PARAM(throughput_ratio, 0.2);
/* Scale alpha with the RTT, by a factor that is 1 at rtt_ref, us. */
PARAM(rtt_scaling, 0);
PARAM(rtt_ref, 100000);
/* Smallest alpha, after compensation for beta; 0: no limit. */
PARAM(alpha_min, 0);
/* Smallest RTT from which the backoff is adaptive, us. */
PARAM(backoff_rtt_min, 0);
/* Largest difference between an RTT sample and the largest RTT so far, us; larger samples are ignored. */
PARAM(rtt_max_slew, 20000);

/* Fraction of the difference between the largest and the smallest RTT that is kept after a loss. */
#define RTT_MAX_AGEING FX(0.95)
/* Smallest time between two computations of alpha, us. */
#define ALPHA_PERIOD 1000
#define US_PER_S FX(1000000)

struct state {
	struct window win;
	fx alpha;
	fx beta;
	__u64 alpha_until;
	/* Start of Delta, us. */
	__u64 t_last;
	__u64 last_ack;
	fx rtt_min;
	/* 0 while unknown. */
	fx rtt_max;
	bool adaptive_ok;
	/* Throughput, segments/s: the current one, the epoch's largest, and the previous epoch's largest. */
	fx b_now;
	fx b_max;
	fx b_old;
	fx packets;
	__u64 packets_since;
	__u64 saved_t_last;
	fx saved_rtt_max;
	fx saved_b_old;
};

/* alpha(Delta) before scaling, segments a round trip; x is the time beyond delta_l, s. */
static fx alpha_of(fx x)
{
	return x <= 0 ? FX_ONE : FX_ONE + 10 * x + (fx_mul(x, x) >> 2);
}

static fx scale(const struct state *s)
{
	if (!p_rtt_scaling || s->rtt_min == FX_MAX)
		return FX_ONE;
	return fx_clamp(fx_div(s->rtt_min, p_rtt_ref), FX(0.1), FX(2));
}

static void update_alpha(struct state *s, __u64 now)
{
	fx alpha0 = alpha_of(fx_div(fx_us(now - s->t_last) - p_delta_l, US_PER_S));
	fx alpha1 = fx_max(fx_mul(alpha0, scale(s)), FX_ONE);
	fx alpha = fx_mul(2 * (FX_ONE - s->beta), alpha1);

	s->alpha = alpha > 0 ? fx_max(alpha, p_alpha_min) : FX_ONE;
	s->alpha_until = now + ALPHA_PERIOD;
}

/* Updates beta for this loss, and the reference throughput for the next one. */
static void update_beta(struct state *s)
{
	if (p_bandwidth_switch) {
		fx old = s->b_old, change;

		s->b_old = s->b_max;
		change = s->b_max > old ? s->b_max - old : old - s->b_max;
		if (change > fx_mul(p_throughput_ratio, old)) {
			s->beta = p_beta_min;
			s->adaptive_ok = false;
			return;
		}
	}
	if (s->adaptive_ok && p_adaptive_backoff && s->rtt_min > p_backoff_rtt_min && s->rtt_max > 0) {
		s->beta = fx_clamp(fx_div(s->rtt_min, s->rtt_max), p_beta_min, p_beta_max);
	} else {
		s->beta = p_beta_min;
		s->adaptive_ok = true;
	}
}

static void measure_rtt(struct state *s, const struct ack *ack)
{
	if (ack->rtt < 0)
		return;
	s->rtt_min = fx_min(s->rtt_min, ack->rtt);
	if (ack->in_recovery)
		return;
	s->rtt_max = fx_max(s->rtt_max, s->rtt_min);
	if (ack->rtt > s->rtt_max && ack->rtt <= s->rtt_max + p_rtt_max_slew)
		s->rtt_max = ack->rtt;
}

static void sample_throughput(struct state *s, __u64 now)
{
	fx elapsed = fx_us(now - s->packets_since), sample;

	if (elapsed <= 0 || elapsed < s->rtt_min)
		return;
	sample = fx_muldiv(s->packets, US_PER_S, elapsed);
	/* True within three whole round trips after the last loss. */
	if (fx_floor(fx_div(fx_us(now - s->t_last), s->rtt_min)) <= 3) {
		s->b_now = sample;
		s->b_max = sample;
	} else {
		s->b_now = fx_mul(FX(0.75), s->b_now) + (sample >> 2);
		s->b_max = fx_max(s->b_max, s->b_now);
	}
	s->packets = 0;
	s->packets_since = now;
}

static void measure_throughput(struct state *s, const struct ack *ack)
{
	if (ack->in_recovery) {
		s->packets = 0;
		s->packets_since = ack->now;
		return;
	}
	s->packets += ack->acked;
	if (s->packets >= s->win.w - fx_max(fx_from(fx_floor(s->alpha)), FX_ONE))
		sample_throughput(s, ack->now);
}

/* Excludes a time from the clock Delta. */
static void freeze(struct state *s, __u64 us, __u64 now)
{
	s->t_last = s->t_last + us < now ? s->t_last + us : now;
	s->saved_t_last = s->saved_t_last + us < now ? s->saved_t_last + us : now;
	s->alpha_until = 0;
}

/* Updates beta and the measurements; returns the window after a loss. */
static fx reduced(struct state *s, __u64 now)
{
	s->saved_t_last = s->t_last;
	s->saved_rtt_max = s->rtt_max;
	s->saved_b_old = s->b_old;
	update_beta(s);
	update_alpha(s, now);
	if (s->rtt_max > s->rtt_min)
		s->rtt_max = s->rtt_min + fx_mul(RTT_MAX_AGEING, s->rtt_max - s->rtt_min);
	s->t_last = now;
	s->alpha_until = 0;
	return fx_mul(s->beta, s->win.w);
}

static void on_start(struct state *s, __u64 now)
{
	s->alpha = FX_ONE;
	s->beta = p_beta_min;
	s->rtt_min = FX_MAX;
	s->t_last = now;
	s->last_ack = now;
	s->packets_since = now;
}

static void on_ack(struct state *s, const struct ack *ack)
{
	fx n;

	measure_rtt(s, ack);
	if (p_bandwidth_switch)
		measure_throughput(s, ack);
	if (!ack->window_limited)
		freeze(s, ack->now - s->last_ack, ack->now);
	s->last_ack = ack->now;
	n = slow_start(&s->win, ack);
	if (n <= 0)
		return;
	if (ack->now >= s->alpha_until)
		update_alpha(s, ack->now);
	grow_per_round(&s->win, n, fx_min(s->alpha, s->win.w));
}

static void on_congestion(struct state *s, const struct signal *signal)
{
	reduce_to(&s->win, reduced(s, signal->now));
}

static void on_timeout(struct state *s, const struct signal *signal)
{
	time_out(&s->win, reduced(s, signal->now));
}

static void on_idle(struct state *s, __u64 now)
{
	idle(&s->win);
	freeze(s, now - s->last_ack, now);
	s->last_ack = now;
	s->packets = 0;
	s->packets_since = now;
}

static void on_recovery_exit(struct state *s, __u64 now)
{
	s->t_last = now;
	s->alpha_until = 0;
}

static void on_undo(struct state *s)
{
	if (!undo(&s->win))
		return;
	s->t_last = s->saved_t_last;
	s->rtt_max = s->saved_rtt_max;
	s->b_old = s->saved_b_old;
	s->alpha_until = 0;
}

WINDOW_METHODS

#define INTERNALS(variable) \
	variable(alpha, s->alpha) \
	variable(beta, s->beta) \
	variable(rtt_min_us, s->rtt_min) \
	variable(rtt_max_us, s->rtt_max) \
	variable(b_now, s->b_now) \
	variable(b_old, s->b_old)

#include "hooks.h"

ALGORITHM;
