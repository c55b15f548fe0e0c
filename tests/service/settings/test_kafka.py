"""Certificates and keys are looked at before a client says only that no broker answers."""

import pytest

from service.errors import ConfigurationError
from service.partition.factory import open_stream
from service.settings.kafka import KafkaSettings
from service.settings.load import load_settings
from tests.support.secured_kafka import KEY_PASSWORD, Certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


def tls(**files):
    return KafkaSettings(security_protocol="SSL", **files)


def test_matching_certificate_files_are_accepted(certificates):
    tls(
        ssl_cafile=certificates.authority,
        ssl_certfile=certificates.client,
        ssl_keyfile=certificates.client_key,
        ssl_password=KEY_PASSWORD,
    ).check_files()


def test_certificate_and_key_may_be_one_file(certificates):
    settings = tls(ssl_certfile=certificates.broker)
    settings.check_files()
    assert settings.client_options("confluent")["ssl.key.location"] == certificates.broker


def test_settings_without_certificates_are_not_checked():
    KafkaSettings().check_files()


@pytest.mark.parametrize("name", ["ssl_cafile", "ssl_certfile"])
def test_unusable_file_is_named_with_its_setting(name, tmp_path):
    notes = tmp_path / "notes.pem"
    notes.write_text("my notes")
    for path, said in ((tmp_path, "cannot be read"), (notes, "not ")):
        with pytest.raises(ConfigurationError, match=rf"^kafka\.{name}.*: {path}: {said}"):
            tls(**{name: str(path)}).check_files()


@pytest.mark.parametrize("password", ["", "guess"])
def test_encrypted_key_without_password_is_an_error_without_prompt(certificates, password, capfd):
    settings = tls(
        ssl_certfile=certificates.client, ssl_keyfile=certificates.client_key, ssl_password=password
    )
    with pytest.raises(ConfigurationError, match=r"kafka\.ssl_password"):
        settings.check_files()
    assert capfd.readouterr() == ("", "")


def test_kafka_stream_with_a_missing_certificate_is_rejected():
    settings = load_settings(
        {"broker": "kafka://127.0.0.1:1", "kafka": {"security_protocol": "SSL", "ssl_cafile": "/no/such.pem"}}
    )
    with pytest.raises(ConfigurationError, match=r"kafka\.ssl_cafile"):
        open_stream(settings.settings, settings.settings.broker_url)
