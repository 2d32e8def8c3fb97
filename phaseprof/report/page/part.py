"""What the parts of every page have in common: sections one after the other, and the charts met on the way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from phaseprof.report.page.charts import Chart
from phaseprof.report.page.layout import figure, section
from phaseprof.report.page.markup import Html, join


class Part(ABC):
    """Builds the markup of one part section by section, and collects its charts.

    Attributes:
        prefix: leads every identifier, so that several parts share one page.
        charts: the charts' views by the identifier of their place.
    """

    prefix: str
    charts: dict[str, Sequence[Mapping[str, object]]]

    def markup(self) -> Html:
        """Return the markup; afterwards :attr:`charts` is complete."""
        return join(*self._sections())

    @abstractmethod
    def _sections(self) -> Iterator[Html]:
        """Yield the sections from top to bottom."""

    def _figure(self, chart: Chart | None) -> Html:
        if chart is None:
            return Html("")
        self.charts[f"{self.prefix}-{chart.key}"] = chart.views
        return figure(self.prefix, chart)

    def _section(self, key: str, title: str, *children: Html) -> Html:
        return section(self.prefix, key, title, *children) if any(children) else Html("")
