"""MurmurHash3 of data after a prefix: the compiled form of `murmur3.py`, where it is documented."""

cimport cython
from perceptron_core cimport c_memory as memory
from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    #include <stdint.h>

    /* The least significant first, on any machine. */
    static inline uint32_t block_at(const uint8_t *data) {
        return (uint32_t)data[3] << 24 | (uint32_t)data[2] << 16 | (uint32_t)data[1] << 8 | data[0];
    }
    static inline uint32_t scrambled(uint32_t block) {
        block *= 0xCC9E2D51u;
        return (block << 15 | block >> 17) * 0x1B873593u;
    }
    static inline uint32_t with_block(uint32_t state, uint32_t block) {
        state ^= scrambled(block);
        return (state << 13 | state >> 19) * 5u + 0xE6546B64u;
    }
    static inline uint32_t finished(uint32_t state, uint32_t length) {
        state ^= length;
        state = (state ^ state >> 16) * 0x85EBCA6Bu;
        state = (state ^ state >> 13) * 0xC2B2AE35u;
        return state ^ state >> 16;
    }

    /* Without a branch, so that the compiler computes several at once; the four bytes come by four pointers, since it
       does not do so once it sees them to be neighbours. `bits` of `carried` come before them. */
    FOR_TWO_PROCESSORS static void fours(
        const uint8_t *CYTHON_RESTRICT first, const uint8_t *CYTHON_RESTRICT second,
        const uint8_t *CYTHON_RESTRICT third, const uint8_t *CYTHON_RESTRICT fourth,
        Py_ssize_t count, uint32_t state, uint32_t carried, int bits, uint32_t length, uint32_t mask,
        int *CYTHON_RESTRICT hashes
    ) {
        const int rest = 31 - bits;
        count = (count + 15) & ~(Py_ssize_t)15;  /* whole vectors only; there is room */
        for (Py_ssize_t k = 0; k < count; k++) {
            uint32_t block = (uint32_t)fourth[k] << 24 | (uint32_t)third[k] << 16 | (uint32_t)second[k] << 8 | first[k];
            uint32_t then = with_block(state, block << bits | carried);
            hashes[k] = (int)(finished(then ^ scrambled(block >> 1 >> rest), length) & mask);
        }
    }
    /* The same of n bytes in a row, fewer than four. */
    FOR_TWO_PROCESSORS static void few(
        const uint8_t *CYTHON_RESTRICT first, const uint8_t *CYTHON_RESTRICT second,
        const uint8_t *CYTHON_RESTRICT third, int n, Py_ssize_t count, uint32_t state, uint32_t carried, int bits,
        uint32_t length, uint32_t mask, int *CYTHON_RESTRICT hashes
    ) {
        const uint32_t kept = (1u << 8 * n) - 1;
        const int rest = 31 - bits;
        count = (count + 15) & ~(Py_ssize_t)15;
        if (bits + 8 * n < 32) {
            for (Py_ssize_t k = 0; k < count; k++) {
                uint32_t bytes = ((uint32_t)third[k] << 16 | (uint32_t)second[k] << 8 | first[k]) & kept;
                hashes[k] = (int)(finished(state ^ scrambled(bytes << bits | carried), length) & mask);
            }
            return;
        }
        for (Py_ssize_t k = 0; k < count; k++) {
            uint32_t bytes = ((uint32_t)third[k] << 16 | (uint32_t)second[k] << 8 | first[k]) & kept;
            uint32_t then = with_block(state, bytes << bits | carried);
            hashes[k] = (int)(finished(then ^ scrambled(bytes >> 1 >> rest), length) & mask);
        }
    }
    """
    uint32_t block_at(const uint8_t* data) noexcept
    uint32_t scrambled(uint32_t block) noexcept
    uint32_t with_block(uint32_t state, uint32_t block) noexcept
    uint32_t finished(uint32_t state, uint32_t length) noexcept
    void fours(
        const uint8_t* first, const uint8_t* second, const uint8_t* third, const uint8_t* fourth, Py_ssize_t count,
        uint32_t state, uint32_t carried, int bits, uint32_t length, uint32_t mask, int* hashes
    ) noexcept
    void few(
        const uint8_t* first, const uint8_t* second, const uint8_t* third, int n, Py_ssize_t count, uint32_t state,
        uint32_t carried, int bits, uint32_t length, uint32_t mask, int* hashes
    ) noexcept


@cython.final
cdef class Murmur:
    """Hashes data after a prefix."""

    def __init__(self, bytes prefix):
        cdef const uint8_t* data = prefix
        cdef Py_ssize_t at, whole = len(prefix) // 4 * 4
        self._prefix_bytes = len(prefix)
        self._state = 0
        for at in range(0, whole, 4):
            self._state = with_block(self._state, block_at(data + at))
        self._carried = int.from_bytes(prefix[whole:], "little")
        self._carried_bits = 8 * (len(prefix) - whole)

    cdef uint32_t hash(self, const uint8_t* data, Py_ssize_t start, Py_ssize_t end) noexcept:
        """Return the hash of the prefix and `data[start:end]`."""
        cdef uint32_t state = self._state, carried = self._carried, block
        cdef int bits = self._carried_bits, rest = 31 - bits
        cdef Py_ssize_t at = start
        while at + 4 <= end:
            block = block_at(data + at)
            state = with_block(state, block << bits | carried)
            carried = block >> 1 >> rest
            at += 4
        while at < end:
            carried |= <uint32_t>data[at] << bits
            bits += 8
            at += 1
            if bits == 32:  # a block
                state = with_block(state, carried)
                carried = bits = 0
        return finished(state ^ scrambled(carried), self._prefix_bytes + <uint32_t>(end - start))

    cdef uint32_t hash_text(self, str text) except? 0:
        """Return the hash of the prefix and a text as UTF-8, also with lone surrogates."""
        cdef bytes data
        if memory.PyUnicode_IS_ASCII(text):
            return self.hash(memory.PyUnicode_1BYTE_DATA(text), 0, len(text))
        data = text.encode("utf-8", "surrogatepass")
        return self.hash(data, 0, len(data))

    cdef int hash_runs(
        self, const uint8_t* data, int n, Py_ssize_t count, int mask, int[::1] hashes, Py_ssize_t at
    ) except -1:
        """Write the hashes of the prefix and each run of n bytes of `data`; n is 1 to 4."""
        if count > 0 and n == 4:
            fours(
                data, data + 1, data + 2, data + 3, count,
                self._state, self._carried, self._carried_bits, self._prefix_bytes + 4, mask, &hashes[at]
            )
        elif count > 0:
            few(
                data, data + 1, data + 2, n, count,
                self._state, self._carried, self._carried_bits, self._prefix_bytes + n, mask, &hashes[at]
            )
        return 0
