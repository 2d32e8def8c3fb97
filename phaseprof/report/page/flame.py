"""Flame graphs: the heap by place, as the page's script draws it."""

from __future__ import annotations

from collections.abc import Sequence

from phaseprof.report.flames import Flame
from phaseprof.report.page.charts import Chart


def flame_chart(flames: Sequence[Flame]) -> Chart | None:
    """Return one chart with a view for each tree, ``None`` where there is none."""
    views = [flame_view(flame) for flame in flames]
    if not views:
        return None
    caption = f"{flames[0].words}. A click makes a part as wide as the whole."
    return Chart("heap", "", caption, tuple(views), "flames")


def flame_view(flame: Flame) -> dict[str, object]:
    """Return a tree as rows of parent, name, bytes and objects."""
    rows = [[node.parent, node.name, node.n_bytes, node.n_objects] for node in flame.nodes]
    return {"name": flame.title, "kind": "flame", "unit": "bytes", "rows": rows}
