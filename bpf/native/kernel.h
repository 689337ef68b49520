/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Replaces ../kernel.h when the algorithms are compiled as ordinary programs; it defines a small tcp_sock. */
#ifndef ELEPHAN_KERNEL_H
#define ELEPHAN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t __u8;
typedef uint16_t __u16;
typedef int32_t __s32;
typedef uint32_t __u32;
typedef long long __s64;
typedef unsigned long long __u64;

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __noinline __attribute__((noinline))

struct tcp_options_received {
	__u32 rcv_tsval;
	__u32 rcv_tsecr;
	bool saw_tstamp;
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
	bool is_cwnd_limited;
	bool tcp_usec_ts;
};

/* The socket: its tcp_sock, and the algorithm's state. */
struct sock {
	struct tcp_sock tp;
	_Alignas(16) unsigned char state[2048];
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
};

/* The clock, us, which the driver sets. */
extern __u64 native_now;
/* The driver may set a parameter by its name. */
void native_param(const char *name, __s64 *value);

#define HOOK(type, name, arguments...) type name(arguments)
#define READ_BIT(pointer, member) ((pointer)->member)
#define HAS_MEMBER(member) true

#define PARAM(name, value)                                                                                             \
	fx p_##name = FX(value);                                                                                       \
	__attribute__((constructor)) static void set_##name(void)                                                      \
	{                                                                                                              \
		native_param(#name, &p_##name);                                                                        \
	}                                                                                                              \
	extern fx p_##name

#define CHOICE(name, value, last) PARAM(name, value)

#endif
