"""What a verb found out, as the object that its `--json` holds."""

from __future__ import annotations

import html
import json
from typing import Any, Mapping


class Report(dict[str, Any]):
    """The keys of `octavo VERB --json` (docs/cli.md), with the text that the command prints, and the page that it writes, if any.

    Notebooks show the page, or the text."""

    def __init__(self, values: Mapping[str, Any], verb: str, text: str = "", page: str = "") -> None:
        super().__init__(values)
        self.verb = verb
        self.text = text
        self.page = page

    def __str__(self) -> str:
        return self.text or json.dumps(self, indent=2)

    def _repr_html_(self) -> str:
        if self.page:
            return f'<iframe srcdoc="{html.escape(self.page)}" style="width: 100%; height: 40em; border: 0"></iframe>'
        return f"<pre>{html.escape(str(self))}</pre>"
