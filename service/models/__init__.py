"""Models behind one interface: ours of two and of several classes, and River's."""
