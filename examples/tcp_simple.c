// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A congestion control for Linux, as small as one can be: additive increase of one segment each round trip,
 * multiplicative decrease to `beta` / 1024 of the window.
 *
 *	elephan run examples/own_in_linux.toml --on linux
 */
#include <linux/module.h>
#include <net/tcp.h>

static int beta __read_mostly = 512;
module_param(beta, int, 0644);
MODULE_PARM_DESC(beta, "fraction of the window that is left after a loss, of 1024");

static void simple_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

static u32 simple_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * beta / 1024, 2U);
}

static struct tcp_congestion_ops simple __read_mostly = {
	.name		= "simple",
	.owner		= THIS_MODULE,
	.ssthresh	= simple_ssthresh,
	.cong_avoid	= simple_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static int __init simple_register(void)
{
	return tcp_register_congestion_control(&simple);
}

module_init(simple_register);
MODULE_LICENSE("Dual MIT/GPL");
