// Draws the charts of a page from the data beside it.  Every text from the recording goes through asText, since Plotly
// reads tags in labels.  A chart is drawn when it comes near the screen, so that a long page opens fast.
(() => {
  "use strict";
  const source = document.getElementById("phaseprof-data");
  if (!source || !window.Plotly) return;
  const data = JSON.parse(source.textContent);
  const root = document.documentElement;
  root.classList.add("live");

  const asText = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "&#36;"); // $..$ would be a formula
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const colors = () => Array.from({ length: 8 }, (_, at) => css(`--c${at}`));
  const isNarrow = () => window.innerWidth < 640;
  const DASHES = ["solid", "dash", "dot", "dashdot"];

  const STEPS = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
  const stepFor = (size) => STEPS.find(([step]) => size >= step) || STEPS[STEPS.length - 1];
  const number = (n, digits) => n.toLocaleString("en-US", { maximumFractionDigits: digits });
  const FORMATS = {
    bytes: (n) => {
      const [step, unit] = stepFor(Math.abs(n));
      return `${(n / step).toFixed(step === 1 ? 0 : 2)} ${unit}`;
    },
    count: (n) => number(n, 2),
    rate: (n) => `${number(n, 1)} items/s`,
  };
  const changed = (unit, n) => (n === 0 ? "no change" : signed(unit, n));
  const signed = (unit, n) => (n < 0 ? "" : "+") + FORMATS[unit](n);

  const AXIS = data.axis || "generation"; // what charts run along
  const TURN = AXIS[0].toUpperCase() + AXIS.slice(1);
  const namesOf = (id) => data.names[id.split("-")[0]] || { shift: 0 };
  const nameOf = (names, g) => (names.names && names.names[g] !== undefined ? names.names[g] : String(g + names.shift));

  const largest = (values) => values.reduce((most, v) => (v !== null && Math.abs(v) > most ? Math.abs(v) : most), 0);
  function scaleOf(unit, values) {
    if (unit !== "bytes") return { factor: 1, title: unit === "rate" ? "items/s" : "" };
    const [step, title] = stepFor(largest(values));
    return { factor: step, title };
  }
  const scaled = (values, scale) => values.map((v) => (v === null ? null : v / scale.factor));

  // A reading of generation g stands between g - 0.4 and g + 0.4, by the place of its point in the loop.
  function pathFigure(view, names) {
    const n = view.points.length;
    const x = view.g.map((g, i) => g + names.shift + (n > 1 ? -0.4 + (0.8 * view.p[i]) / (n - 1) : 0));
    const scale = scaleOf(view.unit, view.v);
    const y = scaled(view.v, scale);
    const say = view.g.map((g, i) => {
      const change = i > 0 && view.v[i - 1] !== null ? `<br>${changed(view.unit, view.v[i] - view.v[i - 1])} since the reading before` : "";
      return `<b>${TURN} ${asText(nameOf(names, g))}</b> · ${asText(view.points[view.p[i]])}<br>${FORMATS[view.unit](view.v[i])}${change}`;
    });
    const hover = { hovertemplate: "%{customdata}<extra></extra>" };
    const traces = [];
    if (n > 1) {
      traces.push({ type: "scatter", mode: "lines", name: "every reading", x, y, customdata: say, ...hover,
        line: { color: css("--path"), width: 1.2 } });
      view.phases.forEach((phase, owner) => traces.push(segments(view, { x, y, say }, owner, phase, hover)));
    }
    const end = view.p.map((p, i) => i).filter((i) => view.p[i] === view.end);
    traces.push({ type: "scatter", mode: end.length <= 60 ? "lines+markers" : "lines", name: asText(view.points[view.end]),
      x: end.map((i) => x[i]), y: end.map((i) => y[i]), customdata: end.map((i) => say[i]), ...hover,
      line: { color: css("--ink"), width: 2, dash: n > 1 ? "dot" : "solid" }, marker: { size: 5, color: css("--ink") } });
    return { traces, layout: { hovermode: "closest", yaxis: { title: { text: scale.title } } } };
  }

  function segments(view, all, owner, phase, hover) {
    const trace = { type: "scatter", mode: "lines", name: asText(phase), x: [], y: [], customdata: [], ...hover,
      line: { color: colors()[owner % 8], width: 3, dash: DASHES[Math.floor(owner / 8) % 4] } };
    let last = -2;
    const put = (i) => { trace.x.push(all.x[i]); trace.y.push(all.y[i]); trace.customdata.push(all.say[i]); };
    for (let i = 1; i < view.g.length; i += 1) {
      if (view.owners[view.p[i]] !== owner || view.g[i] !== view.g[i - 1]) continue;
      if (last !== i - 1) {
        if (last >= 0) { trace.x.push(null); trace.y.push(null); trace.customdata.push(""); }
        put(i - 1);
      }
      put(i);
      last = i;
    }
    return trace;
  }

  function linesFigure(view, names) {
    const scale = scaleOf(view.unit, view.lines.flatMap((one) => one.v));
    const head = (g) => (view.labels ? asText(view.labels[g]) : `${TURN} ${asText(nameOf(names, g))}`);
    const traces = view.lines.map((one) => ({
      type: "scatter", mode: one.g.length <= 60 ? "lines+markers" : "lines", name: asText(one.name),
      x: one.g.map((g) => g + (view.labels ? 1 : names.shift)), y: scaled(one.v, scale),
      customdata: one.g.map((g, i) => `${view.lines.length > 1 ? `${asText(one.name)}: ` : `<b>${head(g)}</b><br>`}${FORMATS[view.unit](one.v[i])}`),
      hovertemplate: "%{customdata}<extra></extra>",
      line: { color: view.broken ? css("--bad") : colors()[one.color % 8], width: one.wide ? 5 : 2, dash: DASHES[Math.floor(one.color / 8) % 4] },
      marker: { size: 5 },
    }));
    const layout = { hovermode: view.lines.length > 1 ? "x unified" : "closest", yaxis: { title: { text: scale.title } } };
    if (view.unit !== "count") layout.yaxis.rangemode = "normal";
    else layout.yaxis.rangemode = "tozero";
    layout.showlegend = view.lines.length > 1;
    if (view.labels) layout.xaxis = { title: { text: "snapshot" } };
    else if (view.lines.length > 1 && !names.names) layout.xaxis = { unifiedhovertitle: { text: `${TURN} %{x}` } };
    if (view.band && (view.band[0] >= 0 || view.band[1] >= 0)) Object.assign(layout, bandOf(view));
    return { traces, layout };
  }

  function bandOf(view) {
    const [low, high] = view.band;
    const most = Math.max(largest(view.lines.flatMap((one) => one.v)), high, low, 1) * 1.08;
    const y0 = low >= 0 ? low : 0;
    const y1 = high >= 0 ? high : most;
    const thin = (y1 - y0) < most * 0.012 ? most * 0.006 : 0;
    return {
      shapes: [{ type: "rect", xref: "paper", x0: 0, x1: 1, y0: y0 - thin, y1: y1 + thin, layer: "below",
        fillcolor: css("--good"), opacity: 0.28, line: { width: 0 } }],
      annotations: [{ xref: "paper", x: 1, xanchor: "right", y: y1, yanchor: "bottom", yshift: 6, showarrow: false,
        text: asText(view.expected), font: { color: css("--good"), size: 12 }, bgcolor: css("--card"), opacity: 0.9 }],
      yaxis: { range: [0, most * 1.1], title: { text: "" } },
    };
  }

  function heatFigure(view, names) {
    const scale = scaleOf(view.unit, [view.limit]);
    const x = view.from.map((g, i) => (g + view.to[i]) / 2 + names.shift);
    const span = (i) => (view.from[i] === view.to[i] ? `${TURN} ${asText(nameOf(names, view.from[i]))}`
      : `${TURN}s ${asText(nameOf(names, view.from[i]))} to ${asText(nameOf(names, view.to[i]))}`);
    const customdata = view.cells.map((row, at) => row.map((v, i) =>
      `<b>${asText(view.phases[at])}</b> · ${span(i)}<br>${v === null ? "not visited" : signed(view.unit, v)}`));
    const short = (text) => (text.length > (isNarrow() ? 12 : 28) ? `${text.slice(0, isNarrow() ? 11 : 27)}…` : text);
    const traces = [{
      type: "heatmap", x, y: view.phases.map((_, at) => at), z: view.cells.map((row) => scaled(row, scale)), customdata,
      hovertemplate: "%{customdata}<extra></extra>", hoverongaps: false, xgap: view.from.length < 80 ? 1 : 0, ygap: 2,
      zmin: -view.limit / scale.factor, zmax: view.limit / scale.factor,
      colorscale: [[0, css("--low")], [0.5, css("--mid")], [1, css("--high")]],
      colorbar: { thickness: 10, outlinewidth: 0, title: { text: scale.title }, tickfont: { color: css("--muted") } },
      showscale: !isNarrow(),
    }];
    const yaxis = { autorange: "reversed", tickmode: "array", tickvals: view.phases.map((_, at) => at),
      ticktext: view.phases.map((name) => asText(short(name))), automargin: true, showgrid: false, zeroline: false };
    return { traces, layout: { hovermode: "closest", yaxis, xaxis: { showgrid: false }, showlegend: false } };
  }

  const FIGURES = { path: pathFigure, lines: linesFigure, heat: heatFigure };

  function layoutFor(own, isSmall) {
    const axis = { gridcolor: css("--grid"), zerolinecolor: css("--line"), linecolor: css("--line"),
      tickfont: { color: css("--muted") }, title: { font: { color: css("--muted"), size: 12 } } };
    const narrow = isNarrow();
    const whole = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: narrow ? false : "zoom",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: css("--ink") },
      margin: { l: narrow ? 44 : 58, r: 12, t: isSmall ? 16 : 30, b: isSmall || narrow ? 26 : 42 }, autosize: true,
      modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--muted"), activecolor: css("--accent") },
      hoverlabel: { bgcolor: css("--card"), bordercolor: css("--muted"), align: "left", font: { color: css("--ink"), size: 13 } },
      legend: { orientation: "h", x: 0, xanchor: "left", y: narrow ? -0.13 : -0.16, yanchor: "top", font: { color: css("--ink") } },
      ...own,
      xaxis: { ...axis, ...own.xaxis, title: isSmall || narrow ? undefined : { text: AXIS, standoff: 6, font: axis.title.font, ...(own.xaxis || {}).title }, zeroline: false },
      yaxis: { ...axis, ...own.yaxis, title: { ...axis.title, ...(own.yaxis || {}).title }, automargin: true },
    };
    return whole;
  }

  // Named one by one: none of these sends anything anywhere.
  const BUTTONS = [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]];
  const CONFIG = { responsive: true, displaylogo: false, doubleClick: "reset", modeBarButtons: BUTTONS };
  const SMALL = { ...CONFIG, displayModeBar: false };
  const chosen = {};
  const drawn = new Set();

  function draw(place) {
    const views = data.charts[place.id];
    if (!views) return;
    const view = views[chosen[place.id] || 0];
    const { traces, layout } = FIGURES[view.kind](view, namesOf(place.id));
    const isSmall = place.classList.contains("small");
    window.Plotly.react(place, traces, layoutFor(layout, isSmall), isSmall ? SMALL : CONFIG);
    drawn.add(place);
    place.dataset.drawn = "true";
  }

  const places = [...document.querySelectorAll(".chart")];
  const near = new IntersectionObserver((seen) => seen.forEach((one) => {
    if (one.isIntersecting && !drawn.has(one.target)) draw(one.target);
  }), { rootMargin: "400px 0px" });
  places.forEach((place) => near.observe(place));

  document.querySelectorAll("select[data-chart]").forEach((select) => select.addEventListener("change", () => {
    chosen[select.dataset.chart] = Number(select.value);
    draw(document.getElementById(select.dataset.chart));
  }));

  const redraw = () => drawn.forEach((place) => draw(place));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    panels.forEach((panel) => { panel.hidden = false; });
    places.forEach(draw);
  });
  window.addEventListener("afterprint", () => {
    delete root.dataset.theme;
    show(current);
    redraw();
  });

  const tabs = [...document.querySelectorAll("[role=tab]")];
  const panels = tabs.map((tab) => document.getElementById(tab.getAttribute("aria-controls")));
  let current = 0;
  function show(at) {
    if (!tabs.length) return;
    current = (at + tabs.length) % tabs.length;
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === current));
      tab.tabIndex = i === current ? 0 : -1;
      panels[i].hidden = i !== current;
    });
    panels[current].querySelectorAll("[data-drawn]").forEach((place) => window.Plotly.Plots.resize(place));
  }
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => show(at));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { show(at + step); tabs[current].focus(); }
    });
  });
  show(tabs.findIndex((tab) => tab.querySelector(".bad")) < 0 ? 0 : tabs.findIndex((tab) => tab.querySelector(".bad")));
})();
