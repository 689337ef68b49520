"use strict";
// Figures in view are drawn at once, and others when they come into view, so that a page with many of them opens fast.
function data(id) {
  const node = document.getElementById(id);
  return node ? JSON.parse(node.textContent) : null;
}

const drawn = new Map();
function draw(node, figure) {
  drawn.set(node, figure);
  if (figure.picture) node.replaceChildren(Object.assign(new Image(), { src: figure.picture, alt: "" }));
  else if (window.elephanFigures) window.elephanFigures.draw(node, figure);
  else node.textContent = "This page was written without the script that draws it (make web).";
}
const again = () => drawn.forEach((figure, node) => draw(node, figure));

const figures = data("figures-data") || {};
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      watcher.unobserve(entry.target);
      draw(entry.target, figures[entry.target.dataset.figure]);
    }
  }
}, { rootMargin: "400px" });
document.querySelectorAll("[data-figure]").forEach((node) => {
  // A figure in a closed fold has a place, but is drawn when it is opened.
  if (!node.closest("details:not([open])") && node.getBoundingClientRect().top < innerHeight + 400) draw(node, figures[node.dataset.figure]);
  else watcher.observe(node);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
// Paper is white, whatever the screen is.
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  document.querySelectorAll(".fold:not([open])").forEach((node) => {
    node.dataset.folded = "";
    node.open = true;
  });
  document.querySelectorAll("[data-figure]").forEach((node) => drawn.set(node, figures[node.dataset.figure]));
  again();
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.theme;
  document.querySelectorAll("[data-folded]").forEach((node) => {
    delete node.dataset.folded;
    node.open = false;
  });
  again();
});

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
  apply();
}

// Any run: windows and queue, thinned to their extremes.
const explorer = data("explorer-data");
if (explorer) {
  const experiment = document.getElementById("explore-experiment");
  const pair = document.getElementById("explore-run");
  const target = document.getElementById("explore-plot");
  const show = () => {
    const run = explorer.runs[Number(pair.value)];
    if (!run) return;
    const line = (curve, axis) => ({
      type: "scatter", mode: "lines", name: curve.name, x0: curve.start, dx: curve.step, y: curve.values,
      line: { width: 1.2, color: explorer.colors[curve.color] }, xaxis: `x${axis}`, yaxis: `y${axis}`,
    });
    draw(target, {
      data: [...run.windows.map((curve) => line(curve, "")), ...run.queue.map((curve) => line(curve, "2"))],
      layout: {
        height: 520, title: { text: run.title },
        xaxis: { domain: [0, 1] }, xaxis2: { domain: [0, 1], matches: "x", title: { text: "time (s)" } },
        yaxis: { title: { text: "cwnd (segments)" }, domain: [0.42, 1], rangemode: "tozero" },
        yaxis2: { title: { text: "queue (packets)" }, domain: [0, 0.34], rangemode: "tozero" },
      },
    });
  };
  const list = () => {
    pair.replaceChildren(...explorer.runs.flatMap((run, i) =>
      run.experiment === experiment.value ? [new Option(run.label, String(i))] : []));
    show();
  };
  experiment.replaceChildren(...[...new Set(explorer.runs.map((run) => run.experiment))].map((name) => new Option(name, name)));
  experiment.addEventListener("input", list);
  pair.addEventListener("input", show);
  list();
}

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
