"""The explorer as it is lived with: several tabs, no mouse, a narrow dark window, and a server that is killed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest

import eigenlens
from browser.explorer_visit import FRAME, NAMES, answered, axes, expect, expected, place, role
from browser.test_explorer_access import faultless

pytestmark = pytest.mark.browser


def direct(names, k=5, **options):
    """The scores of the rows, by a fit without the explorer."""
    return np.asarray(eigenlens.PCA(k, **options).fit_transform(FRAME[names]))


def saved_scores(seen, k=2):
    """The first scores that a tab saves."""
    file = seen.download(seen.card("Scores").get_by_role("button", name=re.compile("^CSV")))
    return pd.read_csv(file).iloc[:, 1 : 1 + k].to_numpy(dtype=float)


# ---- tabs ------------------------------------------------------------------------------------------------------


def test_tabs_have_their_own_questions_answers_and_steps(serve, visit, wine):
    server, _ = serve(wine)
    one, two, three = (visit(server.guard.link) for _ in range(3))
    for seen in (one, two, three):
        answered(seen, 1)
    # All three ask before any of them is waited for.
    role(one, "proline").select_option("Ignored")
    two.page.locator("#scaling").select_option("in their own units")
    three.page.locator("#model").select_option("Gaussian mixture")
    for seen in (one, two, three):
        answered(seen, 2)
    rest = [name for name in NAMES if name != "proline"]
    assert axes(one) == expected(rest, standardize=True)
    assert axes(two) == expected(NAMES)
    assert three.page.locator("#model").input_value() == "Gaussian mixture"
    np.testing.assert_allclose(saved_scores(one), direct(rest, standardize=True)[:, :2], atol=1e-3)
    np.testing.assert_allclose(saved_scores(two), direct(NAMES)[:, :2], rtol=1e-3, atol=2e-2)
    one.page.locator(".legend button").first.click()
    expect(one.page.locator(".selected .note").first).to_contain_text("of 178 rows selected")
    expect(two.page.locator(".selected .note").first).not_to_contain_text("selected")
    one.page.get_by_role("button", name="Undo", exact=True).click()
    answered(one, 3)
    assert axes(one) == expected(NAMES, standardize=True)
    assert axes(two) == expected(NAMES)
    three.page.reload()
    answered(three, 1)
    assert three.page.locator("#model").input_value() == "Gaussian mixture"


def test_a_tab_that_stops_the_explorer_leaves_the_others_with_all_that_was_chosen(serve, visit, wine):
    server, _ = serve(wine)
    thread = next(each for each in threading.enumerate() if each.name == "eigenlens explorer")
    one, two = visit(server.guard.link), visit(server.guard.link)
    for seen in (one, two):
        answered(seen, 1)
    role(two, "hue").select_option("Ignored")
    answered(two, 2)
    one.page.get_by_role("button", name="Stop", exact=True).click()
    one.until("document.querySelector('.says').textContent.includes('has stopped')")
    thread.join(10.0)
    assert not thread.is_alive()
    two.page.locator("#scaling").select_option("in their own units")
    two.until("document.querySelector('.says').textContent.includes('does not answer')")
    assert "hue" in place(two, "ignore").inner_text()
    for seen in (one, two):
        seen.page.locator(".menu summary").click()
        assert "hue" in seen.download(seen.page.get_by_role("button", name="State (JSON)")).read_text()
    two.complaints = [each for each in two.complaints if "ERR_CONNECTION" not in each]


# ---- states that others wrote, and charts that are behind -------------------------------------------------------

DAMAGED = (
    {"selections": [{"name": "x", "bits": "!!!"}]}, {"selections": [None]}, {"selections": [{"name": {"a": 1}}]},
    {"k": 1e99}, {"k": "<img src=x onerror=window.hit=1>"}, {"axes": None}, {"model": "a model of tomorrow"},
    {"model": "__proto__"}, {"rows": None}, {"rows": {"kind": "only", "bits": "!!!"}}, {"options": None}, {"roles": []},
)  # fmt: skip


def test_a_damaged_state_is_an_ordinary_first_page_and_a_file_that_says_so(explore, wine, tmp_path):
    seen = explore(wine)
    roles = {"roles": dict.fromkeys(NAMES, "active")}
    link = seen.page.url.partition("#")[0]
    for damage in DAMAGED:
        seen.page.goto("about:blank")
        seen.page.goto(f"{link}#{quote(json.dumps(roles | damage))}")
        seen.page.wait_for_selector("html[data-ready]")
        answered(seen, 1)
        assert axes(seen) == expected(NAMES, standardize=True), damage
    head = {"kind": "Eigenlens explorer", "rows": 178, "shown": 178, "question": roles | {"model": "?"}}
    (tmp_path / "state.json").write_text(json.dumps(head))
    seen.page.get_by_label("A saved state").set_input_files(tmp_path / "state.json")
    expect(seen.page.locator(".says")).to_contain_text("damaged, or of another version")


def test_a_link_that_is_opened_in_the_same_tab_changes_the_view(explore, wine):
    seen = explore(wine)
    seen.until("location.hash.length > 9")
    first = seen.page.url
    role(seen, "hue").select_option("Ignored")
    answered(seen, 2)
    seen.until('decodeURIComponent(location.hash).includes(\'"hue":"ignore"\')')
    seen.page.evaluate("(link) => { location.href = link; }", first)
    answered(seen, 3)
    assert axes(seen) == expected(NAMES, standardize=True)
    seen.page.get_by_role("button", name="Undo", exact=True).click()
    answered(seen, 4)
    assert axes(seen) == expected([name for name in NAMES if name != "hue"], standardize=True)


def test_charts_that_do_not_show_what_is_chosen_say_so(explore, wine):
    seen = explore(wine)
    role(seen, "cultivar").select_option("Ignored")
    answered(seen, 2)
    seen.page.locator("#model").select_option("Linear discriminant")
    says = seen.page.locator(".says")
    expect(says).to_contain_text("No column holds the classes")
    expect(says).to_contain_text("The charts below are still those before: PCA.")
    role(seen, "cultivar").select_option("Colour")
    answered(seen, 3)
    expect(says).to_be_empty()
    seen.complaints = [each for each in seen.complaints if "status of 400" not in each]


def test_many_changes_in_a_moment_end_at_the_last_one(explore, wine):
    seen = explore(wine)
    seen.page.evaluate("""() => {
      const change = (id, at) => {
        const field = document.querySelector(id);
        field.selectedIndex = at;
        field.dispatchEvent(new Event("change", { bubbles: true }));
      };
      for (let i = 0; i < 41; i++) {
        change("#scaling", i % 2);
        change("#model", i % 3);
        change("[data-column=hue]", i % 2 ? 5 : 0);
        document.dispatchEvent(new KeyboardEvent("keydown", { key: "z", ctrlKey: true }));
      }
      change("#model", 0);
      change("#scaling", 1);
      change("[data-column=hue]", 5);
    }""")
    seen.until("!document.documentElement.dataset.asking")
    seen.settle()
    assert "hue" in place(seen, "ignore").inner_text()
    assert axes(seen) == expected([name for name in NAMES if name != "hue"])
    assert seen.page.locator("#scaling").input_value() == "in their own units"


# ---- the keyboard ----------------------------------------------------------------------------------------------


def selected(seen):
    """How many rows are selected, as the page says."""
    found = re.match(r"([\d,]+) of", seen.page.locator(".selected .note").first.inner_text())
    return int(found[1].replace(",", "")) if found else 0


def test_rows_in_a_rectangle_are_selected_by_keyboard_alone(explore, wine):
    seen = explore(wine)
    keyboard, heard = seen.page.keyboard, seen.card("Scores").locator(".heard")
    seen.stage("Scores").focus()
    keyboard.press("l")
    expect(heard).to_contain_text("Arrow keys go to the point")
    keyboard.press("ArrowRight")
    start = heard.inner_text().split(",")[0]
    keyboard.press("l")
    expect(heard).to_contain_text(f"begins at {start}")
    for key in 10 * ["ArrowRight"] + 8 * ["ArrowUp"]:
        keyboard.press(key)
    expect(seen.stage("Scores").locator(".lasso")).to_have_count(1)
    end = heard.inner_text().split(",")[0]
    Z = direct(NAMES, standardize=True)[:, :2]
    corners = Z[[list(FRAME["bottle"]).index(name) for name in (start, end)]]
    within = int(np.all((corners.min(axis=0) - 1e-9 <= Z) & (corners.max(axis=0) + 1e-9 >= Z), axis=1).sum())
    assert within > 5
    assert f"{within} points in the rectangle" in heard.inner_text()
    keyboard.press("Enter")
    expect(heard).to_have_text(f"{within} points selected")
    expect(seen.stage("Scores").locator(".lasso")).to_have_count(0)
    assert selected(seen) == within
    keyboard.press("l")
    keyboard.press("ArrowLeft")
    keyboard.press("Escape")
    expect(seen.stage("Scores").locator(".lasso")).to_have_count(0)
    assert selected(seen) == within
    keyboard.press("Escape")
    seen.settle()
    assert selected(seen) == 0


def test_ellipses_and_axes_are_drawn_by_keyboard_alone(explore, wine):
    seen = explore(wine)
    keyboard, stage = seen.page.keyboard, seen.stage("Scores")
    stage.focus()
    names = ["95% of mean", "95% of rows", "Centroids"]
    for name in names:  # backwards from the points, with nothing but Tab
        for _ in range(6):
            keyboard.press("Shift+Tab")
            if seen.page.evaluate("document.activeElement.textContent") == name:
                break
        keyboard.press("Space")
        button = seen.card("Scores").get_by_role("button", name=name)
        expect(button).to_have_attribute("aria-pressed", "true")
    for part in (".group.mean", ".group.rows", ".centroid"):
        expect(stage.locator(part)).to_have_count(3)
    keyboard.press("Enter")
    expect(stage.locator(".centroid")).to_have_count(0)


def test_the_keyboard_stays_in_a_chart_that_is_drawn_anew(explore, wine):
    seen = explore(wine)
    button = seen.card("Scores").get_by_role("button", name="95% of rows")
    role(seen, "hue").select_option("Ignored")
    answered(seen, 2)
    button.focus()
    seen.page.keyboard.press("Control+z")
    answered(seen, 3)
    assert seen.page.evaluate("document.activeElement.textContent") == "95% of rows"
    expect(button).to_be_focused()


# ---- narrow and dark -------------------------------------------------------------------------------------------


def test_roles_steps_and_the_saved_report_in_a_narrow_dark_window(explore, wine, visit):
    seen = explore(wine, width=390, scheme="dark")
    seen.page.get_by_role("button", name="Choose columns").click()
    role(seen, "proline").select_option("Supplementary")
    answered(seen, 2)
    rest = [name for name in NAMES if name != "proline"]
    assert axes(seen) == expected(rest, standardize=True)
    assert "proline" in place(seen, "supplementary").inner_text()
    faultless(seen)
    undo, redo = (seen.page.get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo"))
    undo.click()
    answered(seen, 3)
    assert axes(seen) == expected(NAMES, standardize=True)
    redo.click()
    answered(seen, 4)
    assert axes(seen) == expected(rest, standardize=True)
    seen.page.locator(".menu summary").click()
    faultless(seen)
    file = wine.parent / "saved.html"
    file.write_bytes(seen.download(seen.page.get_by_role("button", name="Report (HTML)")).read_bytes())
    report = visit(file, width=390, scheme="dark")
    assert axes(report) == expected(rest, standardize=True)
    faultless(report)


# ---- a server that is killed -----------------------------------------------------------------------------------


@pytest.fixture
def command():
    """Start the command on a file, `command(path)`, and get the process with the link that it prints."""
    running = []

    def started(path, *more):
        words = [sys.executable, "-u", "-m", "eigenlens", "explore", str(path), "--no-browser", *more]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        link = next(line.split()[1] for line in running[-1].stdout if line.startswith("open"))
        return running[-1], link

    yield started
    for each in running:
        each.kill()
        each.wait()
        each.stdout.close()


def test_a_server_that_is_killed_costs_the_page_nothing(command, visit, wine):
    killed, link = command(wine)
    seen = visit(link)
    answered(seen, 1)
    role(seen, "proline").select_option("Ignored")
    answered(seen, 2)
    seen.page.locator(".legend button").first.click()
    seen.page.get_by_role("button", name="Keep", exact=True).click()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    seen.page.locator("#scaling").select_option("in their own units")
    seen.until("document.querySelector('.says').textContent.includes('does not answer')")
    said = seen.page.locator(".says").inner_text()
    assert f"eigenlens explore {wine}" in said
    assert "Nothing is lost" in said
    assert seen.card("Scores").is_visible()
    seen.page.locator(".menu summary").click()
    state = seen.download(seen.page.get_by_role("button", name="State (JSON)"))
    _, link = command(wine)
    again = visit(link)
    answered(again, 1)
    again.page.get_by_label("A saved state").set_input_files(state)
    answered(again, 2)
    rest = [name for name in NAMES if name != "proline"]
    assert axes(again) == expected(rest, 5)  # what was asked last, though the killed server never answered
    expect(again.page.get_by_label("Name of the selection A")).to_have_value("A")
    seen.complaints = [each for each in seen.complaints if "ERR_CONNECTION" not in each]


def test_a_server_at_the_same_port_with_another_token_says_which_link_to_open(command, visit, wine):
    killed, link = command(wine)
    port = link.split(":")[2].split("/")[0]
    seen = visit(link)
    answered(seen, 1)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    command(wine, "--port", port)
    role(seen, "hue").select_option("Ignored")
    seen.until("document.querySelector('.says').textContent.includes('started again')")
    seen.page.locator(".menu summary").click()
    state = seen.download(seen.page.get_by_role("button", name="State (JSON)"))
    assert '"hue": "ignore"' in state.read_text()
    seen.complaints = [each for each in seen.complaints if "403" not in each and "ERR_CONNECTION" not in each]
