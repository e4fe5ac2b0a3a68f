"""Model files: what they say and the weights they hold."""
