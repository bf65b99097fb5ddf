"""The web page in a real browser, Debian's Chromium without a window; what it shows is compared with Python."""

from __future__ import annotations

import base64
import io
import re
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from sauvolanet import binarize, explain
from sauvolanet.serve.work import STRENGTHS
from sauvolanet.show.explanation import preferred_colours

from .conftest import until

pytestmark = pytest.mark.slow

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
         "--disable-component-update", "--no-first-run", "--window-size=1200,800")  # fmt: skip


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium: the web page is NOT checked")
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("no chromium and chromium-driver: the web page is NOT checked")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService(chromedriver))
    driver.folder = tmp_path_factory.mktemp("downloads")
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(driver.folder)})
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


def ready(driver) -> None:
    until(lambda: driver.execute_script("return document.body.dataset.ready && !document.querySelector('[aria-busy]')"))


def find(driver, selector: str):
    return driver.find_element("css selector", selector)


def drop(driver, data: bytes, name: str, kind: str) -> None:
    """What the browser does when somebody drops a file on the page, until all is shown."""
    start_drop(driver, data, name, kind)
    ready(driver)


def start_drop(
    driver, data: bytes, name: str, kind: str, event: str = "new DragEvent('drop', { dataTransfer: transfer"
) -> None:
    driver.execute_script(
        """const bytes = Uint8Array.from(atob(arguments[0]), (c) => c.charCodeAt(0));
        const transfer = new DataTransfer();
        transfer.items.add(new File([bytes], arguments[1], { type: arguments[2] }));
        document.getElementById("stage").setAttribute("aria-busy", "true");
        document.body.dispatchEvent(""" + event + ", bubbles: true }))",
        base64.b64encode(data).decode(), name, kind,
    )  # fmt: skip


@pytest.fixture(scope="module")
def opened(driver, service, png):
    """The page with a scan dropped on it."""
    driver.get(service.url)
    ready(driver)
    drop(driver, png, "page.png", "image/png")
    return driver


@pytest.fixture
def held(monkeypatch):
    """While this event is cleared, the service explains nothing."""
    from sauvolanet.serve import work

    go_on = threading.Event()
    go_on.set()
    original = work.Binarizer.explain
    monkeypatch.setattr(work.Binarizer, "explain", lambda self, image: go_on.wait(60) and original(self, image))
    yield go_on
    go_on.set()


def drawn(driver) -> None:
    """Until what was asked for is on the canvas: a frame for the change, one for the drawing, one to have seen both."""
    driver.execute_async_script(
        "const frame = requestAnimationFrame, done = arguments[0]; frame(() => frame(() => frame(() => done())))"
    )


def painted(driver) -> np.ndarray:
    """What the canvas shows: (H, W, 4) uint8, transparent where there is no page."""
    drawn(driver)
    url = driver.execute_script("return document.getElementById('view').toDataURL()")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGBA"))


def shown(driver) -> np.ndarray:
    """What the canvas shows, cut to the page: (H, W, 3) uint8, at one canvas pixel to a page pixel."""
    from selenium.webdriver.common.keys import Keys

    find(driver, "#view").send_keys(Keys.ESCAPE, "0", "1")
    find(driver, "#divider").send_keys(Keys.HOME)  # all of it is "after"
    picture = painted(driver)
    rows, columns = np.flatnonzero(picture[..., 3].any(1)), np.flatnonzero(picture[..., 3].any(0))
    return picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1, :3]


def move_strength(driver, position: int) -> None:
    driver.execute_script(
        "const s = document.getElementById('strength'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))",
        position,
    )
    drawn(driver)


def test_dropped_page_shows_python_s_ink_at_every_strength(opened, gray):
    for position in (50, 0, 83, 100, 50):
        move_strength(opened, position)
        expected = np.where(binarize(gray, strength=STRENGTHS[position]), 0, 255)
        assert np.array_equal(shown(opened)[..., 0], expected), STRENGTHS[position]


