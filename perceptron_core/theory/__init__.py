"""What theory says of a set: margin, separability, mistake bound."""
