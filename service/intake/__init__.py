"""Events and labels that come by HTTP, each appended once."""
