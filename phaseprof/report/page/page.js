// Puts the page's charts in their places, and makes its tabs, switches and tables answer.  A chart is drawn when it comes
// near the screen, so that a long page opens fast.
(() => {
  const root = document.documentElement;
  root.classList.add("live");
  const states = {};
  const stateOf = (place) => {
    const state = states[place.id] || (states[place.id] = { view: 0, domain: null, focus: 0 });
    state.zoom = (domain) => { state.domain = domain; draw(place); };
    state.go = (at) => {
      state.focus = at;
      draw(place);
      const part = place.querySelector(`[data-at="${at}"]`);
      if (part) part.focus({ preventScroll: true });
    };
    return state;
  };

  function draw(place) {
    const views = pp.data.charts[place.id];
    if (!views || !place.clientWidth) return;
    const state = stateOf(place);
    const view = views[state.view];
    place.replaceChildren();
    const f = pp.kinds[view.kind](place, view, pp.namesOf(place.id), state);
    [place.dataset.from, place.dataset.to] = f.x;
    place.dataset.width = place.clientWidth;
    place.dataset.drawn = "true";
  }

  const places = [...document.querySelectorAll(".chart")];
  const near = new IntersectionObserver((seen) => seen.forEach((one) => {
    if (one.isIntersecting && !one.target.dataset.drawn) draw(one.target);
  }), { rootMargin: "400px 0px" });
  const resized = new ResizeObserver((seen) => seen.forEach(({ target }) => {
    if (target.dataset.drawn && target.clientWidth && Number(target.dataset.width) !== target.clientWidth) draw(target);
  }));
  places.forEach((place) => { near.observe(place); resized.observe(place); });

  document.querySelectorAll("select[data-chart]").forEach((select) => select.addEventListener("change", () => {
    const place = document.getElementById(select.dataset.chart);
    Object.assign(stateOf(place), { view: Number(select.value), domain: null, focus: 0 });
    draw(place);
  }));

  // On a narrow screen a row becomes a small list: each cell says itself of which column it is.
  document.querySelectorAll("table").forEach((table) => {
    const titles = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent);
    table.querySelectorAll("tbody tr").forEach((row) => [...row.children].forEach((cell, at) => { cell.dataset.of = titles[at]; }));
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
  }
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => show(at));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { show(at + step); tabs[current].focus(); }
    });
  });
  show(Math.max(0, tabs.findIndex((tab) => tab.querySelector(".bad"))));

  window.addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    panels.forEach((panel) => { panel.hidden = false; });
    places.forEach(draw);
  });
  window.addEventListener("afterprint", () => {
    delete root.dataset.theme;
    show(current);
  });
})();
