/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Translates the kernel's calls into callbacks of the algorithm that includes this file at its end.
 *
 * The kernel calls pkts_acked for every ACK. It calls cong_avoid later, and only if the window may change. So an ACK is
 * kept until cong_avoid is called. If cong_avoid was not called before the next ACK, the kept ACK belongs to a recovery.
 * The hook cong_control is not used, because its arguments differ between kernels.
 *
 * The kernel asks for a threshold before it reports whether a loss or a timeout is the reason. After a timeout, the
 * response to a loss is undone. For a timeout within a recovery, the kernel only reports the new state.
 */
#ifndef ELEPHAN_HOOKS_H
#define ELEPHAN_HOOKS_H

enum { CA_OPEN, CA_DISORDER, CA_CWR, CA_RECOVERY, CA_LOSS };
enum { EVENT_CWND_RESTART = 1, EVENT_LOSS = 3 };
#ifndef ELEPHAN_IN_LINUX
enum { TCP_CONG_NON_RESTRICTED = 1 };
#endif

struct flow {
	struct state now;
	/* State before the last congestion signal. */
	struct state before;
	__u64 started_ns;
};

/* Values that an algorithm reports: its window, its threshold, and its INTERNALS, under the names in COLUMNS. */
#define VALUE(name, value) own[n++] = value;
#define COLUMN(name, value) "," #name
#define COUNT(name, value) +1
#define COLUMNS "w,ssthresh" INTERNALS(COLUMN)

_Static_assert(2 INTERNALS(COUNT) <= INTERNALS_MAX, "a report has no room for more");

static __always_inline void internals(const struct state *s, fx *own)
{
	int n = 0;

	own[n++] = s->win.w;
	own[n++] = s->win.ssthresh;
	INTERNALS(VALUE)
}

#ifdef __bpf__

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

/* Number of events that were lost because the ring buffer was full. */
__u64 events_lost = 0;

static __always_inline struct flow *flow_of(struct sock *sk)
{
	return bpf_sk_storage_get(&flows, sk, NULL, 0);
}

