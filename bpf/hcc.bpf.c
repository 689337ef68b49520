/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * HCC TCP (W. Xu, Z. Zhou, D.T. Pham, C. Ji, M. Yang, Q. Liu, JNCA 34, 2011, sections 3.1 to 3.4, equations 1 to 4 and
 * Table 1): crates/cc/src/hcc.rs. Recovery is the kernel's. No ACK that comes with SACK or in recovery gives a one-way
 * delay, since it echoes a stale timestamp.
 */
#include "forward_delay.h"

/* Segments that the flow keeps in the queues of the forward path. */
PARAM(alpha, 400);
/* Largest change, as a fraction of alpha, before `part` is applied. */
PARAM(gamma, 0.5);
/* Smallest step of the search, before `part` is applied, segments. */
PARAM(i_min, 1);
/* Averaged forward queueing delay that ends the start, us. */
PARAM(mi_threshold, 750);
/* Fraction of the clipped change that is made in one update. */
PARAM(part, 0.5);
/* Clip the change before it is multiplied by `part`, or after. */
enum { CLIP_THEN_PART, PART_THEN_CLIP };
CHOICE(clip_order, CLIP_THEN_PART, PART_THEN_CLIP);
/* Interval of the updates "per RTT": rounds of sequence numbers, or averaged round-trip times. */
enum { ROUND, TIMER };
CHOICE(update_clock, ROUND, TIMER);
/* Spread an increase over the round that follows. */
PARAM(spread_increase, 1);
/* Doubling of the window in the start: by one for each segment acknowledged, or by the window once a round. */
enum { PER_ACK, PER_ROUND };
CHOICE(start_growth, PER_ACK, PER_ROUND);
/* Double again whenever the averaged queueing delay is below the threshold. */
PARAM(mi_reentry, 0);
/* Response to a loss in the start: the same as later, or none. */
enum { HALVE, IGNORE };
CHOICE(start_loss, HALVE, IGNORE);
/* Lower the new loss reference by a quarter if it is below the last one. */
PARAM(fast_convergence, 0);
/* Time at which the lower end of the search moves: each update, or the end of its whole step. */
enum { EVERY_ROUND, ON_TARGET };
CHOICE(search_from, EVERY_ROUND, ON_TARGET);
/* Updates beyond the loss reference without a loss, before the delay controls the window again. */
PARAM(pass_rounds, 1);
/* Behavior after a timeout: slow start to half of the window at the loss and the search, or a new start. */
enum { SEARCH, START };
CHOICE(after_timeout, SEARCH, START);
/* Averaged queueing delay below which the anticipated window counts as infinite, us. */
PARAM(q_floor, 1);
/* Window below which HCC grows as standard TCP; 0: no such window. */
PARAM(low_window, 0);
/* Target of the window while the delay controls it: alpha D/Q, or twice FAST's step. */
enum { RATIO, FAST };
CHOICE(reference, RATIO, FAST);

/* Rule in use: doubling; control by delay; the search; slow start after a timeout or an idle period. */
enum mode { MODE_START, MODE_DELAY, MODE_LOSS, MODE_RESTART };

struct state {
	struct window win;
	struct forward_delay delay;
	/* Window at the last loss, segments; 0: none. */
	fx loss_ref;
	/* Updates that went beyond the loss reference. */
	fx passed;
	/* Target of the search's step, and of each half of it (on_target only). */
	fx search_end;
	fx search_step;
	/* Increase not yet added to the window, and the amount added for each acknowledged segment. */
	fx pending;
	fx per_ack;
	fx saved_loss_ref;
	/* Time of the last update, us. */
	__u64 updated;
	__u32 mode;
	__u32 saved_mode;
	/* The next round is the first after a recovery. */
	bool settling;
	bool in_recovery;
};

static fx largest_step(void)
{
	return fx_mul(p_gamma, p_alpha);
}

