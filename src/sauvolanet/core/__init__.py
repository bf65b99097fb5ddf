"""What everybody stands on: array types, bands on threads, window statistics, components, thinning, atomic writes."""
