/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Measurements of a round trip: its RTTs, and the rate of acknowledged segments (round_trip.rs). */
#ifndef ELEPHAN_ROUND_TRIP_H
#define ELEPHAN_ROUND_TRIP_H

#include "elephan.h"

/* Smallest number of samples of a valid round: fewer samples may all be of delayed ACKs. */
#define MIN_SAMPLES 3
#define US_PER_S FX(1000000)
/* Shortest round trip, as a fraction of the smallest RTT. */
#define SHORT FX(0.999)

struct round_trip {
	/* Smallest sample, us; FX_MAX without one. */
	fx min;
	/* Sum of the samples, whole us. */
	__u64 sum;
	__u32 samples;
	/* Segments acknowledged. */
	fx acked;
};

static __always_inline void round_forget(struct round_trip *round)
{
	round->min = FX_MAX;
	round->sum = 0;
	round->samples = 0;
	round->acked = 0;
}

static __always_inline void round_add(struct round_trip *round, const struct ack *ack)
{
	round->acked += ack->acked;
	if (ack->rtt < 0)
		return;
	round->min = fx_min(round->min, ack->rtt);
	round->sum += (__u64)fx_floor(ack->rtt);
	round->samples++;
}

/* Mean RTT, us; there is a sample. */
static __always_inline fx round_mean(const struct round_trip *round)
{
	return round->samples ? fx_mean(round->sum, round->samples) : FX_MAX;
}

/* Rate of acknowledged segments, sampled once a round trip and low-pass filtered (bilinear, Tustin). */
struct acked_rate {
	/* Segments/s; 0 before the first round trip is over. */
	fx rate;
	fx sample;
	fx acked;
	__u64 since;
};

static __always_inline void rate_restart(struct acked_rate *rate, __u64 now)
{
	rate->acked = 0;
	rate->since = now;
}

/* `pole` is the weight of the past. A round shorter than the smallest RTT, a result of compressed ACKs, continues. */
static __always_inline void rate_add(struct acked_rate *rate, const struct ack *ack, fx pole)
{
	fx elapsed, sample;

	rate->acked += ack->acked;
	if (!ack->round_start)
		return;
	elapsed = fx_us(ack->now - rate->since);
	if (elapsed <= 0 || elapsed < fx_mul(SHORT, ack->min_rtt))
		return;
	sample = fx_muldiv(rate->acked, US_PER_S, elapsed);
	if (rate->rate > 0)
		rate->rate = fx_mul(pole, rate->rate) + fx_mul(FX_ONE - pole, fx_half(sample + rate->sample));
	else
		rate->rate = sample;
	rate->sample = sample;
	rate_restart(rate, ack->now);
}

#endif
