/* The least that exactly once costs with librdkafka: consume, produce as much, commit, and nothing else.

       bare_librdkafka LIBRARY ADDRESS INPUT OUTPUT GROUP BATCH VALUE_BYTES

   Runs until it is ended. No message is decoded; each is answered with VALUE_BYTES bytes under its own key.
   LIBRARY is the shared library that the confluent-kafka wheel bundles. A wheel has no header files, so what
   is used of rdkafka.h is declared here; its layout is part of librdkafka's stable binary interface. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { PRODUCER = 0, CONSUMER = 1, COPY = 2, OK = 0, WAIT_MS = 100, PATIENCE_MS = 30000 };

typedef struct {
    int err;
    void *topic;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *private_;
} message_t;

typedef struct {
    char *topic;
    int32_t partition;
    int64_t offset;
    void *metadata;
    size_t metadata_size;
    void *opaque;
    int err;
    void *private_;
} place_t;

#define FUNCTIONS(F)                                                                  \
    F(void *, rd_kafka_conf_new, (void))                                              \
    F(int, rd_kafka_conf_set, (void *, const char *, const char *, char *, size_t))   \
    F(void *, rd_kafka_new, (int, void *, char *, size_t))                            \
    F(int, rd_kafka_poll_set_consumer, (void *))                                      \
    F(void *, rd_kafka_topic_partition_list_new, (int))                               \
    F(place_t *, rd_kafka_topic_partition_list_add, (void *, const char *, int32_t))  \
    F(int, rd_kafka_subscribe, (void *, const void *))                                \
    F(void *, rd_kafka_queue_get_consumer, (void *))                                  \
    F(ssize_t, rd_kafka_consume_batch_queue, (void *, int, message_t **, size_t))     \
    F(void, rd_kafka_message_destroy, (message_t *))                                  \
    F(void *, rd_kafka_topic_new, (void *, const char *, void *))                     \
    F(int, rd_kafka_produce_batch, (void *, int32_t, int, message_t *, int))          \
    F(int, rd_kafka_poll, (void *, int))                                              \
    F(void *, rd_kafka_consumer_group_metadata, (void *))                             \
    F(void, rd_kafka_consumer_group_metadata_destroy, (void *))                       \
    F(void *, rd_kafka_init_transactions, (void *, int))                              \
    F(void *, rd_kafka_begin_transaction, (void *))                                   \
    F(void *, rd_kafka_send_offsets_to_transaction, (void *, const void *, const void *, int)) \
    F(void *, rd_kafka_commit_transaction, (void *, int))                             \
    F(const char *, rd_kafka_error_string, (const void *))                            \
    F(const char *, rd_kafka_err2str, (int))

#define DECLARED(result, name, arguments) static result(*name) arguments;
FUNCTIONS(DECLARED)

static void die(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void load(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) die("dlopen", dlerror());
#define LOADED(result, name, arguments)                      \
    *(void **)&name = dlsym(library, #name);                 \
    if (name == NULL) die(#name, "not in this library");
    FUNCTIONS(LOADED)
}

static void check(const char *what, const void *error) {
    if (error != NULL) die(what, rd_kafka_error_string(error));
}

static void *client(int type, const char *const settings[][2]) {
    char why[512];
    void *conf = rd_kafka_conf_new();
    for (; (*settings)[0] != NULL; settings++)
        if (rd_kafka_conf_set(conf, (*settings)[0], (*settings)[1], why, sizeof why) != OK) die("setting", why);
    void *made = rd_kafka_new(type, conf, why, sizeof why);
    if (made == NULL) die("client", why);
    return made;
}

int main(int n_arguments, char **arguments) {
    if (n_arguments != 8) die("usage", "bare_librdkafka LIBRARY ADDRESS INPUT OUTPUT GROUP BATCH VALUE_BYTES");
    const char *address = arguments[2], *input = arguments[3], *output = arguments[4], *group = arguments[5];
    size_t batch = strtoul(arguments[6], NULL, 10), value_bytes = strtoul(arguments[7], NULL, 10);
    load(arguments[1]);

    const char *const reading[][2] = {{"bootstrap.servers", address}, {"group.id", group},
        {"auto.offset.reset", "earliest"}, {"enable.auto.commit", "false"}, {"enable.auto.offset.store", "false"},
        {"fetch.queue.backoff.ms", "10"}, {NULL, NULL}};
    const char *const writing[][2] = {{"bootstrap.servers", address}, {"transactional.id", group},
        {"batch.size", "1000000"}, {NULL, NULL}};
    void *consumer = client(CONSUMER, reading), *producer = client(PRODUCER, writing);
    rd_kafka_poll_set_consumer(consumer);
    check("init_transactions", rd_kafka_init_transactions(producer, PATIENCE_MS));
    void *topics = rd_kafka_topic_partition_list_new(1), *ends = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, input, -1);
    place_t *end = rd_kafka_topic_partition_list_add(ends, input, 0);
    int subscribed = rd_kafka_subscribe(consumer, topics);
    if (subscribed != OK) die("subscribe", rd_kafka_err2str(subscribed));
    void *queue = rd_kafka_queue_get_consumer(consumer), *topic = rd_kafka_topic_new(producer, output, NULL);
    message_t **messages = calloc(batch, sizeof *messages), *answers = calloc(batch, sizeof *answers);
    char *value = malloc(value_bytes + 1);
    if (topic == NULL || messages == NULL || answers == NULL || value == NULL) die("start", "no memory");
    memset(value, 'v', value_bytes);

    for (;;) {
        ssize_t n = rd_kafka_consume_batch_queue(queue, WAIT_MS, messages, batch);
        if (n < 0) die("consume", "failed");
        int n_answers = 0;
        for (ssize_t i = 0; i < n; i++) {
            if (messages[i]->err != OK) die("consume", rd_kafka_err2str(messages[i]->err));
            answers[n_answers++] = (message_t){.payload = value, .len = value_bytes,
                .key = messages[i]->key, .key_len = messages[i]->key_len};
            end->offset = messages[i]->offset + 1;
        }
        if (n_answers == 0) continue;
        check("begin", rd_kafka_begin_transaction(producer));
        /* The queue holds 100,000 messages, five times the largest batch, and a commit empties it. */
        if (rd_kafka_produce_batch(topic, 0, COPY, answers, n_answers) != n_answers) die("produce", "queue full");
        for (ssize_t i = 0; i < n; i++) rd_kafka_message_destroy(messages[i]);
        void *metadata = rd_kafka_consumer_group_metadata(consumer);
        check("offsets", rd_kafka_send_offsets_to_transaction(producer, ends, metadata, PATIENCE_MS));
        rd_kafka_consumer_group_metadata_destroy(metadata);
        check("commit", rd_kafka_commit_transaction(producer, PATIENCE_MS));
        rd_kafka_poll(producer, 0);
    }
}
