# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a run is and how long it still takes: with tqdm or rich where one of them is, else a line now and then."""

from __future__ import annotations

import sys
import time


def clock_text(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Plain:
    """Lines, for files and for machines with nothing else; on a terminal one line that changes."""

    def __init__(self, total: float, out=sys.stderr, every: float = 5.0):
        self._total, self._out, self._every = total, out, every
        self._live = out.isatty()
        self._last = 0.0

    def show(self, done: float, text: str) -> None:
        now = time.monotonic()
        if now - self._last < (0.2 if self._live else self._every):
            return
        self._last = now
        left = max(self._total - done, 0)
        line = f"{min(100 * done / self._total, 100):3.0f} %  {clock_text(left)} left  {text}"
        if self._live:
            self._out.write("\r\x1b[K" + line[:110])
        else:
            self._out.write(line + "\n")
        self._out.flush()

    def write(self, text: str) -> None:
        self._out.write(("\r\x1b[K" if self._live else "") + text + "\n")
        self._out.flush()

    def close(self) -> None:
        if self._live:
            self._out.write("\r\x1b[K")
            self._out.flush()


class Tqdm:
    def __init__(self, total: float):
        import tqdm

        form = "{percentage:3.0f} % |{bar:24}| {remaining_text} left  {desc}"

        class Bar(tqdm.tqdm):
            remaining_text = clock_text(total)

            @property
            def format_dict(self):
                return {**super().format_dict, "remaining_text": self.remaining_text}

        self._total = total
        self._bar = Bar(total=total, bar_format=form, leave=False)

    def show(self, done: float, text: str) -> None:
        self._bar.remaining_text = clock_text(max(self._total - done, 0))
        self._bar.set_description_str(text, refresh=False)
        self._bar.update(min(done, self._total) - self._bar.n)

    def write(self, text: str) -> None:
        self._bar.write(text, file=sys.stderr)

    def close(self) -> None:
        self._bar.close()


class Rich:
    def __init__(self, total: float):
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("{task.percentage:3.0f} %"), BarColumn(24), TextColumn("{task.fields[left]} left  {task.description}"))
        self._total = total
        self._progress = Progress(*columns, transient=True)
        self._task = self._progress.add_task("", total=total, left=clock_text(total))
        self._progress.start()

    def show(self, done: float, text: str) -> None:
        left = clock_text(max(self._total - done, 0))
        self._progress.update(self._task, completed=min(done, self._total), description=text, left=left)

    def write(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        self._progress.stop()


class Quiet:
    def show(self, done: float, text: str) -> None:
        pass

    def write(self, text: str) -> None:
        print(text, file=sys.stderr)

    def close(self) -> None:
        pass


def progress(total: float, quiet: bool = False):
    if quiet:
        return Quiet()
    if sys.stderr.isatty():
        for kind in (Tqdm, Rich):
            try:
                return kind(total)
            except ImportError:
                pass
    return Plain(total)