static __always_inline struct flow *new_flow(struct sock *sk)
{
	bpf_sk_storage_delete(&flows, sk);
	return bpf_sk_storage_get(&flows, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
}

static __always_inline void drop_flow(struct sock *sk)
{
	bpf_sk_storage_delete(&flows, sk);
}

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline __u64 now_us(void)
{
	return bpf_ktime_get_ns() / 1000;
}

static __always_inline void report(struct sock *sk, const struct flow *f, const struct ack *ack)
{
	struct record record = {};

	if (!p_trace || (p_trace == FX_ONE && !ack->round_start))
		return;
	record.time_ns = bpf_ktime_get_ns();
	record.started_ns = f->started_ns;
	record.local_port = sk->__sk_common.skc_num;
	record.remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	record.remote_address = sk->__sk_common.skc_daddr;
	record.cwnd = tcp_sk(sk)->snd_cwnd;
	record.ssthresh = tcp_sk(sk)->snd_ssthresh;
	record.rtt_us = ack->rtt < 0 ? 0 : (__u32)fx_floor(ack->rtt);
	internals(&f->now, record.own);
	if (bpf_ringbuf_output(&events, &record, sizeof(record), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&events_lost, 1);
}

#elif defined(ELEPHAN_IN_LINUX)

static __always_inline struct flow **place_of(struct sock *sk)
{
	return inet_csk_ca(sk);
}

static __always_inline struct flow *flow_of(struct sock *sk)
{
	return *place_of(sk);
}

static __always_inline struct flow *new_flow(struct sock *sk)
{
	return *place_of(sk) = kzalloc(sizeof(struct flow), GFP_ATOMIC);
}

static __always_inline void drop_flow(struct sock *sk)
{
	kfree(flow_of(sk));
	*place_of(sk) = NULL;
}

static __always_inline __u64 now_us(void)
{
	return ktime_get_ns() / 1000;
}

static __always_inline void report(struct sock *sk, const struct flow *f, const struct ack *ack)
{
}

#else

static struct flow *flow_of(struct sock *sk)
{
	_Static_assert(sizeof(struct flow) <= sizeof(sk->state), "the stand-in keeps less than the algorithm needs");
	return (struct flow *)sk->state;
}

static struct flow *new_flow(struct sock *sk)
{
	memset(sk->state, 0, sizeof(sk->state));
	return flow_of(sk);
}

static void drop_flow(struct sock *sk)
{
	(void)sk;
}

static struct tcp_sock *tcp_sk(struct sock *sk)
{
	return &sk->tp;
}

static __u64 now_us(void)
{
	return native_now;
}

static void report(struct sock *sk, const struct flow *f, const struct ack *ack)
{
	fx own[INTERNALS_MAX] = { 0 };

	(void)sk;
	(void)ack;
	internals(&f->now, own);
}

#endif

static __always_inline fx threshold_from(__u32 ssthresh)
{
	return ssthresh >= INFINITE_SSTHRESH ? FX_MAX : fx_from(ssthresh);
}

static __always_inline __u32 threshold_to(fx ssthresh)
{
	__s64 whole = fx_floor(ssthresh);

	return whole >= INFINITE_SSTHRESH ? INFINITE_SSTHRESH : (__u32)whole;
}

/* Takes over a window that the kernel set by itself, except after an idle period or a timeout. */
static __always_inline bool adopt_window(__u32 cwnd, struct state *s)
{
	if (s->win.restarted) {
		s->win.restarted = false;
		return false;
	}
	if (fx_floor(s->win.w) > cwnd)
		moderate(s, fx_from(cwnd));
	else if (fx_floor(s->win.w) < cwnd)
		s->win.w = fx_from(cwnd);
	return true;
}

/* Takes over the threshold, too. */
static __always_inline void adopt(const struct tcp_sock *tp, struct state *s)
{
	__u32 ssthresh = tp->snd_ssthresh;

	if (adopt_window(tp->snd_cwnd, s) && threshold_to(s->win.ssthresh) != ssthresh)
		s->win.ssthresh = threshold_from(ssthresh);
}

static __always_inline void publish(struct tcp_sock *tp, const struct state *s)
{
	__s64 cwnd = fx_floor(s->win.w), clamp = tp->snd_cwnd_clamp;
	__u32 ssthresh = threshold_to(s->win.ssthresh);

	cwnd = cwnd > clamp ? clamp : cwnd;
	tp->snd_cwnd = cwnd < 1 ? 1 : (__u32)cwnd;
	if (ssthresh != tp->snd_ssthresh)
		tp->snd_ssthresh = ssthresh;
}

/* Forward delay plus a constant: the time of the ACK minus the time of the segment, by the two hosts' clocks. */
static __always_inline void read_owd(const struct tcp_sock *tp, struct window *win, struct ack *ack)
{
	__u32 difference;
	__s64 ticks;

	/* A repeated ACK, and one with SACK, echoes an old timestamp (RFC 7323 section 4.3). */
	if (!READ_BIT(tp, rx_opt.saw_tstamp) || !tp->rx_opt.rcv_tsecr || tp->sacked_out || win->recovering)
		return;
	difference = tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr;
	if (!win->has_origin) {
		win->owd_origin = difference;
		win->has_origin = true;
	}
	ticks = (__s32)(difference - win->owd_origin);
	if (!HAS_MEMBER(tp->tcp_usec_ts) || !READ_BIT(tp, tcp_usec_ts))
		ticks *= 1000;
	ack->owd = fx_from(ticks);
	ack->has_owd = true;
}

/* Handles a kept ACK that was not followed by cong_avoid. */
static __always_inline void flush(struct sock *sk, struct flow *f)
{
	struct ack *ack = &f->now.win.pending;

	if (!f->now.win.has_pending)
		return;
	ack->in_recovery = true;
	on_ack(&f->now, ack);
	report(sk, f, ack);
	f->now.win.has_pending = false;
}

HOOK(void, el_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct flow *f = new_flow(sk);
	struct window *win;

	if (!f)
		return;
	f->started_ns = now_us() * 1000;
	win = &f->now.win;
	win->w = fx_from(tp->snd_cwnd);
	win->initial = win->w;
	win->ssthresh = threshold_from(tp->snd_ssthresh);
	win->min_rtt = FX_MAX;
	win->delivered = tp->delivered;
	win->round_end = tp->snd_nxt;
	win->segment_bytes = tp->mss_cache;
	on_start(&f->now, now_us());
}

HOOK(void, el_release, struct sock *sk)
{
	drop_flow(sk);
}

HOOK(void, el_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct flow *f = flow_of(sk);
	struct window *win;
	struct ack *ack;

	if (!f)
		return;
	win = &f->now.win;
	ack = &win->pending;
	flush(sk, f);
	if (tp->delivered == win->delivered && sample->rtt_us < 0)
		return;
	ack->now = now_us();
	ack->acked = fx_from(tp->delivered - win->delivered);
	win->delivered = tp->delivered;
	ack->rtt = sample->rtt_us < 0 ? NONE : fx_from(sample->rtt_us);
	if (ack->rtt >= 0)
		win->min_rtt = fx_min(win->min_rtt, ack->rtt);
	ack->min_rtt = win->min_rtt;
	ack->in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	ack->round_start = !before(tp->snd_una, win->round_end);
	if (ack->round_start)
		win->round_end = tp->snd_nxt;
	ack->in_recovery = false;
	ack->has_owd = false;
	read_owd(tp, win, ack);
	win->has_pending = true;
}

HOOK(void, el_cong_avoid, struct sock *sk, __u32 una, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct flow *f = flow_of(sk);
	struct ack *ack;

	if (!f || !f->now.win.has_pending)
		return;
	ack = &f->now.win.pending;
	f->now.win.has_pending = false;
	adopt(tp, &f->now);
	/* In slow start a window of which half was used counts as full (the kernel's tcp_is_cwnd_limited). */
	ack->window_limited = READ_BIT(tp, is_cwnd_limited) ||
			      (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
	on_ack(&f->now, ack);
	publish(tp, &f->now);
	report(sk, f, ack);
}

static __always_inline __u32 tell_congestion(struct flow *f)
{
	struct signal signal = { .now = now_us(), .min_rtt = f->now.win.min_rtt };

	f->before = f->now;
	f->now.win.recovering = true;
	on_congestion(&f->now, &signal);
	return threshold_to(f->now.win.ssthresh);
}

HOOK(__u32, el_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct flow *f = flow_of(sk);
	__u32 ssthresh;

	if (!f)
		return tp->snd_cwnd / 2 > 2 ? tp->snd_cwnd / 2 : 2;
	adopt(tp, &f->now);
	ssthresh = tell_congestion(f);
	f->now.win.asked = true;
	return ssthresh;
}

static __always_inline void tell_timeout(struct tcp_sock *tp, struct state *s)
{
	struct signal signal = { .now = now_us(), .min_rtt = s->win.min_rtt };

	on_timeout(s, &signal);
	s->win.recovering = true;
	s->win.timed_out = true;
	s->win.restarted = true;
	tp->snd_ssthresh = threshold_to(s->win.ssthresh);
}

HOOK(void, el_cwnd_event, struct sock *sk, __u32 event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct flow *f;

	if (event != EVENT_LOSS && event != EVENT_CWND_RESTART)
		return;
	f = flow_of(sk);
	if (!f)
		return;
	if (event == EVENT_CWND_RESTART) {
		flush(sk, f);
		adopt(tp, &f->now);
		on_idle(&f->now, now_us());
		f->now.win.restarted = true;
		return;
	}
	f->now = f->before;
	flush(sk, f);
	tell_timeout(tp, &f->now);
}

HOOK(void, el_set_state, struct sock *sk, __u8 new_state)
{
	struct flow *f = flow_of(sk);
	struct window *win;
	bool asked;

	if (!f)
		return;
	win = &f->now.win;
	asked = win->asked;
	win->asked = false;
	if (new_state == CA_LOSS) {
		/* A timeout in a recovery: the kernel asks for no threshold, and has no event for it. */
		if (win->recovering && !win->timed_out && !asked) {
			flush(sk, f);
			tell_timeout(tcp_sk(sk), &f->now);
		}
	} else if ((new_state == CA_RECOVERY || new_state == CA_CWR) && !asked && !win->recovering) {
		/*
		 * If one processor handled the ACKs of two sockets, Linux 6.18 sometimes did not ask for the threshold, and used an
		 * arbitrary number.
		 */
		adopt_window(tcp_sk(sk)->snd_cwnd, &f->now);
		tcp_sk(sk)->snd_ssthresh = tell_congestion(f);
	} else if (new_state <= CA_DISORDER && win->recovering) {
		win->recovering = false;
		win->timed_out = false;
		on_recovery_exit(&f->now, now_us());
	}
}

HOOK(__u32, el_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct flow *f = flow_of(sk);
	__s64 cwnd;

	if (!f)
		return tp->snd_cwnd;
	on_undo(&f->now);
	f->now.win.recovering = false;
	f->now.win.timed_out = false;
	cwnd = fx_floor(f->now.win.w);
	return cwnd > tp->snd_cwnd ? (__u32)cwnd : tp->snd_cwnd;
}

/* Name that sockets select; the compiler's command line sets the name of a run. */
#ifndef EL_NAME
#define EL_NAME "el_unnamed"
#endif

#ifdef __bpf__
char _license[] SEC("license") = "Dual MIT/GPL";

#define ALGORITHM                                                                                                      \
	const volatile char columns[] = COLUMNS;                                                                       \
	SEC(".struct_ops")                                                                                             \
	struct tcp_congestion_ops algorithm = {                                                                        \
		.flags = TCP_CONG_NON_RESTRICTED,                                                                      \
		.ssthresh = (void *)el_ssthresh,                                                                       \
		.cong_avoid = (void *)el_cong_avoid,                                                                   \
		.set_state = (void *)el_set_state,                                                                     \
		.cwnd_event = (void *)el_cwnd_event,                                                                   \
		.pkts_acked = (void *)el_pkts_acked,                                                                   \
		.undo_cwnd = (void *)el_undo_cwnd,                                                                     \
		.init = (void *)el_init,                                                                               \
		.release = (void *)el_release,                                                                         \
		.name = EL_NAME,                                                                                       \
	}
#elif defined(ELEPHAN_IN_LINUX)
static void el_cwnd_event_of_linux(struct sock *sk, enum tcp_ca_event event)
{
	el_cwnd_event(sk, event);
}

/* Not restricted: any socket may select it. */
#define ALGORITHM                                                                                                      	static struct tcp_congestion_ops algorithm = {                                                                 		.flags = TCP_CONG_NON_RESTRICTED,                                                                      		.owner = THIS_MODULE,                                                                                  		.ssthresh = el_ssthresh,                                                                               		.cong_avoid = el_cong_avoid,                                                                           		.set_state = el_set_state,                                                                             		.cwnd_event = el_cwnd_event_of_linux,                                                                  		.pkts_acked = el_pkts_acked,                                                                           		.undo_cwnd = el_undo_cwnd,                                                                             		.init = el_init,                                                                                       		.release = el_release,                                                                                 		.name = EL_NAME,                                                                                       	};                                                                                                             	static int __init el_register(void)                                                                            	{                                                                                                              		return tcp_register_congestion_control(&algorithm);                                                    	}                                                                                                              	module_init(el_register);                                                                                      	MODULE_LICENSE("Dual MIT/GPL")
#else
#define ALGORITHM const char columns[] = COLUMNS
#endif

#endif
