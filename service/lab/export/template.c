/* A linear model: @LEARNER@, exported by online-perceptron @VERSION@. C99 and its library alone (-lm).

   perceptron_event *event = perceptron_new();
   perceptron_add(event, "length", 6, 12.0);         a number; true and false are 1 and 0
   perceptron_add(event, "lang=en", 7, 1.0);         a category: name=value, with the value 1
   perceptron_add_text(event, text, strlen(text));   the text, in UTF-8; once an event, after the others
   double scores[PERCEPTRON_SCORES];
   perceptron_score(event, scores);
   puts(PERCEPTRON_LABELS[perceptron_decide(scores)]);
   perceptron_clear(event);                          for the next event
   perceptron_free(event);

   Each name is added once. Functions that return int return 1, or 0 where memory is out, a value is not
   finite or beyond 1e100, or a text is no UTF-8: then the event is to be cleared. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PERCEPTRON_SCORES @SCORES@ /* one for two classes, else one for each */
#define PERCEPTRON_CLASSES @CLASSES@
#define PERCEPTRON_FEATURES @FEATURES@

/* How features are made. */
enum {
    HASH_BITS = @HASH_BITS@, /* names are hashed to so many bits; 0: names are kept */
    IS_SCALED = @IS_SCALED@, /* a value v counts as v / max(|v|, scale) */
    UNIT_LENGTH = @UNIT_LENGTH@, /* values are divided by their Euclidean length */
    CHARACTERS = @CHARACTERS@, /* a text is cut into characters, else into words */
    LOWERCASE = @LOWERCASE@,
    SHORTEST = @SHORTEST@, /* n-gram */
    LONGEST = @LONGEST@,
    COUNTS = @COUNTS@ /* the value of an n-gram is how often it occurs, else 1 */
};

const char *const PERCEPTRON_LABELS[PERCEPTRON_CLASSES] = {
@LABELS@
};

static const double BIAS[PERCEPTRON_SCORES] = {@BIASES@};
static const double THRESHOLD = @THRESHOLD@;
static const int POSITIVE_AT_THRESHOLD = @POSITIVE_AT_THRESHOLD@;

typedef struct {
    const char *name;
    uint32_t size; /* of the name in bytes; of hashed features, the index */
    double scale;
    double weights[PERCEPTRON_SCORES];
} perceptron_feature;

/* In the order of their bytes, or of their indices. */
static const perceptron_feature MODEL[PERCEPTRON_FEATURES] = {
@MODEL@
};

/* Code points: of words; of letters that decide whether a sigma ends a word; and capital letters, from the
   first to the last in steps, with what is to be added to make them small. */
typedef struct { uint32_t first, last; } point_range;
static const point_range WORD[] = {
@WORD@
};
static const point_range CASED[] = {
@CASED@
};
static const point_range CASE_IGNORABLE[] = {
@CASE_IGNORABLE@
};
static const struct { uint32_t first, last, step; int32_t offset; } CAPITALS[] = {
@CAPITALS@
};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

typedef struct {
    size_t name; /* where its name begins in `names` */
    uint32_t size, hash;
    double value;
    double occurrences; /* in the text */
} event_feature;

typedef struct {
    char *names, *scratch;
    event_feature *features;
    size_t *slots; /* of a hash table: the position of a feature, plus 1 */
    size_t names_used, names_room, scratch_room, n, room, n_slots;
} perceptron_event;

/* Make room at the pointer that `at` points to. */
static int grow(void *at, size_t *room, size_t wanted, size_t size) {
    size_t larger = 2 * wanted + 16;
    void *memory;
    if (wanted <= *room) return 1;
    memcpy(&memory, at, sizeof memory);
    if (larger > SIZE_MAX / size || !(memory = realloc(memory, larger * size))) return 0;
    memcpy(at, &memory, sizeof memory);
    *room = larger;
    return 1;
}

perceptron_event *perceptron_new(void) {
    return calloc(1, sizeof(perceptron_event));
}

void perceptron_clear(perceptron_event *event) {
    event->names_used = event->n = 0;
    if (event->slots) memset(event->slots, 0, event->n_slots * sizeof *event->slots);
}

void perceptron_free(perceptron_event *event) {
    if (!event) return;
    free(event->names);
    free(event->scratch);
    free(event->features);
    free(event->slots);
    free(event);
}

