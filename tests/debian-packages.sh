#!/bin/sh
# Install the Debian packages that tests use, if this user may; otherwise say which tests will be skipped.
set -u
missing=""
need() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
need tiffinfo libtiff-tools
need pdfimages poppler-utils
need qpdf qpdf
need tesseract tesseract-ocr
need gs ghostscript
need chromium chromium
need chromedriver chromium-driver
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing$missing"
  apt-get update -qq >/dev/null 2>&1
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null 2>&1 && exit 0
fi
echo "not installed:$missing (tests that need them are skipped)"
exit 0