def test_divider_moves_with_keys_and_hand(opened, gray):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    expected = np.where(binarize(gray), 0, 255)
    assert np.array_equal(shown(opened)[..., 0], expected)
    divider = find(opened, "#divider")
    divider.send_keys(Keys.END)
    assert divider.get_attribute("aria-valuenow") == "100"
    picture = painted(opened)
    inside = picture[picture[..., 3] > 0][:, 0].reshape(gray.shape)
    assert np.array_equal(inside, gray)  # the scan itself
    ActionChains(opened).drag_and_drop_by_offset(divider, -300, 0).perform()
    assert 40 < int(divider.get_attribute("aria-valuenow")) < 90


def test_clicked_pixel_tells_python_s_numbers(opened, gray):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    truth = explain(gray)
    canvas = find(opened, "#view")
    move_strength(opened, 50)
    for dx, dy in ((10, 20), (-40, -31), (70, 5)):
        canvas.send_keys(Keys.ESCAPE)  # nothing is told of the pixel before
        ActionChains(opened).move_to_element_with_offset(canvas, dx, dy).click().perform()
        until(lambda: opened.find_elements("css selector", "[data-weight]"))
        column, row = (int(n) - 1 for n in re.findall(r"\d+", find(opened, "#inspector .facts").text))
        fact = {e.get_attribute("data-fact"): e.text for e in opened.find_elements("css selector", "[data-fact]")}
        assert int(fact["gray"]) == gray[row, column]
        assert float(fact["threshold"]) == pytest.approx(np.clip(truth.threshold[row, column], 0, 256), abs=0.01)
        assert fact["verdict"] == ("ink" if truth.ink[row, column] else "paper")
        weights = {
            e.get_attribute("data-weight"): float(e.text.split()[0])
            for e in opened.find_elements("css selector", "[data-weight]")
        }
        assert list(weights) == truth.choices
        assert list(weights.values()) == pytest.approx(truth.attention[:, row, column] * 100, abs=0.3)
    move_strength(opened, 90)
    strong = binarize(gray, strength=STRENGTHS[90])[row, column]
    assert find(opened, "[data-fact=verdict]").text == ("ink" if strong else "paper")
    assert float(find(opened, "[data-fact=threshold]").text) == float(fact["threshold"])  # of strength 0
    move_strength(opened, 50)


def test_views(opened, gray):
    truth = explain(gray)
    find(opened, "input[value=attention]").click()
    until(lambda: opened.find_elements("css selector", "#legend li"))
    colours = shown(opened)
    near = np.sort(truth.attention, 0)
    clear = near[-1] - near[-2] > 0.01  # weights travel in steps of 1/255
    assert np.array_equal(colours[clear], preferred_colours(truth)[clear])
    assert len(opened.find_elements("css selector", "#legend li")) == len(truth.choices)
    find(opened, "input[value=window]").click()
    until(lambda: opened.find_elements("css selector", "#legend input"))[2].click()
    assert np.array_equal(shown(opened)[..., 0], np.where(gray < truth.surfaces[2], 0, 255))
    find(opened, "input[value=threshold]").click()
    until(lambda: opened.find_elements("css selector", "#legend .ramp"))
    codes = np.clip(np.ceil(truth.threshold.astype(float) * 256), 0, 65535) / 256
    stretched = 255 * (codes - codes.min()) / (codes.max() - codes.min())
    assert np.abs(shown(opened)[..., 0] - stretched).max() <= 0.51
    find(opened, "input[value=result]").click()


def test_specks_are_dropped_as_python_does(opened, gray):
    opened.execute_script("document.getElementById('more').open = true")
    opened.execute_script(
        "const d = document.getElementById('option-despeckle'); d.value = 12; d.dispatchEvent(new Event('change'))"
    )
    ready(opened)
    assert np.array_equal(shown(opened)[..., 0], np.where(binarize(gray, despeckle=12), 0, 255))
    opened.execute_script(
        "const d = document.getElementById('option-despeckle'); d.value = 0; d.dispatchEvent(new Event('change'))"
    )
    ready(opened)


