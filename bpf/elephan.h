/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Input and state of an algorithm, under the names of crates/cc. Windows are in segments and times in microseconds, both
 * fixed-point. An algorithm's file includes this file and defines
 *
 *	struct state			its state of a connection; the first member is `struct window win`
 *	on_start on_ack on_congestion on_timeout on_idle on_recovery_exit on_undo moderate
 *	INTERNALS(variable)		its internal variables: variable(name, value) for each
 *
 * The file ends with ALGORITHM, which defines its tcp_congestion_ops (hooks.h).
 *
 * The kernel's window is a whole number of segments. The kernel changes it without the algorithm: it lowers the window in
 * recovery, moderates it and restores it. The algorithm's window also has a fraction, which is valid as long as the whole
 * part equals the kernel's window.
 */
#ifndef ELEPHAN_H
#define ELEPHAN_H

#include <kernel.h>
#include "fixed.h"

/* Smallest slow start threshold, and smallest window after a loss (RFC 5681 section 3.1). */
#define FLOOR FX(2)
/* The kernel's slow start threshold before the first loss. */
#define INFINITE_SSTHRESH 0x7fffffff
/* No sample. */
#define NONE ((fx)-1)

/* One ACK of new data. */
struct ack {
	/* Microseconds. */
	__u64 now;
	/* Round-trip time and one-way delay plus a constant, us. A one-way delay may be negative, so it has a flag. */
	fx rtt;
	fx owd;
	/* Smallest RTT of the connection, us. */
	fx min_rtt;
	/* Segments newly delivered, cumulatively or by SACK, each counted once. */
	fx acked;
	/* Segments outstanding after this ACK. */
	__u32 in_flight;
	bool has_owd;
	/* First ACK of a new round. */
	bool round_start;
	/* The window must not change; only estimators are updated. */
	bool in_recovery;
	/* The window, and not the application or the receiver, limited the sender. */
	bool window_limited;
};

/* A loss, an ECN echo or a timeout; at most one for each recovery. */
struct signal {
	__u64 now;
	fx min_rtt;
};

/* Window, threshold and related state: loss_window.rs in real numbers, and the state of hooks.h. */
struct window {
	fx w;
	fx ssthresh;
	fx initial;
	fx saved_w;
	fx saved_ssthresh;
	bool has_saved;
	/* True from a loss to the end of its recovery. */
	bool recovering;
	/* True from a timeout within the recovery to the recovery's end. */
	bool timed_out;
	/* The kernel has just asked for a threshold, and has not yet reported the reason. */
	bool asked;
	/* An ACK for which the kernel has not yet reported if the window may change. */
	bool has_pending;
	bool has_origin;
	/* After a timeout or an idle time: the algorithm's window and threshold apply, and not the kernel's. */
	bool restarted;
	/* Segments sent when the round began, segments delivered so far, and the first difference of timestamps. */
	__u32 round_end;
	__u32 delivered;
	__u32 owd_origin;
	/* Payload of a segment, bytes. */
	__u32 segment_bytes;
	fx min_rtt;
	struct ack pending;
};

/* Events reported to user space: 0 none, 1 each round, 2 each ACK. */
PARAM(trace, 0);

#define INTERNALS_MAX 8

struct record {
	__u64 time_ns;
	__u64 started_ns;
	__u16 local_port;
	__u16 remote_port;
	__u32 cwnd;
	__u32 ssthresh;
	__u32 rtt_us;
	/* IPv4, in network order. */
	__u32 remote_address;
	__u32 unused;
	fx own[INTERNALS_MAX];
};

/* Slow start of loss-based algorithms: RFC 5681's, or limited slow start (RFC 3742). */
enum { STANDARD, LIMITED };
CHOICE(slow_start, STANDARD, LIMITED);
/* Window up to which limited slow start doubles the window each round trip, segments. */
PARAM(limited_max_ssthresh, 100);

