# Declares record_reader.pyx, so that it is compiled; nothing imports it in C.
