"""Training: network, loss, patches, loop and export. Needs torch: ``pip install 'sauvolanet[train]'``."""