/* MurmurHash3 (x86, 32 bits, seed 0). */
static uint32_t murmur3(const char *data, size_t size) {
    const unsigned char *bytes = (const unsigned char *)data;
    uint32_t hash = 0, k = 0;
    size_t at, left = size & 3;
    for (at = 0; at + 4 <= size; at += 4) {
        k = bytes[at] | (uint32_t)bytes[at + 1] << 8 | (uint32_t)bytes[at + 2] << 16
            | (uint32_t)bytes[at + 3] << 24;
        k *= 0xcc9e2d51u;
        k = k << 15 | k >> 17;
        hash ^= k * 0x1b873593u;
        hash = hash << 13 | hash >> 19;
        hash = hash * 5 + 0xe6546b64u;
    }
    for (k = 0; left; left--) k = k << 8 | bytes[at + left - 1];
    k *= 0xcc9e2d51u;
    k = k << 15 | k >> 17;
    hash ^= k * 0x1b873593u;
    hash ^= (uint32_t)size;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

static int place(perceptron_event *event) {
    size_t n_slots = event->n_slots, at, slot;
    if (2 * (event->n + 1) <= n_slots) return 1;
    if (!grow(&event->slots, &event->n_slots, n_slots + 1, sizeof *event->slots)) return 0;
    memset(event->slots, 0, event->n_slots * sizeof *event->slots);
    for (at = 0; at < event->n; at++) {
        slot = event->features[at].hash % event->n_slots;
        while (event->slots[slot]) slot = (slot + 1) % event->n_slots;
        event->slots[slot] = at + 1;
    }
    return 1;
}

/* Return the feature of this name, a new one if there is none; NULL where memory is out. */
static event_feature *feature_of(perceptron_event *event, const char *name, size_t size) {
    uint32_t hash = murmur3(name, size);
    event_feature *found;
    size_t slot;
    if (size > UINT32_MAX || !place(event)) return NULL;
    if (HASH_BITS) {
        hash &= ((uint32_t)1 << HASH_BITS) - 1;
        size = 0;
    }
    for (slot = hash % event->n_slots; event->slots[slot]; slot = (slot + 1) % event->n_slots) {
        found = &event->features[event->slots[slot] - 1];
        if (found->hash == hash && found->size == size
            && (!size || !memcmp(event->names + found->name, name, size))) return found;
    }
    if (!grow(&event->features, &event->room, event->n + 1, sizeof *event->features)) return NULL;
    if (!grow(&event->names, &event->names_room, event->names_used + size, 1)) return NULL;
    found = &event->features[event->n++];
    event->slots[slot] = event->n;
    found->name = event->names_used;
    found->size = (uint32_t)size;
    found->hash = hash;
    found->value = found->occurrences = 0.0;
    if (size) memcpy(event->names + event->names_used, name, size);
    event->names_used += size;
    return found;
}

int perceptron_add(perceptron_event *event, const char *name, size_t size, double value) {
    event_feature *feature;
    if (!(fabs(value) <= 1e100) || !(feature = feature_of(event, name, size))) return 0;
    feature->value += value;
    return 1;
}

static int in_ranges(const point_range *ranges, size_t n, uint32_t point) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (point > ranges[middle].last) low = middle + 1;
        else high = middle;
    }
    return low < n && ranges[low].first <= point;
}

/* Decode UTF-8; return the number of code points, or SIZE_MAX for what is none. */
static size_t decode(const char *text, size_t size, uint32_t *points) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    size_t at = 0, n = 0;
    while (at < size) {
        unsigned char byte = (unsigned char)text[at++];
        int more = byte < 0x80 ? 0 : byte < 0xc0 ? -1 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : byte < 0xf8 ? 3 : -1;
        uint32_t point = more > 0 ? byte & (0x3fu >> more) : byte;
        int each;
        if (more < 0 || size - at < (size_t)more) return SIZE_MAX;
        for (each = 0; each < more; each++) {
            byte = (unsigned char)text[at++];
            if (byte >> 6 != 2) return SIZE_MAX;
            point = point << 6 | (byte & 0x3f);
        }
        if (point < least[more] || point > 0x10ffff || point >> 11 == 0x1b) return SIZE_MAX;
        points[n++] = point;
    }
    return n;
}

static size_t encode(uint32_t point, char *bytes) {
    size_t more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3, at;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    for (at = more; at; at--, point >>= 6) bytes[at] = (char)(0x80 | (point & 0x3f));
    bytes[0] = (char)(lead[more] | point);
    return more + 1;
}

static int ends_word(const uint32_t *points, size_t n, size_t at) {
    size_t other = at;
    while (other > 0 && in_ranges(CASE_IGNORABLE, COUNT(CASE_IGNORABLE), points[other - 1])) other--;
    if (other == 0 || !in_ranges(CASED, COUNT(CASED), points[other - 1])) return 0;
    for (other = at + 1; other < n; other++)
        if (!in_ranges(CASE_IGNORABLE, COUNT(CASE_IGNORABLE), points[other])) break;
    return other == n || !in_ranges(CASED, COUNT(CASED), points[other]);
}

