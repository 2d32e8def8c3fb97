"""The parts of the page: markup, small pictures, chart data, and one module for each group of sections."""
