// Blocks over time: a block lies on those that were there before it, and sinks when one below it goes.
pp.kinds.blocks = (() => {
  const { FORMATS, color, frame, largest, line, listen, number, svg } = pp;

  // The corners of each block: where its lower edge is from which event on.
  function laid(view) {
    const events = view.blocks.flatMap(([start, end], at) => [[start, 1, at], ...(end < 0 ? [] : [[end, 0, at]])]);
    events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const ways = view.blocks.map(() => []);
    let pile = [];
    events.forEach(([t, comes, at]) => {
      if (comes) {
        ways[at].push([t, pile.reduce((sum, other) => sum + view.blocks[other][2], 0)]);
        pile.push(at);
        return;
      }
      const from = pile.indexOf(at);
      pile = pile.filter((other) => other !== at);
      pile.slice(from).forEach((other) => {
        const way = ways[other];
        way.push([t, way[way.length - 1][1] - view.blocks[at][2]]);
      });
    });
    return ways;
  }

  function draw(place, view, names, state) {
    const ways = laid(view);
    const tops = ways.map((way, at) => largest(way.map(([, v]) => v)) + view.blocks[at][2]);
    const f = frame(place, { x: state.domain || [0, view.n], y: [0, Math.max(largest(view.level), largest(tops)) * 1.06], unit: "bytes", names: {}, label: (v) => number(v, 0) });
    const ends = view.blocks.map(([, end]) => (end < 0 ? view.n : end));
    const edge = (way, end, lift) => way.flatMap(([t, v], i) => [[t, v + lift], [i + 1 < way.length ? way[i + 1][0] : end, v + lift]]);
    view.blocks.forEach(([, , size, label], at) => {
      const points = [...edge(ways[at], ends[at], 0), ...edge(ways[at], ends[at], size).reverse()];
      f.plot.append(svg("polygon", { points: points.map(([t, v]) => `${f.sx(t).toFixed(1)},${f.sy(v).toFixed(1)}`).join(" "), class: "block", style: `fill:${color(label)}` }));
    });
    f.plot.append(line(view.at.map((t, i) => [f.sx(t), f.sy(view.level[i])]), "var(--ink)", { "stroke-width": 1.5 }));
    place.append(f.root);
    listen(place, f, { zoom: state.zoom, say: (t, px, py) => {
      const v = f.y[0] + ((f.h - py) / f.h) * (f.y[1] - f.y[0]);
      const at = view.blocks.findIndex(([start, , size], i) => {
        if (t < start || t > ends[i]) return false;
        const step = ways[i].filter(([from]) => from <= t).pop();
        return step && v >= step[1] && v <= step[1] + size;
      });
      const i = view.at.reduce((best, from, j) => (from <= t ? j : best), 0);
      const sum = `all blocks: ${FORMATS.bytes(view.level[i])}`;
      if (at < 0) return { px, py, lines: [`Event ${number(t, 0)}`, sum] };
      const [start, end, size, label] = view.blocks[at];
      return { px, py, lines: [FORMATS.bytes(size), view.labels[label], `event ${start} to ${end < 0 ? "the end" : end}`, sum] };
    } });
    return f;
  }

  return draw;
})();
