"use strict";
// Figures are drawn when they come into view, so that a page with many of them opens at once.
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const config = { responsive: true, displaylogo: false, toImageButtonOptions: { format: "svg" } };

function themed(layout) {
  const out = structuredClone(layout);
  Object.assign(out, {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: style("--ink"), family: "system-ui, sans-serif", size: 12 },
    margin: { l: 64, r: 16, t: 48, b: 56 }, hovermode: "closest",
    legend: { orientation: "h", y: -0.14, yanchor: "top", ...(layout.legend || {}) },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: style("--quiet"), activecolor: style("--ink") },
    ...(layout.margin ? { margin: layout.margin } : {}),
  });
  for (const key of Object.keys(out)) {
    if (/^[xy]axis\d*$/.test(key)) {
      out[key] = { gridcolor: style("--line"), zerolinecolor: style("--line"), linecolor: style("--quiet"), ...out[key] };
    }
  }
  return out;
}

const drawn = new Map();
function draw(node, figure) {
  drawn.set(node, figure);
  Plotly.react(node, figure.data, themed(figure.layout), config);
}

function data(id) {
  const node = document.getElementById(id);
  return node ? JSON.parse(node.textContent) : null;
}

const figures = data("figures-data") || {};
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      watcher.unobserve(entry.target);
      draw(entry.target, figures[entry.target.dataset.figure]);
    }
  }
}, { rootMargin: "400px" });
document.querySelectorAll("[data-figure]").forEach((node) => watcher.observe(node));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  drawn.forEach((figure, node) => draw(node, figure));
});
addEventListener("beforeprint", () => {
  document.querySelectorAll("[data-figure]").forEach((node) => {
    if (!drawn.has(node)) draw(node, figures[node.dataset.figure]);
  });
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
      line: { width: 1.2, color: explorer.colors[curve.color] }, yaxis: axis,
    });
    draw(target, {
      data: [...run.windows.map((curve) => line(curve, "y")), ...run.queue.map((curve) => line(curve, "y2"))],
      layout: {
        height: 520, title: { text: run.title, font: { size: 14 } },
        xaxis: { title: { text: "time (s)" }, anchor: "y2" },
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