static __always_inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static __always_inline bool may_grow(const struct ack *ack)
{
	return !ack->in_recovery && ack->window_limited;
}

static __always_inline bool in_slow_start(const struct window *win)
{
	return win->w < win->ssthresh;
}

/* Segments by which the window grows for each segment acknowledged. */
static __always_inline fx slow_start_increment(fx w)
{
	if (p_slow_start == FX(STANDARD) || w <= p_limited_max_ssthresh)
		return FX_ONE;
	return fx_div(FX_ONE, fx_from(fx_floor(fx_div(w, fx_half(p_limited_max_ssthresh)))));
}

/* Applies slow start to an ACK. Returns the segments that remain for congestion avoidance. */
static __always_inline fx slow_start(struct window *win, const struct ack *ack)
{
	fx wanted, grow;

	if (!may_grow(ack) || ack->acked <= 0)
		return 0;
	if (!in_slow_start(win))
		return ack->acked;
	grow = slow_start_increment(win->w);
	wanted = win->w + fx_mul(ack->acked, grow);
	win->w = fx_min(wanted, win->ssthresh);
	return fx_div(fx_max(wanted - win->ssthresh, 0), grow);
}

/* Grows the window by `a` segments for each window of segments acknowledged; `n` segments are acknowledged now. */
static __always_inline void grow_per_round(struct window *win, fx n, fx a)
{
	win->w += fx_muldiv(n, a, win->w);
}

static __always_inline void save(struct window *win)
{
	win->saved_w = win->w;
	win->saved_ssthresh = win->ssthresh;
	win->has_saved = true;
}

/* Applies a congestion signal: sets the window and the threshold to `target` segments. */
static __always_inline void reduce_to(struct window *win, fx target)
{
	save(win);
	win->ssthresh = fx_max(target, FLOOR);
	win->w = win->ssthresh;
}

/* Applies a timeout: sets the window to one segment and the threshold to `target`. */
static __always_inline void time_out(struct window *win, fx target)
{
	save(win);
	win->ssthresh = fx_max(target, FLOOR);
	win->w = FX_ONE;
}

/* Limits the window to the initial window when sending resumes after an idle period. */
static __always_inline void idle(struct window *win)
{
	win->w = fx_min(win->w, win->initial);
}

/* Restores the state before the last signal, which was spurious. Returns false if nothing was saved. */
static __always_inline bool undo(struct window *win)
{
	if (!win->has_saved)
		return false;
	win->has_saved = false;
	win->w = fx_max(win->w, win->saved_w);
	win->ssthresh = fx_max(win->ssthresh, win->saved_ssthresh);
	return true;
}

/* Lowers the window to the one at which the kernel's recovery ended. */
static __always_inline void moderate_window(struct window *win, fx w)
{
	if (w < win->w)
		win->w = fx_max(w, FX_ONE);
}

/* Hooks of an algorithm that only act on its `win`. */

/* Hooks of every algorithm whose window has a single component. */
#define WINDOW_METHODS												       \
	static void moderate(struct state *s, fx w)								       \
	{													       \
		moderate_window(&s->win, w);									       \
	}

/* The target after losses and timeouts is reduced(). */
#define WINDOW_CUTS												       \
	static void on_congestion(struct state *s, const struct signal *signal)					       \
	{													       \
		reduce_to(&s->win, reduced(s));									       \
	}													       \
														       \
	static void on_timeout(struct state *s, const struct signal *signal)					       \
	{													       \
		time_out(&s->win, reduced(s));									       \
	}

#define WINDOW_IDLE												       \
	static void on_idle(struct state *s, __u64 now)								       \
	{													       \
		idle(&s->win);											       \
	}

#define WINDOW_UNDO												       \
	static void on_undo(struct state *s)									       \
	{													       \
		undo(&s->win);											       \
	}

#define NO_RECOVERY_EXIT											       \
	static void on_recovery_exit(struct state *s, __u64 now)						       \
	{													       \
	}

#endif
