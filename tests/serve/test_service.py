"""What the service answers: the oracle is the Python call with the same options, and other libraries' decoders."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pikepdf
import pytest
import tifffile
from PIL import Image

from sauvolanet import Binarizer, binarize, explain, normalize, threshold
from sauvolanet.classic import METHODS
from sauvolanet.options import VERB_OPTIONS
from sauvolanet.serve.work import BINARIZE, STRENGTHS

from .conftest import until


@pytest.mark.parametrize(
    "options",
    [{}, {"strength": "0.4"}, {"model": "original", "despeckle": "8"}, {"method": "nick", "window": "25", "k": "-0.1"},
     {"method": "sauvola", "preset": "opencv"}, {"method": "otsu", "invert": "yes"}],
)  # fmt: skip
def test_binarize_is_python_s_binarize(service, gray, png, decode, options):
    answer = service.post("/v1/binarize", png, **options)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "image/png"
    assert np.array_equal(decode(answer.content), binarize(gray, **options))


def test_keep_gray_is_python_s_normalize(service, gray, png):
    answer = service.post("/v1/binarize", png, method="otsu", keep_gray="yes")
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(answer.content))), normalize(gray, method="otsu"))


def test_tiff_is_group_4_with_the_resolution_kept(service, gray, png):
    answer = service.post("/v1/binarize", png, method="otsu", format="tiff")
    with tifffile.TiffFile(io.BytesIO(answer.content)) as tiff:
        tags = tiff.pages[0].tags
        assert tags["Compression"].value == 4
        assert tags["XResolution"].value[0] / tags["XResolution"].value[1] == pytest.approx(300, abs=0.01)
    picture = Image.open(io.BytesIO(answer.content))
    assert np.array_equal(~np.asarray(picture), binarize(gray, method="otsu"))


def test_multi_page_tiff_becomes_pdf_and_tiff_of_as_many_pages(service, gray, decode):
    file = io.BytesIO()
    pages = [Image.fromarray(gray), Image.fromarray(255 - gray // 2)]
    pages[0].save(file, "TIFF", save_all=True, append_images=pages[1:], dpi=(200, 200))
    book = file.getvalue()
    answer = service.post("/v1/binarize", book, "book.tif", method="otsu", format="pdf")
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''book.pdf"
    with pikepdf.open(io.BytesIO(answer.content)) as pdf:
        assert len(pdf.pages) == 2
        assert float(pdf.pages[0].mediabox[2]) == pytest.approx(200 / 200 * 72, abs=0.1)
    again = service.post("/v1/binarize", answer.content, "book.pdf", method="otsu")  # PDF in, TIFF by default
    assert answer.status_code == 200 and again.headers["content-type"] == "image/tiff"
    assert np.array_equal(decode(again.content), binarize(gray, method="otsu"))
    assert Image.open(io.BytesIO(again.content)).n_frames == 2
    second = service.post("/v1/binarize", book, "book.tif", method="otsu", page="2")
    assert second.headers["content-type"] == "image/png"
    assert np.array_equal(decode(second.content), binarize(255 - gray // 2, method="otsu"))
    refused = service.post("/v1/binarize", book, "book.tif", format="png")
    assert refused.status_code == 400 and "page=N" in refused.json()["error"]["message"]
    assert service.post("/v1/binarize", book, "book.tif", page="3").status_code == 400


def test_the_answer_says_what_was_found(service, gray, png, encode):
    told = Binarizer(method="otsu").run(gray).found
    answer = service.post("/v1/binarize", png, method="otsu")
    assert json.loads(answer.headers["sauvolanet-found"]) == told.to_json()
    assert told.look == () and "sauvolanet-look" not in answer.headers
    meta, _ = read_zip(service.post("/v1/explain", png, method="otsu"))
    assert meta["found"] == told.to_json()
    empty = np.full_like(gray, 250)
    answer = service.post("/v1/binarize", encode(empty), method="otsu")
    assert json.loads(answer.headers["sauvolanet-found"])["look"] == ["nearly blank"]
    assert answer.headers["sauvolanet-look"] == "1"
    file = io.BytesIO()
    pages = [Image.fromarray(page) for page in (gray, empty, gray, empty)]
    pages[0].save(file, "TIFF", save_all=True, append_images=pages[1:])
    answer = service.post("/v1/binarize", file.getvalue(), "book.tif", method="otsu")
    assert answer.headers["sauvolanet-look"] == "2, 4" and "sauvolanet-found" not in answer.headers
    answer = service.post("/v1/binarize", file.getvalue(), "book.tif", method="otsu", page=2)
    assert answer.headers["sauvolanet-look"] == "2"


def read_zip(answer):
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    pictures = {n: np.asarray(Image.open(archive.open(n))) for n in archive.namelist() if n.endswith(".png")}
    return json.loads(archive.read("meta.json")), pictures


def test_explain_holds_every_step(service, gray, png):
    meta, pictures = read_zip(service.post("/v1/explain", png, model="original"))
    truth = explain(gray, model="original")
    assert (meta["width"], meta["height"], meta["pages"], meta["name"]) == (200, 150, 1, "original")
    assert meta["dpi"] == pytest.approx([300, 300], abs=0.01)
    assert [c["name"] for c in meta["choices"]] == truth.choices
    assert np.array_equal(pictures["gray.png"], truth.gray)
    assert pictures["threshold.png"].dtype == np.uint16
    assert np.array_equal(gray.astype(int) * 256 < pictures["threshold.png"], truth.ink)
    inside = (truth.threshold > 0) & (truth.threshold < 255)
    assert np.abs(pictures["threshold.png"] / 256 - truth.threshold)[inside].max() <= 1 / 256
    for i, choice in enumerate(meta["choices"]):
        assert np.abs(pictures[choice["attention"]] / 255 - truth.attention[i]).max() < 0.002
        assert np.array_equal(~pictures[choice["ink"]], gray < truth.surfaces[i])


@pytest.mark.parametrize("what", [{"model": "original"}, {"method": "sauvola"}])
def test_onset_tells_the_ink_at_every_strength(service, gray, png, what):
    _, pictures = read_zip(service.post("/v1/explain", png, **what))
    for i in range(0, len(STRENGTHS), 10):
        assert np.array_equal(pictures["onset.png"] <= i, binarize(gray, strength=STRENGTHS[i], **what)), STRENGTHS[i]


def test_explain_of_a_method_without_surface_is_its_ink(service, gray, png):
    meta, pictures = read_zip(service.post("/v1/explain", png, method="gatos"))
    assert not meta["surface"] and meta["choices"] == []
    assert np.array_equal(~pictures["ink.png"], binarize(gray, method="gatos"))


def test_explain_says_the_channel(service, gray, encode):
    colour = np.stack([gray, 255 - gray, np.full_like(gray, 200)], 2)
    for name, shown in (("red", gray), ("green", 255 - gray)):
        meta, pictures = read_zip(service.post("/v1/explain", encode(colour), method="otsu", invert="no", channel=name))
        assert meta["channel"] == name and np.array_equal(pictures["gray.png"], shown)


def test_explain_says_what_was_inverted(service, gray, encode):
    meta, pictures = read_zip(service.post("/v1/explain", encode(255 - gray), method="otsu", invert="yes"))
    assert meta["inverted"] and np.array_equal(pictures["gray.png"], gray)


def test_a_large_page_is_explained_without_attention(start, gray, png):
    from sauvolanet.serve import Limits

    meta, pictures = read_zip(start(limits=Limits(max_explained=1000)).post("/v1/explain", png))
    assert meta["choices"] == [] and "1000" in meta["left_out"]
    assert np.array_equal(gray.astype(int) * 256 < pictures["threshold.png"], gray < threshold(gray))


def test_no_name_of_the_form_means_two_things():
    taken = {o.name for o in (*VERB_OPTIONS, *BINARIZE)} | {"file", "model", "method", "job"}
    assert not [(m.name, o.name) for m in METHODS.values() for o in m.all_options if o.name in taken]


def test_methods_and_openapi_come_from_the_declarations(service):
    about = service.client.get("/v1/methods").json()
    assert about["default"] == Binarizer().name
    assert [m["name"] for m in about["methods"]] == list(METHODS)
    window = next(o for m in about["methods"] if m["name"] == "nick" for o in m["options"] if o["name"] == "window")
    assert window["default"] == METHODS["nick"].options[0].default and window["odd"]
    document = service.client.get("/openapi.json").json()
    form = document["paths"]["/v1/binarize"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert form["properties"]["strength"]["maximum"] == 1
    nick = next(s for s in form["anyOf"] if s["properties"].get("method") == {"const": "nick"})
    assert nick["properties"]["window"]["default"] == window["default"]
    assert set(document["paths"]["/v1/binarize"]["post"]["responses"]) == set(
        ["200", "400", "401", "408", "413", "415", "422", "503", "504"]
    )


def test_every_answer_has_security_headers_and_one_line_in_the_log(start, png):
    service = start()
    for count, path in enumerate(("/", "/app.js", "/v1/methods", "/nothing", "/healthz"), 1):
        answer = service.client.get(path)
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "server" not in answer.headers
        until(lambda n=count: service.log[n - 1 :])  # the line comes when the last byte has gone
        assert len(service.log) == count and f" GET {path} {answer.status_code} " in service.log[-1]
    assert service.post("/v1/binarize", png, method="otsu").headers["cache-control"] == "no-store"


def test_the_page_needs_nothing_from_elsewhere(service):
    from sauvolanet.serve.app import STATIC

    for file in STATIC.iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "//cdn" not in text, file.name
        assert service.client.get(f"/{file.name}").status_code == 200


def test_token_host_and_origin(start, png):
    guarded = start(token="correct-horse", hosts=("127.0.0.1",))
    assert guarded.client.get("/healthz").status_code == 200
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer correct-hors\xe9"}):
        raw = {k: v.encode("latin-1") for k, v in headers.items()}
        answer = guarded.client.get("/v1/methods", headers=raw)
        assert answer.status_code == 401 and answer.json()["error"]["code"] == "token"
        assert answer.headers["www-authenticate"] == "Bearer"
    good = {"Authorization": "Bearer correct-horse"}
    assert guarded.client.get("/v1/methods", headers=good).status_code == 200
    assert guarded.client.get("/v1/methods", headers={**good, "Host": "evil.example"}).status_code == 400
    assert guarded.client.get("/v1/methods", headers={**good, "Origin": "http://evil.example"}).status_code == 400
    assert guarded.client.get("/v1/methods", headers={**good, "Origin": guarded.url}).status_code == 200
    assert guarded.client.post("/v1/binarize", files={"file": ("a.png", png)}).status_code == 401


def test_headers_that_cannot_be_understood(start):
    guarded = start(hosts=("127.0.0.1",))
    for headers in ({"Host": "["}, {"Origin": "http://["}):
        answer = guarded.client.get("/healthz", headers=headers)
        assert answer.status_code == 400 and answer.json()["error"]["code"] == "usage"


def test_explain_takes_no_strength_with_a_method_either(service, png):
    for what in ({}, {"method": "otsu"}):
        answer = service.post("/v1/explain", png, strength="0.5", **what)
        assert answer.status_code == 400 and "unknown option 'strength'" in answer.json()["error"]["message"]


def test_models_are_named_never_paths(service, png, tmp_path):
    for name in ("/etc/passwd", "../original", str(tmp_path), "original.json"):
        answer = service.post("/v1/binarize", png, model=name)
        assert answer.status_code == 400 and "unknown model" in answer.json()["error"]["message"]
