"""The routes, one file for each group; each file has a function that returns its routes."""
