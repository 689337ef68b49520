"""Scatter of a quick score between texts of one algorithm, which draw other durations and seeds of their runs.

    python benches/score_texts.py [TEXTS]

Each text is a file in Rust with a built-in algorithm in it, and differs from the others in a comment. A line has the
mean and the standard deviation of an algorithm's scores.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import fmean, stdev

from elephan.design import score

ALGORITHMS = {"cubic": "Cubic", "reno": "Reno", "htcp": "Htcp", "vegas": "Vegas", "stcp": "Stcp"}
TEXT = """// Text NUMBER.
use elephan_cc::MODULE::TYPE;
use elephan_cc::param::Settings;
use elephan_cc::{Ack, Algorithm, Event, Needs, Observe};

#[derive(Clone)]
pub struct Mine {
    base: TYPE,
}

impl Default for Mine {
    fn default() -> Self {
        let none = std::collections::BTreeMap::new();
        let settings = Settings::resolve(&TYPE::ENTRY, "", &none).expect("defaults");
        Self { base: TYPE::new(&settings).expect("defaults") }
    }
}

impl Observe for Mine {}

impl Algorithm for Mine {
    fn on_ack(&mut self, ack: &Ack) {
        self.base.on_ack(ack);
    }
    fn on_event(&mut self, event: &Event) {
        self.base.on_event(event);
    }
    fn window(&self) -> f64 {
        self.base.window()
    }
    fn ssthresh(&self) -> f64 {
        self.base.ssthresh()
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.base.pacing_rate()
    }
    fn needs(&self) -> Needs {
        self.base.needs()
    }
    fn recovery_floor(&self) -> f64 {
        self.base.recovery_floor()
    }
}
"""


def main() -> None:
    texts = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    with tempfile.TemporaryDirectory() as folder:
        for module, name in ALGORITHMS.items():
            scores = []
            for number in range(texts):
                text = TEXT.replace("NUMBER", str(number)).replace("MODULE", module).replace("TYPE", name)
                file = Path(folder) / f"{module}_{number}.rs"
                file.write_text(text, encoding="utf-8")
                found = score(str(file))
                assert not found.failures, found.failures
                scores.append(found.combined_score)
            own = score(module).combined_score
            print(f"{module:<8} {own:+.3f}; {texts} texts: {fmean(scores):+.3f}, sd {stdev(scores):.3f}", flush=True)


if __name__ == "__main__":
    main()
