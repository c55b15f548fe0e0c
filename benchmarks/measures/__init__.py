"""What `make bench` measures: the goals of the project's speed, each as a contest in one run."""
