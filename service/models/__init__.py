"""Models behind one interface: binary and multiclass ones of `perceptron_core`, and River's."""
