"""An audit of a stream: what the service must have written, judged by the topics alone."""