/* Step of one update towards a window `distance` away (Table 1), at least `smallest`. */
static fx step(fx distance, fx smallest)
{
	if (p_clip_order == FX(CLIP_THEN_PART))
		return fx_mul(p_part, fx_clamp(distance, smallest, largest_step()));
	return fx_clamp(fx_mul(p_part, distance), smallest, largest_step());
}

/* Distance to the anticipated window (equation 3). */
static fx distance(const struct state *s)
{
	fx q = s->delay.queueing, d = s->delay.rtt, w = s->win.w;

	if (p_reference == FX(FAST))
		return fx_mul(2 * p_gamma, p_alpha - fx_muldiv(w, q, fx_max(d, p_q_floor)));
	return q < p_q_floor ? FX_MAX : fx_muldiv(p_alpha, d, q) - w;
}

/* Applies a decrease at once, and an increase over the next round. */
static void move_by(struct state *s, fx change)
{
	if (change <= 0) {
		s->win.w = fx_max(s->win.w + change, fx_min(FLOOR, s->win.w));
	} else {
		s->pending = change;
		s->per_ack = p_spread_increase ? fx_div(change, s->win.w) : FX_MAX;
	}
}

static void delay_update(struct state *s)
{
	move_by(s, step(distance(s), -largest_step()));
}

static fx search_step(struct state *s)
{
	fx half_way = fx_half(s->loss_ref - s->win.w);

	if (p_search_from == FX(EVERY_ROUND))
		return step(half_way, p_i_min);
	/* Half a step of tolerance for rounding, since a spread increase is a sum of many terms. */
	if (s->win.w + fx_half(s->search_step) > s->search_end || s->search_step == 0) {
		s->search_step = step(half_way, p_i_min);
		s->search_end = s->win.w + fx_div(s->search_step, p_part);
	}
	return s->search_step;
}

static void loss_update(struct state *s)
{
	fx change;

	/* A window that was not used, or that was lowered since, has not passed the loss reference. */
	if (s->win.w <= s->loss_ref)
		s->passed = 0;
	if (s->passed >= p_pass_rounds) {
		s->mode = MODE_DELAY;
		s->loss_ref = 0;
		delay_update(s);
		return;
	}
	change = search_step(s);
	if (s->win.w + change > s->loss_ref)
		s->passed += FX_ONE;
	move_by(s, change);
}

static void release(struct state *s, fx segments)
{
	fx change = fx_min(segments, s->pending);

	s->win.w += change;
	s->pending -= change;
}

static void in_start(struct state *s, const struct ack *ack)
{
	if (s->delay.queueing >= p_mi_threshold) {
		s->mode = MODE_DELAY;
		s->win.ssthresh = fx_min(s->win.ssthresh, fx_max(s->win.w, FLOOR));
		s->pending = 0;
		s->updated = ack->now;
		return;
	}
	if (!ack->window_limited)
		return;
	if (p_start_growth == FX(PER_ACK)) {
		s->win.w += ack->acked;
		return;
	}
	if (ack->round_start) {
		release(s, FX_MAX);
		move_by(s, s->win.w);
	}
	release(s, fx_mul(s->per_ack, ack->acked));
}

static void in_restart(struct state *s, const struct ack *ack)
{
	if (ack->window_limited && s->win.w < s->win.ssthresh)
		s->win.w = fx_min(s->win.w + ack->acked, s->win.ssthresh);
	if (s->win.w >= s->win.ssthresh) {
		s->mode = MODE_LOSS;
		s->settling = true;
	}
}

/* True if this ACK is the one that updates the window in its round trip. */
static bool due(struct state *s, const struct ack *ack)
{
	bool settling = s->settling;

	if (p_update_clock == FX(ROUND) ? !ack->round_start : fx_us(ack->now - s->updated) < s->delay.rtt)
		return false;
	s->updated = ack->now;
	s->settling = false;
	return !settling;
}

