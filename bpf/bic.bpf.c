/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * BIC-TCP (L. Xu, K. Harfoush, I. Rhee, INFOCOM 2004): crates/cc/src/bic.rs, the paper's form.
 */
#include "elephan.h"

/* Largest and smallest increase a round trip, segments. */
PARAM(s_max, 32);
PARAM(s_min, 0.01);
/* Fraction of the window given up on a loss. */
PARAM(beta, 0.125);
/* Window below which BIC grows as standard TCP, segments. */
PARAM(low_window, 14);
/* Set the target below the last maximum if that maximum is lower than the one before. */
PARAM(fast_convergence, 1);
/* Reference of fast convergence: the maximum recorded at the last loss, or max_win. */
enum { RECORDED, MAX_WIN };
CHOICE(converge_against, RECORDED, MAX_WIN);
/* Time of a new target: with each ACK, or once a round trip. */
enum { EACH_ACK, EACH_ROUND };
CHOICE(search_update, EACH_ACK, EACH_ROUND);

struct search {
	fx max_win;
	fx target_win;
	/* Growth for each segment acknowledged in this round, if the target moves once a round; 0 before the first. */
	fx per_ack;
	fx ss_cwnd;
	fx ss_target;
	bool is_probing;
};

struct state {
	struct window win;
	struct search search;
	struct search saved_search;
	/* Maximum recorded at the last loss, segments; 0 before the first loss. */
	fx last_max;
	fx saved_last_max;
};

static void know_nothing(struct search *s)
{
	s->max_win = FX_MAX;
	s->target_win = FX_MAX;
	s->per_ack = 0;
	s->is_probing = false;
	s->ss_cwnd = FX_ONE;
	s->ss_target = 0;
}

static fx halfway(fx a, fx b)
{
	return fx_half(a) + fx_half(b);
}

static void probe(struct state *s, fx n)
{
	struct search *search = &s->search;

	grow_per_round(&s->win, n, search->ss_cwnd);
	if (s->win.w >= search->ss_target) {
		search->ss_cwnd *= 2;
		search->ss_target = s->win.w + search->ss_cwnd;
	}
	/* From here on additive: the maximum is unknown. */
	search->is_probing = search->ss_cwnd < p_s_max;
}

/* The paper's rules for one ACK in congestion avoidance, w >= low_window. */
static void search(struct state *s, fx n, bool round_start)
{
	struct search *search = &s->search;

	if (search->is_probing) {
		probe(s, n);
		return;
	}
	if (p_search_update == FX(EACH_ACK)) {
		grow_per_round(&s->win, n, fx_clamp(search->target_win - s->win.w, p_s_min, p_s_max));
	} else {
		if (round_start || search->per_ack == 0) {
			search->target_win = halfway(search->max_win, s->win.w);
			search->per_ack = fx_div(fx_clamp(search->target_win - s->win.w, p_s_min, p_s_max), s->win.w);
		}
		s->win.w += fx_mul(n, search->per_ack);
	}
	if (s->win.w >= search->max_win) {
		know_nothing(search);
		search->is_probing = true;
		search->ss_target = s->win.w + FX_ONE;
	} else if (p_search_update == FX(EACH_ACK)) {
		search->target_win = halfway(search->max_win, s->win.w);
	}
}

/* Records the maximum; returns the window after a loss. */
static fx reduced(struct state *s)
{
	fx w = s->win.w, before, target;

	s->saved_last_max = s->last_max;
	s->saved_search = s->search;
	if (w < p_low_window)
		return fx_half(w);
	before = p_converge_against == FX(MAX_WIN) ? s->search.max_win : s->last_max;
	s->last_max = p_fast_convergence && w < before ? fx_mul(w, FX_ONE - fx_half(p_beta)) : w;
	target = fx_mul(FX_ONE - p_beta, w);
	know_nothing(&s->search);
	s->search.max_win = s->last_max;
	s->search.target_win = halfway(s->last_max, target);
	return target;
}

static void on_start(struct state *s, __u64 now)
{
	know_nothing(&s->search);
	know_nothing(&s->saved_search);
}

static void on_ack(struct state *s, const struct ack *ack)
{
	fx n = slow_start(&s->win, ack);

	if (n <= 0)
		return;
	if (s->win.w < p_low_window)
		grow_per_round(&s->win, n, FX_ONE);
	else
		search(s, n, ack->round_start);
}

WINDOW_CUTS
WINDOW_IDLE
NO_RECOVERY_EXIT

static void on_undo(struct state *s)
{
	if (!undo(&s->win))
		return;
	s->last_max = s->saved_last_max;
	s->search = s->saved_search;
}

WINDOW_METHODS

#define INTERNALS(variable) \
	variable(last_max, s->last_max) \
	variable(max_win, s->search.max_win) \
	variable(target_win, s->search.target_win) \
	variable(is_probing, s->search.is_probing ? FX_ONE : 0) \
	variable(ss_cwnd, s->search.ss_cwnd)

#include "hooks.h"

ALGORITHM;
