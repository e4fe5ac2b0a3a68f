"""Structured outputs: from what a request asks for to the mask that the engine applies."""
