"""What `init` and `get` say on their way: as text for people, and as one line of JSON without the ornaments of text."""

from __future__ import annotations

from planner.engine.walk.hooks import Hooks
from planner.render.view import View


class InitLines(Hooks):
    """Passes remarks on to a view."""

    def __init__(self, view: View) -> None:
        self.view = view

    def log(self, message: str) -> None:
        self.view.say(message, message.strip().removeprefix("- "))
