# Declares records.pyx, so that it is compiled; nothing imports it in C.
