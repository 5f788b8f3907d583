"""The explorer's selections and models for everybody: narrow and dark, by the keyboard alone, by axe's rules."""

from __future__ import annotations

import pytest

from browser.conftest import SKIPPED
from browser.explorer_visit import answered, expect
from browser.test_axe import AXE, RUN

pytestmark = pytest.mark.browser


def faultless(seen):
    """Check by axe that everybody can use the page, and that nothing is wider than the window."""
    if not seen.page.evaluate("'axe' in window"):
        seen.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert seen.page.evaluate(RUN) == []
    assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_to_complain_of_in_selections_and_models(explore, wine, scheme, width):
    if not AXE.exists():
        pytest.skip(f"{SKIPPED}: axe-core is not installed (npm ci in web/)")
    seen = explore(wine, scheme=scheme, width=width)
    seen.page.locator(".legend button").first.click()
    seen.page.get_by_role("button", name="Keep", exact=True).click()
    seen.page.get_by_role("button", name="Set aside").click()
    answered(seen, 2)
    seen.card("Loadings").get_by_role("button", name="Sort by size").click()
    seen.page.locator("#colour").select_option("proline")
    faultless(seen)
    for count, title in enumerate(("Kernel density", "Gaussian mixture", "Kernel PCA", "Linear discriminant"), 3):
        seen.page.locator("#model").select_option(title)
        answered(seen, count)
        if title == "Linear discriminant":
            seen.page.locator("#search").fill("bottle 62")
            expect(seen.page.locator(".reasons h3")).to_have_text("Why bottle 62")
        faultless(seen)


def test_selections_are_kept_set_aside_and_compared_by_keyboard_alone(explore, wine):
    seen = explore(wine)
    keyboard = seen.page.keyboard

    def press(name, **more):
        button = seen.page.get_by_role("button", name=name, **more)
        button.focus()
        keyboard.press("Enter")

    seen.page.locator("#search").focus()
    keyboard.type("bottle 1")
    expect(seen.page.locator(".selected .note").first).to_contain_text("90 of 178 rows selected")
    press("Keep", exact=True)
    name = seen.page.get_by_label("Name of the selection A")
    name.focus()
    keyboard.press("Control+A")
    keyboard.type("ones\n")
    press("Set aside")
    answered(seen, 2)
    expect(seen.page.locator(".part")).to_contain_text("90 rows are passive")
    press("Clear selection")
    press("Select these rows again: ones")
    expect(seen.page.locator(".selected .note").first).to_contain_text("90 of 178 rows selected")
    press("What makes them different?")
    expect(seen.card("Differences")).to_be_visible()
    press("Sort by size")
    expect(seen.page.get_by_role("button", name="Sort by size")).to_have_attribute("aria-pressed", "true")
    seen.page.get_by_label("Hide loadings smaller than").focus()
    for _ in range(8):
        keyboard.press("ArrowRight")
    expect(seen.card("Loadings").locator("output")).to_have_text("0.40")
    seen.page.locator("#model").focus()
    keyboard.press("ArrowDown")
    answered(seen, 3)
    keyboard.press("Control+z")
    answered(seen, 4)
    expect(seen.card("Loadings").get_by_role("button", name="Sort by size")).to_have_attribute("aria-pressed", "true")


def test_hostile_names_of_columns_and_of_selections_are_text(explore, tmp_path):
    from browser.explorer_visit import FRAME

    bad = "<img src=x onerror='window.hit=1'>"
    frame = FRAME.rename(columns={"alcohol": bad, "cultivar": "</script><script>window.hit=1</script>"})
    frame.to_csv(tmp_path / "wine.csv", index=False)
    seen = explore(tmp_path / "wine.csv")
    seen.page.locator(".legend button").first.click()
    seen.page.get_by_role("button", name="Keep", exact=True).click()
    name = seen.page.get_by_label("Name of the selection A")
    name.fill(bad)
    name.press("Enter")
    expect(seen.page.locator(".kept input")).to_have_value(bad)
    seen.page.locator("#colour").select_option("kept selections")
    expect(seen.page.locator(".bar .legend")).to_contain_text("<img src=x")
    for count, title in enumerate(("Kernel density", "Gaussian mixture", "Linear discriminant"), 2):
        seen.page.locator("#model").select_option(title)
        answered(seen, count)
    seen.page.locator("#search").fill("bottle 62")
    expect(seen.page.locator(".reasons h3")).to_have_text("Why bottle 62")
    assert seen.page.evaluate("window.hit") is None
