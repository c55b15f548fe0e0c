# What compiled code knows of ascii.pyx.
cpdef bint copy_ascii(text, bytearray room, bint lowercase) except -1
