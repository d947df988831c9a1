"""From a key press to the picture on screen.      python benchmarks/explorers.py [PRESSES [PICTURE ...]]

Starts JupyterLab with a headless Chromium and, for each explorer, presses an arrow key on a slider PRESSES times (default 40).
Measured in the page: from the key event until the new picture has been painted, kernel and network included. The pictures
are of 16 heads and 16 tokens (trained heads: one head of 12 on 16 tokens; mixing has two heads by nature, and a switch is
pressed). Beside them, in the same run, `interact` with inline matplotlib: one map, and the same 16 maps.

Prints median and 95th percentile in milliseconds, and the load of the machine, on which they depend.
Goal: p95 <= 100 ms for split, patterns and trained heads.
"""

import os
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from nbformat.v4 import new_code_cell
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "browser"))

from harness import Lab, lab_server, slider, start_chromium  # noqa: E402

WORDS = " ".join(f"word{place}" for place in range(16))
SENTENCE = "the student delivered the book to the library and the cat saw a dog"  # 14 words, [CLS] and [SEP]
MATPLOTLIB = """
import matplotlib.pyplot as plt
from ipywidgets import IntSlider, interact
from manyheads.learn.patterns import random_maps

def draw(seed):
    maps = random_maps({words!r}, 64, 16, seed)[:{maps}]
    figure, axes = plt.subplots({rows}, {rows}, squeeze=False)
    for axis, weights in zip(axes.flat, maps):
        axis.imshow(weights, vmin=0, vmax=1, cmap="cividis")
    plt.show()

interact(draw, seed=IntSlider(0, 0, 99))
"""
#: What is measured: code of the cell, label of the control, keys there and back (only the second one is timed).
CASES = {
    "split": ("learn.split_explorer(48, 16)", "num_heads", "ArrowLeft ArrowRight"),
    "patterns": (f"learn.patterns_explorer({WORDS!r}, 64, 16)", "seed", "ArrowRight ArrowLeft"),
    "trained heads": (f"learn.trained_heads_explorer(2, 9, {SENTENCE!r})", "head", "ArrowRight ArrowLeft"),
    "masks": ("learn.masks_explorer()", "filling", "ArrowRight ArrowLeft"),
    "mixing": ("learn.mixing_explorer()", "head 2", "Space Space"),
    "one or many": ("learn.one_or_many_explorer(16)", "num_heads", "ArrowLeft ArrowRight"),
    "matplotlib, 1 map": (MATPLOTLIB.format(words=WORDS, maps=1, rows=1), "seed", "ArrowRight ArrowLeft"),
    "matplotlib, 16 maps": (MATPLOTLIB.format(words=WORDS, maps=16, rows=4), "seed", "ArrowRight ArrowLeft"),
}

#: Resolves with the milliseconds from the next key event to the paint of a new picture.
TIME_NEXT_KEY = """
output => {
  window.painted = new Promise(done => {
    let start;
    document.addEventListener('keydown', event => { start = event.timeStamp; }, {capture: true, once: true});
    const seen = new MutationObserver(async changes => {
      const added = changes.flatMap(change => [...change.addedNodes]).filter(node => node.nodeType === 1);
      const picture = added.map(node => node.matches('svg, img') ? node : node.querySelector('svg, img')).find(Boolean);
      if (start === undefined || !picture) return;
      seen.disconnect();
      if (picture.decode) await picture.decode();
      // The first callback runs before the paint of this frame, a task after it runs when the frame is painted.
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => done(performance.now() - start);
        channel.port2.postMessage(0);
      });
    });
    seen.observe(output, {childList: true, subtree: true});
  });
}
"""


def measure(lab: Lab, name: str, presses: int) -> list[float]:
    code, label, keys = CASES[name]
    path = lab.write(f"{name}.ipynb", [new_code_cell(f"from manyheads import learn\n{code}")])
    panel = lab.open(path)
    lab.run_all()
    output = panel.locator(".jp-OutputArea").first
    output.locator("svg[role=img], .jp-OutputArea-output img").first.wait_for()
    if "Space" in keys:
        control = panel.locator(".widget-checkbox").filter(has_text=label).locator("input")
    else:
        control = slider(panel, label).locator(".noUi-handle")
    control.focus()
    times = []
    for _ in range(presses):
        for key in keys.split():
            output.evaluate(TIME_NEXT_KEY)
            lab.page.keyboard.press(key)
            taken = lab.page.evaluate("painted")
        times.append(taken)
    assert not lab.errors, lab.errors
    lab.shut_kernels_down()
    return times


def main(presses: int) -> None:
    print(f"{'picture':22} {'median ms':>10} {'p95 ms':>8}   {presses} presses, load {os.getloadavg()[0]:.1f}")
    with TemporaryDirectory() as root, TemporaryDirectory() as home, sync_playwright() as playwright:
        browser = start_chromium(playwright)
        with lab_server(Path(root), Path(home)) as url:
            for name in sys.argv[2:] or CASES:
                page = browser.new_context(viewport={"width": 1300, "height": 1600}).new_page()
                times = measure(Lab(page, url, Path(root)), name, presses)
                p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
                print(f"{name:22} {statistics.median(times):10.0f} {p95:8.0f}", flush=True)
                page.context.close()
        browser.close()
    print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
