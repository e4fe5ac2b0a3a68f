"""The line on stdout that says where a server listens; scripts, tests and the demo read it."""

ADDRESS_LINE = "dragoman: listening on "
