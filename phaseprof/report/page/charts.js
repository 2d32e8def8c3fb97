// Charts along the generations: lines, every reading by phase, areas by cause, and what each phase adds.
pp.kinds = (() => {
  const { FORMATS, TURN, color, dash, frame, largest, legend, line, listen, nameOf, roomy, short, signed, span, svg } = pp;
  const within = (domain, whole) => domain || whole;
  const dots = (points, paint) => (points.length <= 60 ? points.map(([cx, cy]) => svg("circle", { cx, cy, r: 2.6, style: `fill:${paint}` })) : []);
  const nearest = (values, wanted) => values.reduce((best, v, i) => (Math.abs(v - wanted) < Math.abs(values[best] - wanted) ? i : best), 0);
  const padded = ([low, high]) => (low === high ? [low - 0.5, high + 0.5] : [low, high]);

  function lines(place, view, names, state) {
    const shift = view.labels ? 1 : names.shift;
    const paint = (one) => (view.broken ? "var(--bad)" : color(one.color));
    const values = view.lines.flatMap((one) => one.v);
    const band = view.band && view.band.some((v) => v >= 0) ? view.band : null;
    const top = band ? Math.max(largest(values), ...band, 1) * 1.1 : 0;
    const xs = padded(span(view.lines.flatMap((one) => one.g)).map((g) => g + shift));
    const f = frame(place, { x: within(state.domain, xs), y: band ? [0, top * 1.08] : roomy(span(values), view.unit), unit: view.unit, names,
      label: view.labels ? (v) => (Number.isInteger(v) && view.labels[v - 1] !== undefined ? short(view.labels[v - 1], 14) : "") : undefined });
    if (band) drawBand(f, band, view.expected, top);
    view.lines.forEach((one) => {
      const points = one.g.map((g, i) => [f.sx(g + shift), f.sy(one.v[i])]);
      f.plot.append(line(points, paint(one), { "stroke-width": one.wide ? 5 : 2, "stroke-dasharray": dash(one.color), "stroke-opacity": one.wide ? 0.5 : 1 }), ...dots(points, paint(one)));
    });
    place.append(f.root);
    legend(place, view.lines.map((one) => [one.name, paint(one)]));
    const every = [...new Set(view.lines.flatMap((one) => one.g))].sort((a, b) => a - b);
    listen(place, f, { zoom: state.zoom, say: (v) => {
      const g = every[nearest(every, v - shift)];
      const told = view.lines.filter((one) => one.g.includes(g)).map((one) => [one.name, one.v[one.g.indexOf(g)]]);
      const head = view.labels ? view.labels[g] : `${TURN} ${nameOf(names, g)}`;
      return { px: f.sx(g + shift), lines: [head, ...told.map(([name, n]) => (view.lines.length > 1 ? `${name}: ` : "") + FORMATS[view.unit](n))] };
    } });
    return f;
  }

  function drawBand(f, [low, high], words, top) {
    const [y0, y1] = [f.sy(high >= 0 ? high : top), f.sy(low >= 0 ? low : 0)];
    f.plot.append(svg("rect", { x: 0, y: Math.min(y0, y1 - 2) - 1, width: f.w, height: Math.max(y1 - y0, 2) + 2, class: "band" }),
      svg("text", { x: f.w - 4, y: Math.max(12, y0 - 6), class: "said", "text-anchor": "end" }, words));
  }

  // A reading of generation g stands between g - 0.4 and g + 0.4, by the place of its point in the loop.
  function path(place, view, names, state) {
    const n = view.points.length;
    const xs = view.g.map((g, i) => g + names.shift + (n > 1 ? -0.4 + (0.8 * view.p[i]) / (n - 1) : 0));
    const x = within(state.domain, padded(span(xs)));
    const shown = view.v.filter((_, i) => xs[i] >= x[0] && xs[i] <= x[1]);
    const f = frame(place, { x, y: roomy(span(shown), view.unit), unit: view.unit, names });
    const at = (i) => [f.sx(xs[i]), f.sy(view.v[i])];
    const keys = [];
    if (n > 1) {
      f.plot.append(line(xs.map((_, i) => at(i)), "var(--path)", { "stroke-width": 1.2 }));
      view.phases.forEach((phase, owner) => {
        stretches(view, owner).forEach((part) => f.plot.append(line(part.map(at), color(owner), { "stroke-width": 3, "stroke-dasharray": dash(owner) })));
        keys.push([phase, color(owner)]);
      });
    }
    const ends = view.p.map((p, i) => i).filter((i) => view.p[i] === view.end);
    f.plot.append(line(ends.map(at), "var(--ink)", { "stroke-dasharray": n > 1 ? "2 3" : "none" }), ...dots(ends.map(at), "var(--ink)"));
    place.append(f.root);
    legend(place, [...keys, [view.points[view.end], "var(--ink)"]]);
    listen(place, f, { zoom: state.zoom, say: (_, px, py) => {
      const away = xs.map((_x, i) => Math.hypot(at(i)[0] - px, (at(i)[1] - py) / 4));
      const i = nearest(away, 0);
      const step = i > 0 ? view.v[i] - view.v[i - 1] : null;
      return { px: at(i)[0], py: at(i)[1], lines: [`${TURN} ${nameOf(names, view.g[i])} · ${view.points[view.p[i]]}`, FORMATS[view.unit](view.v[i]),
        ...(step === null ? [] : [`${step === 0 ? "no change" : signed(view.unit, step)} since the reading before`])] };
    } });
    return f;
  }

  function stretches(view, owner) {
    const found = [];
    let last = -2;
    for (let i = 1; i < view.g.length; i += 1) {
      if (view.owners[view.p[i]] !== owner || view.g[i] !== view.g[i - 1]) continue;
      if (last !== i - 1) found.push([i - 1]);
      found[found.length - 1].push(i);
      last = i;
    }
    return found;
  }

  // Parts of a whole, one on the other; above them the whole as it was read, the limit, and the way to it.
  function areas(place, view, names, state) {
    const xs = view.g.map((g) => g + names.shift);
    const [first, last] = padded(span(xs));
    const sums = view.g.map((_, i) => view.layers.reduce((sum, layer) => sum + layer.v[i], 0));
    const most = Math.max(largest(view.total), largest(sums));
    const ahead = view.ahead ? { g: view.ahead[0] + names.shift, v: view.ahead[1] } : null;
    const far = ahead ? Math.min(ahead.g, last + Math.max(0.4 * (last - first), 1)) : last;
    const fits = view.limit !== null && view.limit <= 2.2 * most;
    const f = frame(place, { x: within(state.domain, [first, far]), y: [0, (fits ? Math.max(view.limit, most) : most) * 1.12], unit: "bytes", names });
    let base = view.g.map(() => 0);
    view.layers.forEach((layer, at) => {
      const top = base.map((v, i) => v + layer.v[i]);
      const edge = [...xs.map((x, i) => [f.sx(x), f.sy(top[i])]), ...xs.map((x, i) => [f.sx(x), f.sy(base[i])]).reverse()];
      f.plot.append(svg("polygon", { points: edge.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" "), class: "area", style: `fill:${color(at)};stroke:${color(at)}` }));
      base = top;
    });
    f.plot.append(line(xs.map((x, i) => [f.sx(x), f.sy(view.total[i])]), "var(--ink)", { "stroke-width": 2 }));
    if (view.limit !== null) drawLimit(f, view, ahead, { last, fits });
    place.append(f.root);
    legend(place, [[view.whole, "var(--ink)"], ...view.layers.map((layer, at) => [layer.name, color(at)]).reverse()]);
    listen(place, f, { zoom: state.zoom, say: (v) => {
      const i = nearest(xs, v);
      return { px: f.sx(xs[i]), lines: [`${TURN} ${nameOf(names, view.g[i])}`, `${view.whole}: ${FORMATS.bytes(view.total[i])}`,
        ...view.layers.map((layer) => `${layer.name}: ${FORMATS.bytes(layer.v[i])}`).reverse()] };
    } });
    return f;
  }

  function drawLimit(f, view, ahead, { last, fits }) {
    const y = fits ? f.sy(view.limit) : 0;
    if (fits) f.plot.append(svg("line", { x1: 0, x2: f.w, y1: y, y2: y, class: "limit" }));
    f.plot.append(svg("text", { x: 6, y: y + 15, class: "said bad" }, (fits ? "" : "↑ ") + view.limit_words[f.narrow ? 1 : 0]));
    if (ahead) f.plot.append(line([[f.sx(last), f.sy(view.total[view.total.length - 1])], [f.sx(ahead.g), f.sy(ahead.v)]], "var(--bad)", { "stroke-dasharray": "6 4" }));
  }

  function heat(place, view, names, state) {
    const shift = names.shift;
    const x = within(state.domain, [view.from[0] + shift - 0.5, view.to[view.to.length - 1] + shift + 0.5]);
    const rows = view.phases.length;
    const f = frame(place, { x, y: [0, rows], unit: view.unit, names, rows });
    const tall = f.h / rows;
    const gap = f.w / view.from.length > 6 ? 1 : 0;
    view.cells.forEach((row, at) => {
      f.root.append(svg("text", { x: f.left - 8, y: f.top + (at + 0.5) * tall + 4, class: "tick name", "text-anchor": "end" }, short(view.phases[at], f.narrow ? 12 : 26)));
      row.forEach((v, i) => {
        if (v === null) return;
        const [begin, end] = [f.sx(view.from[i] + shift - 0.5), f.sx(view.to[i] + shift + 0.5)];
        const share = Math.round(100 * Math.min(1, Math.abs(v) / (view.limit || 1)));
        f.plot.append(svg("rect", { x: begin.toFixed(1), width: Math.max(0.6, end - begin - gap).toFixed(1), y: at * tall + 1, height: Math.max(1, tall - 2),
          style: `fill:color-mix(in srgb, var(--${v < 0 ? "low" : "high"}) ${share}%, var(--mid))` }));
      });
    });
    place.append(f.root);
    listen(place, f, { zoom: state.zoom, say: (v, px, py) => {
      const at = Math.floor(py / tall);
      const i = view.to.findIndex((g) => v <= g + shift + 0.5);
      if (at < 0 || at >= rows || i < 0) return null;
      const one = view.from[i] === view.to[i];
      const turns = one ? `${TURN} ${nameOf(names, view.from[i])}` : `${TURN}s ${nameOf(names, view.from[i])} to ${nameOf(names, view.to[i])}`;
      const value = view.cells[at][i];
      return { px, py, lines: [view.phases[at], turns, value === null ? "not visited" : signed(view.unit, value)] };
    } });
    return f;
  }

  return { lines, path, areas, heat };
})();