@pytest.mark.parametrize("kind", ["tiff", "png", "pdf"])
def test_download_is_what_is_shown_with_the_resolution_kept(opened, gray, kind):
    move_strength(opened, 60)
    find(opened, f"button[data-format={kind}]").click()
    file: Path = until(lambda: next((f for f in opened.folder.iterdir() if f.name == f"page-ink.{kind[:3]}"), None))
    ready(opened)
    expected = binarize(gray, strength=STRENGTHS[60])
    assert np.array_equal(shown(opened)[..., 0], np.where(expected, 0, 255))
    if kind == "tiff":
        with tifffile.TiffFile(file) as tiff:
            tags = tiff.pages[0].tags
            assert tags["Compression"].value == 4
            assert tags["XResolution"].value[0] / tags["XResolution"].value[1] == pytest.approx(300, abs=0.01)
    if kind == "pdf":
        import pikepdf

        with pikepdf.open(file) as pdf:
            assert float(pdf.pages[0].mediabox[2]) == pytest.approx(200 / 300 * 72, abs=0.01)
    else:
        with Image.open(file) as picture:
            assert np.array_equal(~np.asarray(picture.convert("1")), expected)
    move_strength(opened, 50)


def test_compare_two_methods(opened, gray):
    from selenium.webdriver.support.select import Select

    other = Select(find(opened, "#other"))
    other.select_by_value("method:otsu")
    ready(opened)
    one, two = binarize(gray), binarize(gray, method="otsu")
    text = find(opened, "#difference-text").text
    assert f"{100 * (one & ~two).mean():.2f} %" in text and f"{100 * (two & ~one).mean():.2f} %" in text
    assert find(opened, "#tag-right").text.startswith("otsu")
    assert not find(opened, "#divider").is_displayed()
    other.select_by_value("")
    ready(opened)


def book(*pages: np.ndarray) -> bytes:
    file = io.BytesIO()
    first, *others = (Image.fromarray(np.ascontiguousarray(page)) for page in pages)
    first.save(file, "TIFF", save_all=True, append_images=others)
    return file.getvalue()


def test_the_page_says_why_to_look_at_it(opened, gray, png, encode):
    assert not find(opened, "#look").is_displayed()
    drop(opened, encode(np.full_like(gray, 250)), "empty.png", "image/png")
    assert find(opened, "#look").text == "Look at this page yourself: nearly blank."
    drop(opened, png, "page.png", "image/png")
    assert not find(opened, "#look").is_displayed()


def test_pages_of_a_document_and_a_damaged_file(opened, gray):
    file = book(gray, gray[::-1])
    drop(opened, file, "book.tif", "image/tiff")
    assert find(opened, "#page-text").text == "1 / 2"
    find(opened, "#page-on").click()
    ready(opened)
    assert np.array_equal(shown(opened)[..., 0], np.where(binarize(gray[::-1]), 0, 255))
    drop(opened, file[:3000], "torn.tif", "image/tiff")
    assert "torn.tif" in find(opened, "#notice").text
    assert not find(opened, "#pages").is_displayed()
    assert not painted(opened).any()  # nothing of the document before
    find(opened, "#notice-close").click()


def test_the_page_number_is_that_of_the_page_shown(opened, held, gray):
    drop(opened, book(gray, gray[::-1], gray[:, ::-1]), "three.tif", "image/tiff")
    held.clear()
    find(opened, "#page-on").click()
    find(opened, "#cancel").click()
    ready(opened)
    find(opened, "button[data-format=png]").click()
    file: Path = until(lambda: next((f for f in opened.folder.iterdir() if f.name == "three-0001-ink.png"), None))
    with Image.open(file) as picture:
        assert np.array_equal(~np.asarray(picture.convert("1")), binarize(gray))
    held.set()
    opened.execute_script("for (let i = 0; i < 3; i++) document.getElementById('page-on').click()")
    ready(opened)
    assert find(opened, "#page-text").text == "3 / 3"
    assert np.array_equal(shown(opened)[..., 0], np.where(binarize(gray[:, ::-1]), 0, 255))
    find(opened, "#page-back").click()
    ready(opened)
    assert find(opened, "#page-text").text == "2 / 3"


