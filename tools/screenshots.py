"""Take the pictures of the web page in docs/images: python tools/screenshots.py [NAME ...].

Starts the service on a free port and Debian's Chromium without a window; needs selenium (extra ``dev``).
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--no-first-run")  # fmt: skip
Browser = webdriver.Chrome


@contextlib.contextmanager
def service() -> Iterator[str]:
    """The address of a service that runs meanwhile."""
    command = [sys.executable, "-m", "sauvolanet", "serve", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield next(word for word in process.stderr.readline().split() if word.startswith("http"))
    finally:
        process.terminate()
        process.communicate()


@contextlib.contextmanager
def browser(width: int, height: int, scheme: str, density: float = 1) -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in FLAGS:
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        metrics = {"width": width, "height": height, "deviceScaleFactor": density, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        yield driver
    finally:
        driver.quit()


def ready(driver: Browser) -> None:
    """Wait until nothing is under way."""
    idle = "return document.body.dataset.ready && !document.querySelector('[aria-busy]')"
    WebDriverWait(driver, 300).until(lambda d: d.execute_script(idle))
    time.sleep(0.5)  # the frame is drawn


def example(driver: Browser, number: int = 0) -> None:
    ready(driver)
    driver.find_elements(By.CSS_SELECTOR, "#examples button")[number].click()
    ready(driver)


def view(driver: Browser, name: str) -> None:
    driver.find_element(By.CSS_SELECTOR, f"input[value={name}]").click()
    ready(driver)


def click_page(driver: Browser, dx: int, dy: int) -> None:
    canvas = driver.find_element(By.ID, "view")
    ActionChains(driver).move_to_element_with_offset(canvas, dx, dy).click().perform()
    time.sleep(1)
    ready(driver)
    for _ in range(80):  # go on to the next ink
        if driver.find_element(By.CSS_SELECTOR, "[data-fact=verdict]").text == "ink":
            break
        canvas.send_keys(Keys.SHIFT + Keys.ARROW_RIGHT)
        time.sleep(0.1)
    driver.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    time.sleep(0.3)


def welcome(driver: Browser) -> None:
    ready(driver)
    loaded = "return [...document.images].every((i) => i.complete && i.naturalWidth)"
    WebDriverWait(driver, 120).until(lambda d: d.execute_script(loaded))


def result(driver: Browser) -> None:
    example(driver)
    click_page(driver, 60, 28)


def attention(driver: Browser) -> None:
    example(driver)
    view(driver, "attention")
    canvas = driver.find_element(By.ID, "view")
    canvas.send_keys("++++++")
    click_page(driver, 40, -30)


def threshold(driver: Browser) -> None:
    example(driver)
    view(driver, "threshold")


def whole(driver: Browser) -> None:
    example(driver)
    view(driver, "whole")


def compare(driver: Browser) -> None:
    example(driver)
    Select(driver.find_element(By.ID, "other")).select_by_value("method:sauvola")
    ready(driver)
    driver.find_element(By.ID, "differences").click()
    ready(driver)
    driver.find_element(By.ID, "view").send_keys("+++")
    driver.execute_script("document.activeElement.blur()")
    ready(driver)


PICTURES: dict[str, tuple[Callable[[Browser], None], int, int, str, float]] = {
    "web-welcome": (welcome, 1280, 880, "light", 1),
    "web-result": (result, 1280, 880, "light", 1),
    "web-attention": (attention, 1280, 880, "dark", 1),
    "web-threshold": (threshold, 1280, 880, "light", 1),
    "web-whole": (whole, 1280, 880, "light", 1),
    "web-compare": (compare, 1280, 880, "light", 1),
    "web-phone": (result, 390, 844, "light", 2),
    "web-phone-dark": (attention, 390, 844, "dark", 2),
}


def main(names: list[str]) -> None:
    IMAGES.mkdir(exist_ok=True)
    with service() as address:
        for name in names or PICTURES:
            act, width, height, scheme, density = PICTURES[name]
            with browser(width, height, scheme, density) as driver:
                driver.get(address)
                act(driver)
                driver.save_screenshot(str(IMAGES / f"{name}.png"))
                for entry in driver.get_log("browser"):
                    print(name, entry["level"], entry["message"], file=sys.stderr)
            print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
