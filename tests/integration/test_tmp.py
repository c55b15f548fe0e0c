def test_x(kafka_bootstrap):
    from service.transport.kafka_python import KafkaPythonTransport
    t = KafkaPythonTransport([kafka_bootstrap]); t.close()
