// What every chart is made of.  Texts of the recording become text nodes, never markup.
"use strict";
const pp = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  // Characters that show nothing, or turn the text after them around.
  const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  const clean = (text) => String(text).replace(UNSEEN, "");
  function fill(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
    element.append(...children.map((one) => (one instanceof Node ? one : clean(one))));
    return element;
  }
  const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
  const html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

  const data = JSON.parse(document.getElementById("phaseprof-data").textContent);
  const AXIS = data.axis || "generation"; // what charts run along
  const TURN = AXIS[0].toUpperCase() + AXIS.slice(1);
  const namesOf = (id) => data.names[id.split("-")[0]] || { shift: 0 };
  const nameOf = (names, g) => (names.names && names.names[g] !== undefined ? names.names[g] : String(g + names.shift));

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
  const signed = (unit, n) => (n < 0 ? "" : "+") + FORMATS[unit](n);
  const largest = (values) => values.reduce((most, v) => (v !== null && Math.abs(v) > most ? Math.abs(v) : most), 0);
  const span = (values) => values.reduce(([low, high], v) => (v === null ? [low, high] : [Math.min(low, v), Math.max(high, v)]), [Infinity, -Infinity]);

  function ticks(low, high, most, least = 0) {
    const rough = Math.max((high - low) / most, least, 1e-9);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) found.push(at * step || 0);
    return found;
  }

  // Room above and below; from zero where most of the chart would be air otherwise.
  function roomy([low, high], unit) {
    if (!(high >= low)) return [0, 1];
    const edge = (high - low || Math.abs(high) || 1) * 0.08;
    const fromZero = low >= 0 && (unit === "count" || low < 0.35 * high || high === low);
    return [fromZero ? 0 : low - edge, high + edge];
  }

  // An empty chart with its axes.  `x` and `y` are ranges; what is drawn goes into `plot`, which cuts what lies outside.
  function frame(place, { x, y, unit, names, label, rows }) {
    const small = place.classList.contains("small");
    const narrow = place.clientWidth < 560;
    const width = Math.max(place.clientWidth, 200);
    const height = small ? 160 : place.classList.contains("short") ? 250 : 340;
    const left = rows ? (narrow ? 102 : 190) : narrow ? 48 : 62;
    const bottom = small || narrow ? 24 : 40;
    const [top, right] = [10, 20];
    const [w, h] = [width - left - right, height - top - bottom];
    const sx = (v) => ((v - x[0]) / (x[1] - x[0] || 1)) * w;
    const sy = (v) => h - ((v - y[0]) / (y[1] - y[0] || 1)) * h;
    const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "drawing" });
    if (!rows) valueAxis(root, { y, unit, left, top, w, sy, narrow, n: small ? 3 : 5 });
    ticks(x[0], x[1], Math.max(2, Math.floor(w / 90)), 1).forEach((v) => {
      const text = label ? label(v) : names.names ? nameOf(names, v) : number(v, 0);
      if (text === "") return;
      root.append(svg("line", { x1: left + sx(v), x2: left + sx(v), y1: top, y2: top + h, class: "grid" }),
        svg("text", { x: left + sx(v), y: top + h + 16, class: "tick", "text-anchor": "middle" }, short(text, 12)));
    });
    if (bottom > 30) root.append(svg("text", { x: left + w / 2, y: height - 4, class: "tick", "text-anchor": "middle" }, label ? "" : AXIS));
    const plot = svg("svg", { x: left, y: top, width: w, height: h, overflow: "hidden" });
    root.append(plot);
    return { root, plot, sx, sy, w, h, left, top, x, y, narrow };
  }

  function valueAxis(root, { y, unit, left, top, w, sy, narrow, n }) {
    const [step, title] = unit === "bytes" ? stepFor(largest(y)) : [1, ""];
    ticks(y[0] / step, y[1] / step, n).forEach((v, at) => {
      const text = unit === "bytes" ? `${number(v, 2)}${at === 0 || narrow ? "" : ` ${title}`}` : number(v, 2);
      root.append(svg("line", { x1: left, x2: left + w, y1: top + sy(v * step), y2: top + sy(v * step), class: "grid" }),
        svg("text", { x: left - 6, y: top + sy(v * step) + 4, class: "tick", "text-anchor": "end" }, text));
    });
    if (narrow && title) root.append(svg("text", { x: 2, y: top + 2, class: "tick" }, title));
  }

  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const line = (points, color, more = {}) => svg("polyline", { points: points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" "), class: "line", style: `stroke:${color}`, ...more });
  const color = (at) => `var(--c${at % 8})`;
  const dash = (at) => ["none", "7 4", "2 3", "8 3 2 3"][Math.floor(at / 8) % 4];

  function legend(place, items) {
    if (items.length < 2) return;
    place.append(html("div", { class: "legend" }, ...items.map(([name, paint]) =>
      html("span", { class: "key" }, html("i", { style: `background:${paint}` }), name))));
  }

  // One box of words beside what the mouse or a finger points at.
  function tip(place, lines, x, y) {
    let box = place.querySelector(".tip");
    if (!lines) { if (box) box.remove(); return; }
    if (!box) { box = html("div", { class: "tip", role: "status" }); place.append(box); }
    box.replaceChildren(...lines.map((text, at) => html(at === 0 ? "b" : "span", {}, text)));
    const room = place.clientWidth - box.offsetWidth - 4;
    box.style.left = `${Math.max(2, Math.min(room, x + 14 > room ? x - box.offsetWidth - 14 : x + 14))}px`;
    box.style.top = `${Math.max(2, y - box.offsetHeight / 2)}px`;
  }

  // Words at the mouse; a stretch that is drawn with it is shown wide, a double click shows all again.
  function listen(place, f, { say, zoom }) {
    const mark = svg("line", { y1: 0, y2: f.h, class: "cross", visibility: "hidden" });
    const chosen = svg("rect", { y: 0, height: f.h, class: "chosen", visibility: "hidden" });
    f.plot.append(mark, chosen);
    const at = (event) => {
      const box = f.root.getBoundingClientRect();
      return [Math.min(f.w, Math.max(0, event.clientX - box.left - f.left)), event.clientY - box.top - f.top];
    };
    let from = null;
    const move = (event) => {
      const [px, py] = at(event);
      if (from !== null) {
        fill(chosen, { x: Math.min(from, px), width: Math.abs(px - from), visibility: "visible" }, []);
        return;
      }
      const told = say(f.x[0] + (px / f.w) * (f.x[1] - f.x[0]), px, py);
      if (!told) { tip(place, null); return; }
      fill(mark, { x1: told.px, x2: told.px, visibility: "visible" }, []);
      tip(place, told.lines, f.left + told.px, f.top + (told.py === undefined ? py : told.py));
    };
    f.root.addEventListener("pointermove", move);
    f.root.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && zoom) { [from] = at(event); f.root.setPointerCapture(event.pointerId); event.preventDefault(); } else move(event);
    });
    f.root.addEventListener("pointerup", (event) => {
      const [px] = at(event);
      const begin = from;
      from = null;
      fill(chosen, { visibility: "hidden" }, []);
      if (begin === null || Math.abs(px - begin) < 8) return;
      zoom([begin, px].sort((a, b) => a - b).map((p) => f.x[0] + (p / f.w) * (f.x[1] - f.x[0])));
    });
    f.root.addEventListener("pointerleave", () => { fill(mark, { visibility: "hidden" }, []); tip(place, null); });
    if (zoom) f.root.addEventListener("dblclick", () => zoom(null));
  }

  return { AXIS, FORMATS, TURN, color, dash, data, frame, html, largest, legend, line, listen, nameOf, namesOf, number, roomy, short, signed, span, svg, tip };
})();
