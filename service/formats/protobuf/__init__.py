"""Protobuf: files of descriptors, and the messages that they describe."""
