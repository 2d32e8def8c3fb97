"""From a recording to findings: numbers and text in, numbers and text out; nothing here looks at a live process."""
