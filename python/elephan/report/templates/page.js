"use strict";
// Figures in view are drawn at once, and others when they come into view, so that a page with many of them opens fast.
async function data(id) {
  const node = document.getElementById(id);
  if (!node) return null;
  const packed = Uint8Array.from(atob(node.textContent.trim()), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

const drawn = new Map();
function draw(node, figure) {
  drawn.set(node, figure);
  if (figure.picture) node.replaceChildren(Object.assign(new Image(), { src: figure.picture, alt: "" }));
  else if (window.elephanFigures) window.elephanFigures.draw(node, figure);
  else node.textContent = "This page was written without the script that draws it (make web).";
}
const again = () => drawn.forEach((figure, node) => draw(node, figure));

let figures = {};
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      watcher.unobserve(entry.target);
      draw(entry.target, figures[entry.target.dataset.figure]);
    }
  }
}, { rootMargin: "400px" });
data("figures-data").then((found) => {
  figures = found || {};
  document.querySelectorAll("[data-figure]").forEach((node) => {
    // A figure in a closed fold has a place, but is drawn when it is opened.
    if (!node.closest("details:not([open])") && node.getBoundingClientRect().top < innerHeight + 400) draw(node, figures[node.dataset.figure]);
    else watcher.observe(node);
  });
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
// Paper is white and as wide as text on A4, whatever the screen is; a browser makes all text smaller for a wider figure.
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  Object.assign(document.body.style, { width: "42rem", padding: "0" });
  document.querySelectorAll(".fold:not([open])").forEach((node) => {
    node.dataset.folded = "";
    node.open = true;
  });
  document.querySelectorAll("[data-figure]").forEach((node) => drawn.set(node, figures[node.dataset.figure]));
  again();
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.theme;
  document.body.removeAttribute("style");
  document.querySelectorAll("[data-folded]").forEach((node) => {
    delete node.dataset.folded;
    node.open = false;
  });
  again();
});

// A link to what is folded opens it.
function unfold() {
  for (let node = document.getElementById(decodeURIComponent(location.hash.slice(1))); node; node = node.parentElement) {
    if (node.tagName === "DETAILS") node.open = true;
  }
}
addEventListener("hashchange", unfold);
unfold();

// The table of claims: rows are shown that match every filter.
const board = document.getElementById("claims");
if (board) {
  const controls = [...document.querySelectorAll("[data-filter]")];
  const count = document.getElementById("shown");
  const apply = () => {
    let shown = 0;
    for (const row of board.tBodies[0].rows) {
      const fits = controls.every((control) => {
        const value = control.value.trim().toLowerCase();
        if (!value) return true;
        if (control.dataset.filter === "text") return row.textContent.toLowerCase().includes(value);
        return row.dataset[control.dataset.filter] === value;
      });
      row.hidden = !fits;
      shown += fits;
    }
    count.textContent = `${shown} of ${board.tBodies[0].rows.length} claims`;
  };
  controls.forEach((control) => control.addEventListener("input", apply));
  data("claims-rows").then((rows) => {
    board.tBodies[0].innerHTML = rows;
    apply();
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  });
}

// Any run: windows and queue, thinned to their extremes, and its scenario. The address names the run.
function explore({ runs, colors }) {
  const experiment = document.getElementById("explore-experiment");
  const pair = document.getElementById("explore-run");
  const show = () => {
    const run = runs[Number(pair.value)];
    if (!run) return;
    const line = (curve, axis) => ({
      type: "scatter", mode: "lines", name: curve.name, x0: curve.start, dx: curve.step,
      y: curve.values.map((value) => (value === null ? null : value * curve.unit)),
      line: { width: 1.2, color: colors[curve.color] }, xaxis: `x${axis}`, yaxis: `y${axis}`,
    });
    draw(document.getElementById("explore-plot"), {
      data: [...run.windows.map((curve) => line(curve, "")), ...run.queue.map((curve) => line(curve, "2"))],
      layout: {
        height: 520, title: { text: run.title },
        xaxis: { domain: [0, 1] }, xaxis2: { domain: [0, 1], matches: "x", title: { text: "time (s)" } },
        yaxis: { title: { text: "cwnd (segments)" }, domain: [0.42, 1], rangemode: "tozero" },
        yaxis2: { title: { text: "queue (packets)" }, domain: [0, 0.34], rangemode: "tozero" },
      },
    });
    document.getElementById("toml-scenario").textContent = run.toml;
    history.replaceState(null, "", `#${run.hash}`);
  };
  const list = () => pair.replaceChildren(...runs.flatMap((run, i) =>
    run.experiment === experiment.value ? [new Option(run.label, String(i))] : []));
  const go = () => {
    const at = Math.max(0, runs.findIndex((run) => `#${run.hash}` === location.hash));
    experiment.value = runs[at]?.experiment ?? "";
    list();
    pair.value = String(at);
    show();
  };
  experiment.replaceChildren(...[...new Set(runs.map((run) => run.experiment))].map((name) => new Option(name, name)));
  experiment.addEventListener("input", () => { list(); show(); });
  pair.addEventListener("input", show);
  addEventListener("hashchange", go);
  go();
}
data("explorer-data").then((found) => found && explore(found));

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "copied";
  } catch {
    // A page from disk may not be allowed to write to the clipboard; then the text is selected for Ctrl-C.
    getSelection().selectAllChildren(source);
    button.textContent = "selected: press Ctrl-C";
  }
  setTimeout(() => { button.textContent = "copy"; }, 2000);
});
