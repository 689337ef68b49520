/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Drives an algorithm through a recorded connection: one event a line on standard input, and after each the window and
 * the threshold on standard output. Times are in microseconds, the rest in segments. This program also does the kernel's part:
 * the reduction to the threshold in recovery, and the restart after an idle time.
 */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>

void el_init(struct sock *sk);
void el_release(struct sock *sk);
void el_pkts_acked(struct sock *sk, const struct ack_sample *sample);
void el_cong_avoid(struct sock *sk, __u32 una, __u32 acked);
__u32 el_ssthresh(struct sock *sk);
void el_cwnd_event(struct sock *sk, __u32 event);
void el_set_state(struct sock *sk, __u8 new_state);
__u32 el_undo_cwnd(struct sock *sk);

enum { CA_OPEN = 0, CA_RECOVERY = 3, CA_LOSS = 4 };
enum { EVENT_CWND_RESTART = 1, EVENT_LOSS = 3 };

__u64 native_now;

static struct {
	const char *name;
	__s64 *value;
} params[64];
static int params_count;

void native_param(const char *name, __s64 *value)
{
	if (params_count == 64)
		abort();
	params[params_count].name = name;
	params[params_count++].value = value;
}

static void set_param(const char *name, __s64 value)
{
	for (int i = 0; i < params_count; i++) {
		if (!strcmp(params[i].name, name)) {
			*params[i].value = value;
			return;
		}
	}
	fprintf(stderr, "there is no parameter '%s'\n", name);
	exit(2);
}

/* True if the kernel's call for a threshold is skipped, and any number is its result. */
static bool unasked;

/* Handles a loss: the kernel's reduction to the threshold is immediate. */
static void lose(struct sock *sk)
{
	sk->tp.snd_ssthresh = unasked ? 12716352 : el_ssthresh(sk);
	el_set_state(sk, CA_RECOVERY);
	sk->tp.snd_cwnd = sk->tp.snd_ssthresh;
}

static void acknowledge(struct sock *sk, const long long *v)
{
	struct tcp_sock *tp = &sk->tp;
	struct ack_sample sample = { .rtt_us = (__s32)v[4] };
	__u32 acked = (__u32)v[3] - tp->delivered;
	bool limited = v[8] & 1, frozen = v[8] & 2, recovery_ends = v[8] & 4, loss_found = v[8] & 8;

	tp->snd_una = (__u32)v[1];
	tp->snd_nxt = (__u32)v[2];
	tp->delivered = (__u32)v[3];
	sample.pkts_acked = acked;
	tp->rx_opt.saw_tstamp = true;
	tp->rx_opt.rcv_tsecr = (__u32)(v[0] - v[4]);
	tp->rx_opt.rcv_tsval = tp->rx_opt.rcv_tsecr + (__u32)v[5];
	tp->sacked_out = (__u32)v[6];
	tp->packets_out = (__u32)(v[6] + v[7]);
	tp->is_cwnd_limited = limited;
	el_pkts_acked(sk, &sample);
	if (recovery_ends)
		el_set_state(sk, CA_OPEN);
	if (loss_found)
		lose(sk);
	if (!frozen)
		el_cong_avoid(sk, tp->snd_una, acked);
}

static void handle(struct sock *sk, char event, const long long *v)
{
	struct tcp_sock *tp = &sk->tp;
	__u32 kept = tp->snd_cwnd - tp->snd_cwnd / 4;

	native_now = (__u64)v[0];
	switch (event) {
	case 'S': /* start: now, window, threshold */
		tp->snd_cwnd = (__u32)v[1];
		tp->snd_cwnd_clamp = ~0u;
		tp->snd_ssthresh = (__u32)v[2];
		tp->mss_cache = 1448;
		tp->tcp_usec_ts = true;
		el_init(sk);
		break;
	case 'A': /* ACK: now, una, next, delivered, RTT, difference of timestamps, SACKed, in flight, flags */
		acknowledge(sk, v);
		break;
	case 'T': /* timeout: now, 1 in a recovery (the kernel then keeps its threshold) */
		if (!v[1]) {
			tp->snd_ssthresh = el_ssthresh(sk);
			el_cwnd_event(sk, EVENT_LOSS);
		}
		tp->snd_cwnd = 1;
		el_set_state(sk, CA_LOSS);
		el_set_state(sk, CA_OPEN);
		break;
	case 'U': /* the last signal was spurious: now, threshold before the signal */
		tp->snd_cwnd = el_undo_cwnd(sk);
		if ((__u32)v[1] > tp->snd_ssthresh)
			tp->snd_ssthresh = (__u32)v[1];
		el_set_state(sk, CA_OPEN);
		break;
	case 'I': /* idle time over: now, initial window */
		el_cwnd_event(sk, EVENT_CWND_RESTART);
		if (kept > tp->snd_ssthresh)
			tp->snd_ssthresh = kept;
		if ((__u32)v[1] < tp->snd_cwnd)
			tp->snd_cwnd = (__u32)v[1];
		break;
	case 'M': /* moderation: now, window */
		tp->snd_cwnd = (__u32)v[1];
		break;
	default:
		fprintf(stderr, "'%c' is not an event\n", event);
		exit(2);
	}
}

int main(void)
{
	static struct sock sk;
	char line[512], name[64];
	long long v[10];

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "P %63s %lld", name, &v[0]) == 2) {
			set_param(name, v[0]);
			continue;
		}
		if (line[0] == 'Q') {
			unasked = true;
			continue;
		}
		memset(v, 0, sizeof(v));
		sscanf(line + 1, "%lld %lld %lld %lld %lld %lld %lld %lld %lld %lld", &v[0], &v[1], &v[2], &v[3], &v[4],
		       &v[5], &v[6], &v[7], &v[8], &v[9]);
		handle(&sk, line[0], v);
		printf("%u %u\n", sk.tp.snd_cwnd, sk.tp.snd_ssthresh);
	}
	el_release(&sk);
	return 0;
}
