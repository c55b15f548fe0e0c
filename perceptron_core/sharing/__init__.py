"""One model of several learners: what each contributes, and what all take over."""
