"""Files in and out: images, TIFF and PDF; batches that resume; object stores; shards for many machines."""
