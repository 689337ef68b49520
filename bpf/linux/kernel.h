/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Replaces ../kernel.h when an algorithm is compiled into a Linux kernel as a congestion control of its own (--on
 * linux). It includes the kernel's headers, and renames identifiers that clash with them.
 */
#ifndef ELEPHAN_KERNEL_H
#define ELEPHAN_KERNEL_H

#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#define ELEPHAN_IN_LINUX

/* The kernel's headers use these names for other things. */
#define ack el_ack
#define before el_before
#define flow el_flow
#define idle el_idle
#define record el_record
#define save el_save
#define state el_state
#define undo el_undo
#define window el_window

/* fixed.h has functions that are not static, for BPF's verifier. */
#undef __noinline
#define __noinline static __attribute__((__noinline__, __unused__))

#define HOOK(type, name, arguments...) static type name(arguments)
#define READ_BIT(pointer, member) ((pointer)->member)
#define HAS_MEMBER(member) true

/* A parameter of the module, in fixed point: a count of 2^-32. */
#define PARAM(name, value)                                                                                             \
	static fx p_##name = FX(value);                                                                                \
	module_param_cb(name, &param_ops_long, &p_##name, 0444)
#define CHOICE(name, value, last) PARAM(name, value)

#endif
