# make demo    install the base package and binarize a bundled example page
# make test    install what the tests need and run them all
# make quick   the tests without the slow ones
# make hosts   the plugins inside OCRmyPDF, OCR-D and kraken, each installed into an environment of its own (large)
# make lint    ruff and mypy

PYTHON ?= python3
EXTRAS := dev,train,keras,serve,howe,store,dask,onnx
DEMO := .venv-demo
TESTS := .venv

.PHONY: demo test quick hosts lint debian

demo: $(DEMO)/.installed
	$(DEMO)/bin/python -m sauvolanet.show.demo demo-output

test: $(TESTS)/.installed debian
	$(TESTS)/bin/python -m pytest

quick: $(TESTS)/.installed
	$(TESTS)/bin/python -m pytest -m "not slow"

hosts: $(TESTS)/.installed debian
	SAUVOLANET_HOST_TESTS=1 $(TESTS)/bin/python -m pytest tests/plugins

lint: $(TESTS)/.installed
	$(TESTS)/bin/ruff check
	$(TESTS)/bin/ruff format --check
	$(TESTS)/bin/mypy

# programs that some tests use; where they cannot be installed those tests are skipped and say so
debian:
	@sh tests/debian-packages.sh

$(DEMO)/.installed: pyproject.toml
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet -e .
	touch $@

$(TESTS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(TESTS)
	$(TESTS)/bin/python -m pip install --quiet -c constraints.txt -e '.[$(EXTRAS)]'
	touch $@
