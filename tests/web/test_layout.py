"""The page's settings: their canonical form and their scenario file are those of Python, for random settings."""

from __future__ import annotations

import json
import random
import subprocess
from typing import Any

from tests.web import wasm

from elephan.scenario import Scenario, catalog
from elephan.web import page

pytestmark = wasm.needs_node

SETTINGS = 300
SCRIPT = """
import { readFileSync } from "node:fs";
const { canonical, toml } = await import(process.argv[1]);
const { settings, template, queues } = JSON.parse(readFileSync(0));
const form = (kind, rate) => queues[`${kind} ${rate}`];
console.log(JSON.stringify(settings.map((s) => [toml(s), canonical(s, template, form)])));
"""


def _settings(draw: random.Random, data: dict[str, Any]) -> dict[str, Any]:
    rtt = draw.choice([1, 7, 40, 100, 333, round(draw.uniform(1, 600), 1)])
    return {
        "rate_mbps": draw.choice([1, 20, 33, 622, round(draw.uniform(1, 1000), 2)]),
        "rtt_ms": rtt,
        "buffer_packets": draw.randint(1, 20000),
        "loss_percent": draw.choice([0, 0, 0.07, 0.001, 0.3, round(draw.uniform(0, 5), 3)]),
        "queue": draw.choice(page.QUEUES),
        "ecn": draw.random() < 0.5,
        "duration_s": draw.randint(5, 300),
        "flows": [_flow(draw, rtt, data) for _ in range(draw.randint(1, 8))],
    }


def _flow(draw: random.Random, rtt: float, data: dict[str, Any]) -> dict[str, Any]:
    entry = draw.choice(data["algorithms"])
    names = [entry["name"], *(f"{entry['name']}:{preset['name']}" for preset in entry["presets"])]
    algorithm = draw.choice(names)
    parameters = {}
    for parameter in entry["parameters"]:
        value = parameter["default"]
        if draw.random() < 0.2 and value is not None and algorithm == entry["name"]:
            parameters[parameter["name"]] = value
    return {
        "algorithm": algorithm,
        "parameters": parameters,
        "start_s": draw.choice([0, 0, 0.5, 3, round(draw.uniform(0, 4.9), 1)]),
        "rtt_ms": None if draw.random() < 0.5 else round(rtt + draw.choice([0, 1, 17.5, 400]), 1),
        "left": draw.random() < 0.3,
    }


def _queue_forms(settings: list[dict[str, Any]], template: dict[str, Any]) -> dict[str, Any]:
    """The engine's defaults of every queue that the settings need; in the page they come from the engine itself."""
    octets = template["packet_bytes"]
    forms = {}
    for one in settings:
        rate = round(one["rate_mbps"] * 1e6)
        for kind, bps in ((one["queue"], rate), ("droptail", rate * template["access_rates"])):
            forms[f"{kind} {bps}"] = catalog.queue_form(kind, {}, bps, octets)
    return forms


def test_the_pages_form_and_file_are_those_of_python() -> None:
    data, draw = page.data(), random.Random(22)
    settings = [_settings(draw, data) for _ in range(SETTINGS)]
    given = {"settings": settings, "template": data["template"], "queues": _queue_forms(settings, data["template"])}
    assert wasm.NODE is not None
    command = [wasm.NODE, "--input-type=module", "-e", SCRIPT, str(wasm.ENGINE.parent / "layout.mjs")]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=True, timeout=60)
    for one, (toml, form) in zip(settings, json.loads(done.stdout), strict=True):
        expected = Scenario.from_toml(toml).canonical()
        for ours, theirs in zip(form.pop("flows"), expected.pop("flows"), strict=True):
            assert ours == theirs, toml
        assert form == expected, (one, toml)
