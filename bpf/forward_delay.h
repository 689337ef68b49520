/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Estimates of the forward path from one-way delays: the smallest so far, and averages of the forward queueing
 * delay and of the round-trip time (forward_delay.rs).
 *
 * In the kernel a one-way delay is the difference of the two hosts' timestamps in an ACK. It includes a constant, which
 * cancels in differences. Its resolution is a microsecond if the route has tcp_usec_ts (Linux 6.7), and a millisecond
 * otherwise.
 */
#ifndef ELEPHAN_FORWARD_DELAY_H
#define ELEPHAN_FORWARD_DELAY_H

#include "elephan.h"

/* Average of delays: weighted by 3/w or 3/flight for each ACK; mean or minimum of a round trip; last sample. */
enum { FAST_FILTER, NS2_FILTER, MEAN_ROUND, MIN_ROUND, LAST_SAMPLE };
CHOICE(filter, FAST_FILTER, LAST_SAMPLE);

/* Weight of a sample, times the window, segments. */
#define FILTER_SEGMENTS FX(3)

struct forward_delay {
	/* Smallest one-way delay (may be negative), averaged forward queueing delay, averaged round-trip time; all in us. */
	fx base;
	fx queueing;
	fx rtt;
	/* The current round trip: sums in whole us, or smallest values. */
	__u64 queueing_sum;
	__u64 rtt_sum;
	fx queueing_min;
	fx rtt_min;
	__u32 samples;
	bool begun;
	bool has_base;
};

/* Discards the round, which is not representative (recovery). */
static __always_inline void delay_forget_round(struct forward_delay *d)
{
	d->samples = 0;
	d->queueing_sum = 0;
	d->rtt_sum = 0;
	d->queueing_min = 0;
	d->rtt_min = 0;
}

/* Resets the averages after the path was unused; the base stays. */
static __always_inline void delay_forget(struct forward_delay *d)
{
	d->queueing = 0;
	d->rtt = 0;
	d->begun = false;
	delay_forget_round(d);
}

/* Lowers the base delay. The averaged queueing delay grows by the same amount. */
static __always_inline void delay_lower_base(struct forward_delay *d, fx base)
{
	if (d->begun && d->has_base) {
		fx more = d->base - base;

		d->queueing += more;
		d->queueing_min += more;
		d->queueing_sum += (__u64)fx_floor(more) * d->samples;
	}
	d->base = base;
	d->has_base = true;
}

static __always_inline void delay_weigh(struct forward_delay *d, fx queueing, fx rtt, fx weight)
{
	d->queueing += fx_mul(weight, queueing - d->queueing);
	d->rtt += fx_mul(weight, rtt - d->rtt);
}

static __always_inline void delay_gather(struct forward_delay *d, fx queueing, fx rtt, bool round_start)
{
	d->queueing_min = d->samples ? fx_min(d->queueing_min, queueing) : queueing;
	d->rtt_min = d->samples ? fx_min(d->rtt_min, rtt) : rtt;
	d->samples++;
	d->queueing_sum += (__u64)fx_floor(queueing);
	d->rtt_sum += (__u64)fx_floor(rtt);
	if (!round_start)
		return;
	if (p_filter == FX(MEAN_ROUND)) {
		d->queueing = fx_mean(d->queueing_sum, d->samples);
		d->rtt = fx_mean(d->rtt_sum, d->samples);
	} else {
		d->queueing = d->queueing_min;
		d->rtt = d->rtt_min;
	}
	delay_forget_round(d);
}

/* Takes the delays of an ACK that arrives with the window at w segments. */
static __always_inline void delay_sample(struct forward_delay *d, const struct ack *ack, fx w)
{
	fx queueing;

	if (!ack->has_owd || ack->rtt < 0)
		return;
	if (!d->has_base || ack->owd < d->base)
		delay_lower_base(d, ack->owd);
	queueing = ack->owd - d->base;
	if (!d->begun || p_filter == FX(LAST_SAMPLE)) {
		d->queueing = queueing;
		d->rtt = ack->rtt;
	} else if (p_filter == FX(FAST_FILTER)) {
		delay_weigh(d, queueing, ack->rtt, fx_min(fx_div(FILTER_SEGMENTS, w), FX(0.25)));
	} else if (p_filter == FX(NS2_FILTER)) {
		fx flight = fx_from(ack->in_flight ? ack->in_flight : 1);

		delay_weigh(d, queueing, ack->rtt, fx_min(fx_div(FILTER_SEGMENTS, flight), FX_ONE >> 8));
	} else {
		delay_gather(d, queueing, ack->rtt, ack->round_start);
	}
	d->begun = true;
}

#endif