def test_a_file_opened_while_another_is_explained_is_the_one_shown(opened, held, service, encode, gray):
    held.clear()
    start_drop(opened, encode(gray), "one.png", "image/png")
    until(lambda: service.taken())
    opened.execute_script(
        """const decode = createImageBitmap;
        window.createImageBitmap = async (...what) => {
          window.createImageBitmap = decode;
          await new Promise((done) => (window.goOn = done));
          return decode(...what);
        }"""
    )
    start_drop(opened, encode(gray[::-1].copy()), "two.png", "image/png")
    held.set()
    until(lambda: not service.taken())
    time.sleep(0.5)  # in which an answer about the first would be shown
    opened.execute_script("goOn()")
    until(lambda: find(opened, "#file-facts").text)
    ready(opened)
    assert find(opened, "#file-name").text == "two.png"
    assert np.array_equal(shown(opened)[..., 0], np.where(binarize(gray[::-1]), 0, 255))


def test_everything_is_reached_by_keyboard_and_fits_a_phone(opened, png):
    from selenium.webdriver.common.keys import Keys

    drop(opened, png, "page.png", "image/png")
    seen = set()
    find(opened, ".mark").send_keys(Keys.NULL)
    opened.execute_script("document.activeElement.blur()")
    for _ in range(45):
        opened.switch_to.active_element.send_keys(Keys.TAB)
        name = opened.execute_script(
            """const e = document.activeElement, s = getComputedStyle(e), n = e.nextElementSibling && getComputedStyle(e.nextElementSibling);
            const c = e.firstElementChild && getComputedStyle(e.firstElementChild);
            if (![s, n, c].some((x) => x && x.outlineStyle !== "none" && x.outlineWidth !== "0px")) return "no focus shown: " + e.outerHTML;
            return e.id || e.value || e.dataset.format || e.tagName"""
        )
        assert not name.startswith("no focus shown: <button") and not name.startswith("no focus shown: <input"), name
        seen.add(name)
    assert {"view", "divider", "result", "strength", "what", "other", "zoom-fit", "tiff", "theme", "open"} <= seen
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        until(lambda: opened.execute_script("return window.innerWidth") == 360)
        assert opened.execute_script("return document.documentElement.scrollWidth") <= 360
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def place(driver) -> tuple[int, int, int]:
    """Left and top of the page on the canvas, and its width there."""
    seen = painted(driver)[..., 3] > 0
    columns = np.flatnonzero(seen.any(0))
    return int(columns[0]), int(np.flatnonzero(seen.any(1))[0]), len(columns)


def test_wheel_zooms_and_hand_moves(opened, png, gray):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    drop(opened, png, "page.png", "image/png")
    shown(opened)  # one canvas pixel to a page pixel
    left, top, width = place(opened)
    assert width == gray.shape[1]
    canvas = find(opened, "#view")
    hand = ActionChains(opened).move_to_element_with_offset(canvas, 30, 30)
    hand.click_and_hold().move_by_offset(-50, 20).release().perform()
    assert place(opened) == (left - 50, top + 20, width)
    ActionChains(opened).scroll_from_origin(ScrollOrigin.from_element(canvas), 0, -240).perform()
    assert place(opened)[2] > width
    assert int(find(opened, "#zoom-text").text.split()[0]) > 100


def test_a_long_page_shows_progress_and_can_be_given_up(opened, held, service, png):
    held.clear()
    start_drop(opened, png, "long.png", "image/png")
    until(lambda: service.taken())
    until(lambda: find(opened, "#working").is_displayed())
    assert "Working" in find(opened, "#working-text").text
    assert find(opened, "#working-bar").is_displayed()
    find(opened, "#cancel").click()
    until(lambda: not find(opened, "#working").is_displayed())
    held.set()
    until(lambda: not service.taken())


def test_paste_and_examples(opened, service, png):
    opened.get(service.url)
    ready(opened)
    start_drop(opened, png, "pasted.png", "image/png", "new ClipboardEvent('paste', { clipboardData: transfer")
    ready(opened)
    assert find(opened, "#file-name").text == "pasted.png"
    assert find(opened, "#file-facts").text == "200 × 150"
    opened.get(service.url)
    ready(opened)
    find(opened, "#examples button:nth-child(2)").click()
    until(lambda: find(opened, "#file-facts").text)
    ready(opened)
    assert (find(opened, "#file-name").text, find(opened, "#file-facts").text) == ("print.png", "800 × 1100")


def test_nothing_went_wrong_in_the_console(opened):
    wrong = [
        e["message"] for e in opened.get_log("browser") if e["level"] == "SEVERE" and "/v1/explain" not in e["message"]
    ]
    assert wrong == []
