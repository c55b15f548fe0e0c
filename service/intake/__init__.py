"""Events and labels that come by HTTP. In: messages of clients. Out: records, each appended once."""
