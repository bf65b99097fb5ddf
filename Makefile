# make demo      install the base package and binarize a bundled example page
# make test      install what the tests need and run them all
# make quick     the tests without the slow ones
# make sanitize  the tests of the compiled core, with every access to memory checked
# make hosts     the plugins inside OCRmyPDF, OCR-D and kraken, each installed into an environment of its own (large)
# make lint      ruff and mypy
#
# Python 3.11 or newer and make have to be there and, for speed, a C++ compiler. In the environment of the tests a warning
# of the compiler is an error.

PYTHON ?= python3
EXTRAS := dev,train,keras,serve,howe,store,dask,onnx
DEMO := .venv-demo
SANITIZED := build/sanitized
TESTS := .venv
CORE := setup.py $(wildcard src/sauvolanet/core/native/*)

.PHONY: demo test quick sanitize hosts lint debian

demo: $(DEMO)/.installed
	$(DEMO)/bin/python -m sauvolanet.show.demo demo-output

test: $(TESTS)/.installed debian
	$(TESTS)/bin/python -m pytest

quick: $(TESTS)/.installed
	$(TESTS)/bin/python -m pytest -m "not slow"

sanitize: $(TESTS)/.installed
	rm -rf $(SANITIZED)
	SAUVOLANET_CXXFLAGS="-Werror -g -fsanitize=address,undefined -fno-sanitize-recover=all -DCHECK_BOUNDS" \
	$(TESTS)/bin/python -m pip install --quiet --no-deps --target $(SANITIZED) .
	PYTHONPATH=$(SANITIZED) ASAN_OPTIONS=detect_leaks=0 \
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	$(TESTS)/bin/python -m pytest -x tests/core tests/net tests/page/test_reading.py tests/classic/test_parts.py \
	tests/classic/test_methods.py tests/score/test_metrics.py tests/score/test_weights.py tests/paper/test_fit.py

hosts: $(TESTS)/.installed debian
	SAUVOLANET_HOST_TESTS=1 $(TESTS)/bin/python -m pytest tests/plugins

lint: $(TESTS)/.installed
	$(TESTS)/bin/ruff check
	$(TESTS)/bin/ruff format --check
	$(TESTS)/bin/mypy

# programs that some tests use; where they cannot be installed those tests are skipped and say so
debian:
	@sh tests/debian-packages.sh

$(DEMO)/.installed: pyproject.toml $(CORE)
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet -e .
	touch $@

$(TESTS)/.installed: pyproject.toml constraints.txt $(CORE)
	$(PYTHON) -m venv $(TESTS)
	SAUVOLANET_CXXFLAGS=-Werror $(TESTS)/bin/python -m pip install --quiet -c constraints.txt -e '.[$(EXTRAS)]'
	touch $@
