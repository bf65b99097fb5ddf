"""Pictures for people: explanations, comparison sheets, the demonstration."""
