# Tokens of JSON as C reads them: what event_reader.pyx is made of. No module of its own.
#
# Bytes of Python end with a zero that is no part of them. No token has one, so that whoever stops at the first
# byte that does not fit stays within the bytes, however they are cut.
from libc.stdint cimport int64_t, uint64_t

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

    /* The double nearest to w * 10^q, ties to even, for w > 0 and |q| <= TENS: Lemire (2021), Number parsing at a
       gigabyte per second, Software: Practice and Experience 51(8), algorithm 1. That it always decides is shown by
       Mushtak and Lemire (2023), Fast number parsing without fallback, the same 53(7). */
    static inline double perceptron_nearest(uint64_t w, int q) {
        int zeros = 0;
        for (int step = 32; step; step >>= 1)
            if (!(w >> (64 - step))) { w <<= step; zeros += step; }
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
        uint64_t bits = (mantissa & ~((uint64_t)1 << 52)) | (uint64_t)exponent << 52;
        double value;
        memcpy(&value, &bits, 8);
        return value;
    }

    static inline const unsigned char* perceptron_skip(const unsigned char* at) {
        while (*at == ' ' || *at == '\\n' || *at == '\\r' || *at == '\\t') at++;
        return at;
    }

    /* Read a number; return where it ends, NULL where it is no number, or not one of the common kind. */
    static inline const unsigned char* perceptron_number(const unsigned char* at, double* number) {
        int negative = *at == '-', n_digits = 0, q = 0, is_whole = 1;
        uint64_t w = 0;
        at += negative;
        if (*at == '0') {
            at++;
            if (*at >= '0' && *at <= '9') return NULL;
        } else {
            const unsigned char* first = at;
            for (; *at >= '0' && *at <= '9'; at++) {
                if (at - first == 19) return NULL;
                w = 10 * w + (*at - '0');
            }
            n_digits = (int)(at - first);
            if (!n_digits) return NULL;
        }
        if (*at == '.') {
            const unsigned char* first = ++at;
            is_whole = 0;
            for (; *at >= '0' && *at <= '9'; at++) {
                if (n_digits || *at != '0')
                    if (++n_digits > 19) return NULL;
                w = 10 * w + (*at - '0');
                if (at - first > 2 * TENS) return NULL;
            }
            if (at == first) return NULL;
            q = -(int)(at - first);
        }
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
        double size = w ? perceptron_nearest(w, q) : 0.0;
        *number = negative ? -size : size;
        return at;
    }

    /* Find the end of the text that begins at `at`; NULL where a backslash or a control character comes first. */
    static inline const unsigned char* perceptron_text_end(const unsigned char* at) {
        while (*at != '"') {
            if (*at < 0x20 || *at == '\\\\') return NULL;
            at++;
        }
        return at;
    }
    """
    enum: TENS
    uint64_t perceptron_powers[161][2]
    const unsigned char* skip "perceptron_skip"(const unsigned char* at) noexcept
    const unsigned char* number_at "perceptron_number"(const unsigned char* at, double* number) noexcept
    const unsigned char* text_end "perceptron_text_end"(const unsigned char* at) noexcept