static void by_rounds(struct state *s, const struct ack *ack)
{
	if (s->win.w < p_low_window) {
		s->pending = 0;
		if (ack->window_limited)
			s->win.w += fx_div(ack->acked, s->win.w);
		return;
	}
	if (p_mi_reentry && s->mode == MODE_DELAY && s->delay.queueing < p_mi_threshold) {
		s->pending = 0;
		if (ack->window_limited)
			s->win.w += ack->acked;
		return;
	}
	if (due(s, ack)) {
		/* The rest of the last round's increase is added now, or dropped if the window was not used. */
		if (ack->window_limited)
			release(s, FX_MAX);
		s->pending = 0;
		if (s->mode == MODE_LOSS && s->loss_ref)
			loss_update(s);
		else
			delay_update(s);
	}
	if (s->pending > 0 && ack->window_limited)
		release(s, fx_mul(s->per_ack, ack->acked));
}

static void forget_round(struct state *s)
{
	s->pending = 0;
	s->passed = 0;
	s->search_step = 0;
	delay_forget_round(&s->delay);
}

static void on_start(struct state *s, __u64 now)
{
	s->mode = MODE_START;
	s->updated = now;
}

static void on_ack(struct state *s, const struct ack *ack)
{
	delay_sample(&s->delay, ack, s->win.w);
	if (ack->in_recovery)
		return;
	if (s->mode == MODE_START)
		in_start(s, ack);
	else if (s->mode == MODE_RESTART)
		in_restart(s, ack);
	else
		by_rounds(s, ack);
}

static void save_all(struct state *s)
{
	save(&s->win);
	s->saved_mode = s->mode;
	s->saved_loss_ref = s->loss_ref;
}

static void on_congestion(struct state *s, const struct signal *signal)
{
	fx w = s->win.w;

	save_all(s);
	s->in_recovery = true;
	forget_round(s);
	if (s->mode == MODE_START && p_start_loss == FX(IGNORE)) {
		s->win.ssthresh = fx_max(w, FLOOR);
		return;
	}
	s->loss_ref = p_fast_convergence && w < s->loss_ref ? w - (w >> 2) : w;
	s->mode = MODE_LOSS;
	s->win.w = fx_max(fx_half(w), FLOOR);
	s->win.ssthresh = s->win.w;
}

static void on_timeout(struct state *s, const struct signal *signal)
{
	bool anew = p_after_timeout == FX(START);

	save_all(s);
	s->win.ssthresh = fx_max(fx_half(s->win.w), FLOOR);
	if (anew)
		s->loss_ref = 0;
	else if (!s->in_recovery || !s->loss_ref)
		/* A timeout within a recovery belongs to the loss that began it. */
		s->loss_ref = s->win.w;
	s->win.w = FX_ONE;
	s->mode = anew ? MODE_START : MODE_RESTART;
	s->in_recovery = true;
	forget_round(s);
	delay_forget(&s->delay);
}

static void on_idle(struct state *s, __u64 now)
{
	idle(&s->win);
	s->updated = now;
	forget_round(s);
	delay_forget(&s->delay);
	s->mode = MODE_START;
	if (s->loss_ref) {
		s->mode = MODE_RESTART;
		s->win.ssthresh = fx_max(fx_half(s->loss_ref), FLOOR);
	}
}

static void on_recovery_exit(struct state *s, __u64 now)
{
	s->in_recovery = false;
	s->settling = true;
	s->updated = now;
	forget_round(s);
}

static void on_undo(struct state *s)
{
	if (!undo(&s->win))
		return;
	s->in_recovery = false;
	s->mode = s->saved_mode;
	s->loss_ref = s->saved_loss_ref;
	forget_round(s);
}

static void moderate(struct state *s, fx w)
{
	if (w >= s->win.w)
		return;
	moderate_window(&s->win, w);
	/* An increase decided at a larger window does not apply to this one. */
	s->pending = 0;
}

#define INTERNALS(variable) \
	variable(mode, fx_from(s->mode)) \
	variable(loss_ref, s->loss_ref) \
	variable(queueing_us, s->delay.queueing) \
	variable(rtt_mean_us, s->delay.rtt) \
	variable(base_us, s->delay.base) \
	variable(pending, s->pending)

#include "hooks.h"

ALGORITHM;
