"""Accurate ECN (RFC 9768) of the hosts in a guest: settings of a network namespace, so all connections share them."""

from __future__ import annotations

from collections.abc import Sequence

from elephan.backends.linux.kernels import Kernel
from elephan.scenario import ScenarioError
from elephan.scenario.form import FlowSpec, Spec, StackSpec
from elephan.scenario.stack_table import ACCECN_OPTION_BYTES
from elephan.scenario.stacks import LINUX

Settings = dict[str, str]

# net.ipv4.tcp_ecn: 0 no ECN, 2 the echo of RFC 3168 if the other host asks for it, 3 accurate feedback.
_RECEIVERS = {"accurate": "3", "classic": "2", "none": "0"}
# net.ipv4.tcp_ecn_option: 0 no option, 2 the option in every packet with room for it, which is Linux's default.
_WITHOUT, _WITH = "0", "2"
_ECN, _OPTION = "net/ipv4/tcp_ecn", "net/ipv4/tcp_ecn_option"
# Algorithms of Linux whose packets are ECN-capable without being asked (TCP_CONG_NEEDS_ECN); one in C may be another.
_OWN_FORM = ("dctcp",)
_FILE = "include/net/tcp_ecn.h"
_FIRST = "6.18"


def settings(form: Spec, hosted: Sequence[int]) -> list[Settings]:
    """Settings of the senders' and of the receivers' namespace; none if no flow asks for accurate ECN.

    Raises:
        ScenarioError: Linux has no such receiver, or one flow asks for accurate ECN and another does not.
    """
    for i in hosted:
        _check_header(form.flows[i], f"flow[{i}].stack.header")
    asking = [i for i in hosted if _asks(form.flows[i])]
    if not asking:
        return []
    first = form.flows[asking[0]].stack
    if first.receiver_ecn not in _RECEIVERS:
        raise ScenarioError(
            f"no Linux answers as a receiver with {first.receiver_ecn} ECN; 'sim' can, or write one of "
            f"{', '.join(_RECEIVERS)}",
            path=f"flow[{asking[0]}].stack.receiver_ecn",
        )
    for i in hosted:
        if not _asks(form.flows[i]) or _wanted(form.flows[i].stack) != _wanted(first):
            raise ScenarioError(
                f"Linux has one setting of accurate ECN for all connections of a host, and flow[{asking[0]}] has "
                "another; write the same into both",
                path=f"flow[{i}].stack.accurate_ecn",
            )
    option = _WITH if first.accurate_ecn_option else _WITHOUT
    return [{_ECN: "3", _OPTION: option}, {_ECN: _RECEIVERS[first.receiver_ecn], _OPTION: option}]


def require(form: Spec, hosted: Sequence[int], kernel: Kernel) -> None:
    """Reject a scenario with accurate ECN if the kernel lacks it.

    Raises:
        ScenarioError: the kernel lacks it; the message says which kernels have it.
    """
    for i in hosted:
        if _asks(form.flows[i]) and not kernel.has(_FILE):
            raise ScenarioError(
                f"Linux {kernel.version.partition('-')[0]} has no accurate ECN, which Linux {_FIRST} has; "
                "'elephan lab linux build --source DIR' builds another, and 'sim' has it",
                path=f"flow[{i}].stack.accurate_ecn",
            )


def _check_header(flow: FlowSpec, where: str) -> None:
    """Check that a flow's segments have the size of Linux's headers."""
    stack = flow.stack
    has_option = _asks(flow) and stack.accurate_ecn_option and stack.receiver_ecn == "accurate"
    expected = LINUX.header_bytes + (ACCECN_OPTION_BYTES if has_option else 0)
    if stack.header_bytes != expected:
        raise ScenarioError(
            f"Linux's segments have {expected} B of headers here, and this flow has {stack.header_bytes} B; 'sim' can, "
            "or leave it out",
            path=where,
        )


def _asks(flow: FlowSpec) -> bool:
    """True if a flow's SYN asks for accurate ECN."""
    name = flow.algorithm.partition(":")[0]
    return flow.stack.accurate_ecn and (flow.stack.ecn or name in _OWN_FORM or name.endswith(".c"))


def _wanted(stack: StackSpec) -> tuple[bool, str]:
    return stack.accurate_ecn_option, stack.receiver_ecn
