/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Types of the kernel that are used here, with only the members that are read or written. libbpf finds the offsets of
 * these members in the running kernel's BTF when an object is loaded (CO-RE), so no kernel headers are needed.
 */
#ifndef ELEPHAN_KERNEL_H
#define ELEPHAN_KERNEL_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)

enum { BPF_MAP_TYPE_SK_STORAGE = 24, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_F_NO_PREALLOC = 1, BPF_SK_STORAGE_GET_F_CREATE = 1, BPF_RB_NO_WAKEUP = 1 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	__be32 skc_daddr;
	__be16 skc_dport;
	__u16 skc_num;
};

struct sock {
	struct sock_common __sk_common;
};

struct tcp_options_received {
	__u32 rcv_tsval;
	__u32 rcv_tsecr;
	__u16 saw_tstamp : 1;
};

struct tcp_sock {
	struct tcp_options_received rx_opt;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 delivered;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 max_packets_out;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 mss_cache;
	__u8 is_cwnd_limited : 1;
	/* Linux 6.7: timestamps tick each microsecond. */
	__u8 tcp_usec_ts : 1;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
};

struct tcp_congestion_ops {
	__u32 flags;
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, __u32 event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
};

#pragma clang attribute pop

#define HOOK(type, name, arguments...) SEC("struct_ops/" #name) type BPF_PROG(name, arguments)
#define READ_BIT(pointer, member) BPF_CORE_READ_BITFIELD(pointer, member)
#define HAS_MEMBER(member) bpf_core_field_exists(member)

/* Set when the object is loaded. */
#define PARAM(name, value) const volatile fx p_##name = FX(value)
/* A choice, by its index in the Rust twin; only the choices up to `last` exist here. */
#define CHOICE(name, value, last)                                                                                      \
	PARAM(name, value);                                                                                            \
	const volatile fx last_##name = FX(last)

#endif
