# Tokens of JSON as C reads them, and scalars as Python objects: what event_reader.pyx is made of. No module of its own.
#
# Bytes of Python end with a zero that is not a part of them. No token has one, so that whoever stops at the first
# byte that does not fit stays within the bytes, however they are cut.
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #define TENS 80  /* powers of ten on either side: no number of 19 digits leaves the doubles with these */
    static uint64_t perceptron_powers[2 * TENS + 1][2];

    static inline void perceptron_multiply(uint64_t a, uint64_t b, uint64_t* high, uint64_t* low) {
    #ifdef __SIZEOF_INT128__
        unsigned __int128 product = (unsigned __int128)a * b;
        *high = (uint64_t)(product >> 64);
        *low = (uint64_t)product;
    #else
        uint64_t a0 = a & 0xFFFFFFFF, a1 = a >> 32, b0 = b & 0xFFFFFFFF, b1 = b >> 32;
        uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
        uint64_t middle = (p00 >> 32) + (p01 & 0xFFFFFFFF) + (p10 & 0xFFFFFFFF);
        *high = p11 + (p01 >> 32) + (p10 >> 32) + (middle >> 32);
        *low = middle << 32 | (p00 & 0xFFFFFFFF);
    #endif
    }

    /* The bits of the double nearest to w * 10^q, ties to even, for w > 0 and |q| <= TENS: Lemire (2021), Number
       parsing at a gigabyte per second, Software: Practice and Experience 51(8), algorithm 1. That it always decides is
       shown by Mushtak and Lemire (2023), Fast number parsing without fallback, the same 53(7). */
    static inline uint64_t perceptron_nearest(uint64_t w, int q) {
        int zeros = 0;
    #if defined(__GNUC__)
        zeros = __builtin_clzll(w);
        w <<= zeros;
    #else
        for (int step = 32; step; step >>= 1)
            if (!(w >> (64 - step))) { w <<= step; zeros += step; }
    #endif
        uint64_t high, low, more, rest;
        perceptron_multiply(w, perceptron_powers[q + TENS][0], &high, &low);
        if ((high & 0x1FF) == 0x1FF) {
            perceptron_multiply(w, perceptron_powers[q + TENS][1], &more, &rest);
            low += more;
            if (low < more) high++;
        }
        int upper = (int)(high >> 63), shift = upper + 9;
        uint64_t mantissa = high >> shift;
        /* The floor of q * log2(10); nothing negative is shifted. */
        int64_t power = (217706 * (int64_t)(q + 32768) >> 16) - 108853;
        int64_t exponent = power + 63 + upper - zeros + 1023;
        if (low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 && mantissa << shift == high)
            mantissa &= ~(uint64_t)1;
        mantissa += mantissa & 1;
        mantissa >>= 1;
        if (mantissa >= (uint64_t)2 << 52) { mantissa = (uint64_t)1 << 52; exponent++; }
        return (mantissa & ~((uint64_t)1 << 52)) | (uint64_t)exponent << 52;
    }

    /* Skip white space: mostly there is none, or one space. */
    static inline const unsigned char* perceptron_skip(const unsigned char* at) {
        if (*at > ' ') return at;
        if (*at == ' ' && at[1] > ' ') return at + 1;
        while (*at == ' ' || *at == '\\n' || *at == '\\r' || *at == '\\t') at++;
        return at;
    }

    /* Read the digits from `at` on, eight at a time where that many bytes are left; return where they end. How many of
       the last eight are digits decides no branch, as it cannot be guessed. */
    static inline const unsigned char* perceptron_digits(const unsigned char* at, const unsigned char* end,
                                                         uint64_t* w) {
        uint64_t value = *w;
    #if PY_LITTLE_ENDIAN && defined(__GNUC__)
        static const uint64_t tens[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
        while (end - at >= 8) {
            uint64_t eight, others;
            memcpy(&eight, at, 8);
            /* The top bit of each byte that is not a digit, up to the first. */
            others = ((eight + 0x4646464646464646) | (eight - 0x3030303030303030)) & 0x8080808080808080;
            int n = others ? __builtin_ctzll(others) >> 3 : 8;
            eight = (eight - 0x3030303030303030) << 4 * (8 - n) << 4 * (8 - n);
            eight = eight * 10 + (eight >> 8);
            eight = ((eight & 0x000000FF000000FF) * 0x000F424000000064 +
                     ((eight >> 16) & 0x000000FF000000FF) * 0x0000271000000001) >> 32;
            value = tens[n] * value + eight;
            at += n;
            if (n < 8) {
                *w = value;
                return at;
            }
        }
    #endif
        for (; *at >= '0' && *at <= '9'; at++) value = 10 * value + (*at - '0');
        *w = value;
        return at;
    }

    /* Read a number; return where it ends, NULL where it is not a number, or not one of the common kind. */
    static inline const unsigned char* perceptron_number(const unsigned char* at, const unsigned char* end,
                                                         double* number) {
        int negative = *at == '-', is_whole = 1, q = 0;
        at += negative;
        const unsigned char* first = at;
        uint64_t w = 0;
        if (*at < '0' || *at > '9') return NULL;
        w = *at++ - '0';
        if (*at >= '0' && *at <= '9') {
            if (!w) return NULL;
            at = perceptron_digits(at, end, &w);
        }
        int64_t n_digits = at - first;
        if (*at == '.') {
            const unsigned char* point = at++;
            is_whole = 0;
            at = perceptron_digits(at, end, &w);
            int64_t n_behind = at - point - 1;
            if (!n_behind || n_behind > 2 * TENS) return NULL;
            n_digits += n_behind;
            q = -(int)n_behind;
            if (n_digits > 19 && *first == '0') {
                n_digits = n_behind;
                while (*++point == '0') n_digits--;
            }
        }
        if (n_digits > 19) return NULL;
        if (*at == 'e' || *at == 'E') {
            int sign = 1, exponent = 0;
            is_whole = 0;
            at++;
            if (*at == '+' || *at == '-') sign = *at++ == '-' ? -1 : 1;
            const unsigned char* first = at;
            for (; *at >= '0' && *at <= '9'; at++) {
                if (at - first == 3) return NULL;
                exponent = 10 * exponent + (*at - '0');
            }
            if (at == first) return NULL;
            q += sign * exponent;
        }
        if (is_whole) {
            if (n_digits > 18) return NULL;  /* longer ones may be no int64 */
            *number = (double)(negative ? -(int64_t)w : (int64_t)w);
            return at;
        }
        if (q < -TENS || q > TENS) return NULL;
        uint64_t bits = (w ? perceptron_nearest(w, q) : 0) | (uint64_t)negative << 63;
        memcpy(number, &bits, 8);
        return at;
    }

    /* Find the end of the text that begins at `at`; NULL where a backslash or a control character comes first.
       `bits` are those that any byte of it has. */
    static inline const unsigned char* perceptron_text_end(const unsigned char* at, unsigned char* bits) {
        *bits = 0;
        while (*at != '"') {
            if (*at < 0x20 || *at == '\\\\') return NULL;
            *bits |= *at++;
        }
        return at;
    }

    /* Return a text of ASCII as a string. */
    static inline PyObject* perceptron_ascii(const unsigned char* text, Py_ssize_t size) {
        PyObject* made = PyUnicode_New(size, 127);
        if (made) memcpy(PyUnicode_DATA(made), text, size);
        return made;
    }

    /* Whether the bytes from `at` are those of `expected`, after which seven more can be read. */
    static inline int perceptron_is_same(const unsigned char* at, const unsigned char* end,
                                         const unsigned char* expected, Py_ssize_t size) {
        uint64_t a, b;
        if (end - at < size) return 0;
    #if PY_LITTLE_ENDIAN
        if (end - at >= size + 7) {
            for (; size >= 8; size -= 8, at += 8, expected += 8) {
                memcpy(&a, at, 8);
                memcpy(&b, expected, 8);
                if (a != b) return 0;
            }
            if (!size) return 1;
            memcpy(&a, at, 8);
            memcpy(&b, expected, 8);
            return !((a ^ b) << (64 - 8 * size));
        }
    #endif
        return !memcmp(at, expected, size);
    }
    """
    enum: TENS
    uint64_t perceptron_powers[161][2]
    const unsigned char* skip "perceptron_skip"(const unsigned char* at) noexcept
    const unsigned char* number_at "perceptron_number"(
        const unsigned char* at, const unsigned char* end, double* number
    ) noexcept
    const unsigned char* text_end "perceptron_text_end"(const unsigned char* at, unsigned char* bits) noexcept
    object ascii_text "perceptron_ascii"(const unsigned char* text, Py_ssize_t size)
    bint is_same "perceptron_is_same"(
        const unsigned char* at, const unsigned char* end, const unsigned char* expected, Py_ssize_t size
    ) noexcept


cdef inline object scalar(const unsigned char** at, const unsigned char* end):
    """Read null, a boolean, a number or a string; return `NotImplemented` for any other value."""
    cdef const unsigned char* text = at[0]
    cdef Py_ssize_t left = end - text
    cdef unsigned char bits
    cdef double number
    if text[0] == c'"':
        at[0] = text_end(text + 1, &bits)
        if at[0] == NULL:
            return NotImplemented
        at[0] += 1
        return string(text + 1, at[0] - text - 2, bits < 0x80)
    if left >= 4 and not memcmp(text, b"true", 4):
        at[0] = text + 4
        return True
    if left >= 5 and not memcmp(text, b"false", 5):
        at[0] = text + 5
        return False
    if left >= 4 and not memcmp(text, b"null", 4):
        at[0] = text + 4
        return None
    at[0] = number_at(text, end, &number)
    return NotImplemented if at[0] == NULL else number


cdef inline object string(const unsigned char* text, Py_ssize_t size, bint is_ascii):
    """Decode a string; return `NotImplemented` if it is not UTF-8."""
    if is_ascii:
        return ascii_text(text, size)
    try:
        return PyUnicode_DecodeUTF8(<const char*>text, size, NULL)
    except UnicodeDecodeError:
        return NotImplemented
