"""Commands that work on files alone: no stream, no server."""
