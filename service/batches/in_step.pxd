# Compiled code knows nothing of in_step.pyx; this file says that there is one.
