"""What makes a picture hard to read: words that lie on each other or leave the page, points that are cut off or lie
under the legend."""

import itertools

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

SLACK = 1.0
"""Pixels."""


def drawn_pages(monkeypatch):
    """Every page that is saved from now on, in turn."""
    pages, save = [], FigureCanvasAgg.print_png

    def kept(canvas, *arguments, **options):
        save(canvas, *arguments, **options)
        pages.append(canvas.figure)

    monkeypatch.setattr(FigureCanvasAgg, "print_png", kept)
    return pages


def flaws(page):
    """In words; none of a picture that can be read."""
    renderer = page.canvas.get_renderer()
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in _texts(page)]
    found = [f"{words!r} leaves the page" for words, box in boxes if not _inside(page.bbox, box.corners())]
    found += [
        f"{one!r} lies on {other!r}"
        for (one, a), (other, b) in itertools.combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > SLACK and min(a.y1, b.y1) - max(a.y0, b.y0) > SLACK
    ]
    for axes in page.axes:
        points = np.concatenate([np.empty((0, 2)), *_points(axes)])
        if not _inside(axes.bbox, points):
            found.append(f"a point of {axes.get_title(loc='left')!r} is cut off")
        legend = axes.get_legend()
        if legend is not None and _covers(legend.get_window_extent(renderer), points):
            found.append(f"the legend of {axes.get_title(loc='left')!r} covers a point")
    return found


def _texts(page):
    texts = [*page.texts, *(text for legend in page.legends for text in legend.get_texts())]
    for axes in page.axes:
        texts += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            texts += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        if axes.get_legend() is not None:
            texts += axes.get_legend().get_texts()
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def _points(axes):
    """In pixels: what lines and marks are drawn from."""
    lines = [line.get_xydata() for line in axes.lines if line.get_transform() == axes.transData]
    marks = [m.get_offsets() for m in axes.collections if m.get_offset_transform() == axes.transData]
    for found in (*lines, *marks):
        points = np.ma.filled(np.ma.asarray(found, float), np.nan).reshape(-1, 2)
        yield axes.transData.transform(points[np.isfinite(points).all(axis=1)])


def _inside(box, points):
    x, y = np.asarray(points).T
    across = (x >= box.x0 - SLACK) & (x <= box.x1 + SLACK)
    return bool((across & (y >= box.y0 - SLACK) & (y <= box.y1 + SLACK)).all())


def _covers(box, points):
    x, y = points.T
    return bool(((x > box.x0) & (x < box.x1) & (y > box.y0) & (y < box.y1)).any())
