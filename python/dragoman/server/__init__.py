"""The HTTP servers: routes, errors, authentication, metrics."""
