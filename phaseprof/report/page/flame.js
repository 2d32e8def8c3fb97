// A flame graph, root on top: a click makes a part as wide as the whole, a click above it goes back.
pp.kinds.flame = (() => {
  const { FORMATS, color, html, legend, short, svg, tip } = pp;
  const ROW = 24;
  const LETTER = 7.1;

  function tree(rows) {
    const nodes = rows.map(([parent, name, size, n]) => ({ parent, name, size, n, kids: [], paint: 0, depth: 0 }));
    nodes.forEach((node, at) => {
      if (node.parent < 0) return;
      const above = nodes[node.parent];
      above.kids.push(at);
      node.depth = above.depth + 1;
      node.paint = above.depth === 0 ? above.kids.length - 1 : above.paint;
    });
    return nodes;
  }

  function draw(place, view, names, state) {
    const nodes = tree(view.rows);
    const focus = Math.min(state.focus || 0, nodes.length - 1);
    const width = Math.max(place.clientWidth, 200);
    const boxes = laid(nodes, focus, width);
    const height = ROW * (1 + boxes.reduce((most, box) => Math.max(most, nodes[box.at].depth), 0));
    const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "drawing flame", role: "tree", "aria-label": view.name || "flame graph" });
    boxes.forEach((box) => root.append(part(place, view, nodes, box, { focus, state })));
    place.append(root, said(view, nodes, focus, state));
    root.addEventListener("pointerleave", () => tip(place, null));
    root.addEventListener("keydown", (event) => { if (event.key === "Escape") state.go(0); });
    return { x: [0, focus] };
  }

  // The focus and what lies above it are as wide as the whole; below it, by size.
  function laid(nodes, focus, width) {
    const boxes = [];
    for (let at = nodes[focus].parent; at >= 0; at = nodes[at].parent) boxes.unshift({ at, x: 0, w: width, above: true });
    const put = (at, x, w) => {
      boxes.push({ at, x, w, above: false });
      let left = x;
      [...nodes[at].kids].sort((a, b) => nodes[b].size - nodes[a].size).forEach((kid) => {
        const wide = nodes[at].size ? (w * nodes[kid].size) / nodes[at].size : 0;
        if (wide >= 1) put(kid, left, wide);
        left += wide;
      });
    };
    put(focus, 0, width);
    return boxes;
  }

  function part(place, view, nodes, { at, x, w, above }, { focus, state }) {
    const node = nodes[at];
    const y = node.depth * ROW;
    const paint = node.depth === 0 ? "var(--muted)" : color(node.paint);
    const whole = words(view, nodes, at);
    const group = svg("g", { class: above ? "part above" : "part-of", tabindex: 0, role: "treeitem", "aria-label": whole.join(", "), "data-at": at },
      svg("rect", { x: x + 0.5, y: y + 0.5, width: Math.max(0.5, w - 1), height: ROW - 2, rx: 3, style: `fill:color-mix(in srgb, ${paint} 26%, var(--card));stroke:${paint}` }));
    const letters = Math.floor((w - 10) / LETTER);
    if (letters > 2) group.append(svg("text", { x: x + 5, y: y + 16 }, short(node.name, letters)));
    group.addEventListener("pointermove", (event) => {
      const box = place.getBoundingClientRect();
      tip(place, whole, event.clientX - box.left, event.clientY - box.top);
    });
    const go = () => state.go(at === focus && node.parent >= 0 ? node.parent : at);
    group.addEventListener("click", go);
    group.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(); } });
    return group;
  }

  function words(view, nodes, at) {
    const node = nodes[at];
    const share = nodes[0].size ? ` (${((100 * node.size) / nodes[0].size).toFixed(1)} %)` : "";
    return [node.name, `${FORMATS.bytes(node.size)}${share}`, ...(node.n > 0 ? [`${node.n.toLocaleString("en-US")} ${node.n === 1 ? "object" : "objects"} here`] : [])];
  }

  // What is looked at, with the path to it: all that a narrow screen has no letters for.
  function said(view, nodes, focus, state) {
    const way = [];
    for (let at = focus; at >= 0; at = nodes[at].parent) way.unshift(at);
    const links = way.map((at) => {
      const button = html("button", { type: "button", class: "crumb", "data-to": at }, nodes[at].name);
      button.addEventListener("click", () => state.go(at));
      return button;
    });
    return html("div", { class: "way", "aria-live": "polite" }, ...links, html("span", { class: "fine" }, words(view, nodes, focus).slice(1).join(", ")));
  }

  return draw;
})();