/* Write small letters to `lower`, which has room for twice as many; return how many. */
static size_t to_lower(const uint32_t *points, size_t n, uint32_t *lower) {
    size_t at, run, written = 0;
    for (at = 0; at < n; at++) {
        uint32_t point = points[at];
        for (run = 0; run < COUNT(CAPITALS) && CAPITALS[run].first <= point; run++)
            if (point <= CAPITALS[run].last && (point - CAPITALS[run].first) % CAPITALS[run].step == 0) {
                point += (uint32_t)CAPITALS[run].offset;
                break;
            }
        if (points[at] == 0x3a3 && ends_word(points, n, at)) point = 0x3c2;
        lower[written++] = points[at] == 0x130 ? 'i' : point;
        if (points[at] == 0x130) lower[written++] = 0x307;
    }
    return written;
}

/* Add the n-grams of tokens: `starts[i]` up to `starts[i + 1]`, less a blank between words. */
static int add_ngrams(perceptron_event *event, const char *joined, const size_t *starts, size_t n_tokens) {
    static const char prefix[] = "text=";
    const size_t before = sizeof prefix - 1, gap = CHARACTERS ? 0 : 1;
    size_t n, at;
    for (n = SHORTEST; n <= LONGEST && n <= n_tokens; n++)
        for (at = 0; at + n <= n_tokens; at++) {
            size_t size = starts[at + n] - gap - starts[at];
            event_feature *feature;
            if (!grow(&event->scratch, &event->scratch_room, before + size, 1)) return 0;
            memcpy(event->scratch, prefix, before);
            memcpy(event->scratch + before, joined + starts[at], size);
            if (!(feature = feature_of(event, event->scratch, before + size))) return 0;
            feature->occurrences = COUNTS ? feature->occurrences + 1.0 : 1.0;
        }
    return 1;
}

int perceptron_add_text(perceptron_event *event, const char *text, size_t size) {
    uint32_t *points = malloc((3 * size + 1) * sizeof *points), *lower;
    size_t *starts = malloc((2 * size + 2) * sizeof *starts);
    char *joined = malloc(10 * size + 1);
    size_t n, at, n_tokens = 0, end = 0;
    int inside = 0, done = 0;
    if (!points || !starts || !joined || (n = decode(text, size, points)) == SIZE_MAX) goto out;
    lower = LOWERCASE ? points + size : points;
    if (LOWERCASE) n = to_lower(points, n, lower);
    for (at = 0; at < n; at++) {
        int in_token = CHARACTERS || in_ranges(WORD, COUNT(WORD), lower[at]);
        if (in_token && (CHARACTERS || !inside)) starts[n_tokens++] = end;
        if (in_token) end += encode(lower[at], joined + end);
        else if (inside) joined[end++] = ' ';
        inside = in_token;
    }
    starts[n_tokens] = end + (inside && !CHARACTERS);
    done = add_ngrams(event, joined, starts, n_tokens);
out:
    free(points);
    free(starts);
    free(joined);
    return done;
}

static const perceptron_feature *in_model(const perceptron_event *event, const event_feature *feature) {
    size_t low = 0, high = PERCEPTRON_FEATURES;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const perceptron_feature *known = &MODEL[middle];
        int order;
        if (HASH_BITS) {
            order = (known->size > feature->hash) - (known->size < feature->hash);
        } else {
            size_t size = known->size < feature->size ? known->size : feature->size;
            order = size ? memcmp(known->name, event->names + feature->name, size) : 0;
            if (!order) order = (known->size > feature->size) - (known->size < feature->size);
        }
        if (!order) return known;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

void perceptron_score(const perceptron_event *event, double *scores) {
    double squares = 0.0;
    size_t at, each;
    for (each = 0; each < PERCEPTRON_SCORES; each++) scores[each] = BIAS[each];
    for (at = 0; UNIT_LENGTH && at < event->n; at++) {
        double value = event->features[at].value + event->features[at].occurrences;
        squares += value * value;
    }
    for (at = 0; at < event->n; at++) {
        const perceptron_feature *known = in_model(event, &event->features[at]);
        double value = event->features[at].value + event->features[at].occurrences;
        if (!known || value == 0) continue;
        if (UNIT_LENGTH) value /= sqrt(squares);
        if (IS_SCALED) value /= fabs(value) > known->scale ? fabs(value) : known->scale;
        for (each = 0; each < PERCEPTRON_SCORES; each++) scores[each] += known->weights[each] * value;
    }
}

/* Return the number of the label that scores decide for. */
int perceptron_decide(const double *scores) {
    int best = 0, each;
    if (PERCEPTRON_SCORES == 1)
        return scores[0] > THRESHOLD || (POSITIVE_AT_THRESHOLD && scores[0] == THRESHOLD);
    for (each = 1; each < PERCEPTRON_SCORES; each++)
        if (scores[each] > scores[best]) best = each;
    return best;
}
