"""Every setting has one value, one origin, and a clear complaint when it is wrong."""

import os
import re
from typing import get_args

import pytest

from service.errors import ConfigurationError
from service.settings.code import instead_of
from service.settings.declaration import Decides, declaration
from service.settings.fields import FIELDS, SECRETS, TABLES
from service.settings.kafka import KafkaClient, KafkaSettings
from service.settings.load import load_settings, option_settings, setting_values
from service.stream.opening import open_transport


@pytest.fixture(autouse=True)
def empty_surroundings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("PERCEPTRON_")]:
        monkeypatch.delenv(name)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_each_source_overrides_the_ones_below_it(tmp_path, monkeypatch):
    config = write(tmp_path / "my.toml", 'group = "toml"\n')
    seen = [load_settings({}), load_settings({}, config)]
    write(tmp_path / ".env", "PERCEPTRON_GROUP=dotenv\n")
    seen.append(load_settings({}, config))
    monkeypatch.setenv("PERCEPTRON_GROUP", "environment")
    seen.append(load_settings({}, config))
    seen.append(load_settings({"group": "command"}, config))
    assert [(loaded.settings.group, loaded.origins["group"]) for loaded in seen] == [
        ("online-perceptron", "default"),
        ("toml", str(config)),
        ("dotenv", ".env"),
        ("environment", "environment PERCEPTRON_GROUP"),
        ("command", "command line"),
    ]


def test_every_setting_is_declared_and_only_secrets_lack_options():
    for name, field in FIELDS.items():
        assert field.description.endswith("."), name
        assert declaration(field).decides in Decides
    assert [name for name in FIELDS if re.search("password|secret|token$|_key$|webhooks", name)] == [
        name for name in FIELDS if name in SECRETS
    ]
    assert SECRETS.isdisjoint(option_settings())


def test_removed_names_are_not_settings():
    assert not [name for name in (*FIELDS, *TABLES) if instead_of(name)]


def test_every_value_has_an_origin():
    loaded = load_settings({"model_params": {"threshold": 1}})
    assert set(loaded.origins) == set(setting_values(loaded.settings))
    assert loaded.origins["model_params.threshold"] == "command line"
    assert loaded.origins["kafka.instance_id"] == "default"


def test_sources_set_different_parts_of_a_nested_setting(tmp_path, monkeypatch):
    config = write(tmp_path / "my.toml", "[model_params]\na = 1\nb = 1\n[kafka]\ninstance_id = 'x'\n")
    monkeypatch.setenv("PERCEPTRON_MODEL_PARAMS", '{"b": 2, "c": 2}')
    monkeypatch.setenv("PERCEPTRON_MODEL_PARAMS__D", "true")
    monkeypatch.setenv("PERCEPTRON_KAFKA__TRANSACTION_TIMEOUT_SECONDS", "40")
    loaded = load_settings({"model_params": {"c": 3}}, config)
    assert loaded.settings.model_params == {"a": 1, "b": 2, "c": 3, "d": True}
    assert loaded.settings.kafka.transaction_timeout_seconds == 40
    assert loaded.settings.kafka.instance_id == "x"
    assert loaded.origins["model_params.b"] == "environment PERCEPTRON_MODEL_PARAMS"
    assert loaded.origins["model_params.d"] == "environment PERCEPTRON_MODEL_PARAMS__D"
    assert (
        loaded.origins["kafka.transaction_timeout_seconds"]
        == "environment PERCEPTRON_KAFKA__TRANSACTION_TIMEOUT_SECONDS"
    )


@pytest.mark.parametrize("name", ["hash_bits", "max_batch_records", "ngrams", "kafka.commit_timeout_seconds"])
def test_boolean_is_rejected_as_a_number(name, tmp_path):
    for value in ("true", "[true, true]"):
        path = write(tmp_path / "settings.toml", f"{name} = {value}")
        with pytest.raises(ConfigurationError, match=rf"{name} = .*: expected"):
            load_settings({}, path)


def test_all_invalid_values_are_reported_together(monkeypatch):
    monkeypatch.setenv("PERCEPTRON_HASH_BITS", "99")
    with pytest.raises(ConfigurationError) as caught:
        load_settings({"partitions": 0})
    assert [line.partition(" =")[0] for line in str(caught.value).splitlines()] == ["partitions", "hash_bits"]
    assert "environment PERCEPTRON_HASH_BITS" in str(caught.value)


@pytest.mark.parametrize("variable", ["PERCEPTRON_MODEL_PARAMS", "PERCEPTRON_KAFKA"])
def test_table_that_is_not_a_json_object_is_rejected(monkeypatch, variable):
    monkeypatch.setenv(variable, "{oops")
    with pytest.raises(ConfigurationError, match=rf"from environment {variable}\): not JSON: line 1"):
        load_settings({})


@pytest.mark.parametrize(
    ("text", "name", "meant"),
    [
        ("hash_bit = 3", "hash_bit", "hash_bits"),
        ("[kafka]\nsasl_pasword = 'hunter2'", "kafka.sasl_pasword", "kafka.sasl_password"),
    ],
)
def test_unknown_key_in_toml_is_rejected_with_a_suggestion(tmp_path, text, name, meant):
    config = write(tmp_path / "my.toml", text)
    with pytest.raises(ConfigurationError) as caught:
        load_settings({}, config)
    assert str(caught.value) == f"{name} (from {config}): unknown setting"
    assert caught.value.hint == f"did you mean {meant}?"


def test_unknown_setting_in_dotenv_is_rejected_with_a_suggestion(tmp_path):
    write(tmp_path / ".env", "DATABASE_URL=not-ours\nPERCEPTRON_BROKR=x\n")
    with pytest.raises(ConfigurationError, match=r"PERCEPTRON_BROKR \(from \.env\)") as caught:
        load_settings({})
    assert caught.value.hint == "did you mean PERCEPTRON_BROKER?"


def test_dotenv_in_another_encoding_is_rejected_with_a_hint(tmp_path):
    (tmp_path / ".env").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match=r"\.env: not UTF-8 at byte 0") as caught:
        load_settings({})
    assert caught.value.hint.startswith("make it readable, in UTF-8")


@pytest.mark.timeout(20)
def test_dotenv_that_is_a_pipe_is_rejected_unread(tmp_path):
    os.mkfifo(tmp_path / ".env")
    with pytest.raises(ConfigurationError, match=r"^\.env: expected a regular file, found a named pipe"):
        load_settings({})


def test_unknown_environment_variable_gives_a_warning(monkeypatch):
    for name in ("BROKR", "KAFKA__X", "TEST_KAFKA", "REQUIRE_KAFKA", "REQUIRE_COMPILED"):
        monkeypatch.setenv(f"PERCEPTRON_{name}", "1")
    assert [*load_settings({}).unknown_variables] == ["PERCEPTRON_BROKR", "PERCEPTRON_KAFKA__X"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a = 1\nb = = 2\n", "line 2, column 5"),
        (b"\xff", "not UTF-8 at byte 0"),
        (None, "cannot be read: No such file"),
        ("a directory", "cannot be read"),
    ],
)
def test_unusable_file_is_named_with_its_line(tmp_path, content, said):
    path = tmp_path / "my.toml"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content:
        path.mkdir()
    with pytest.raises(ConfigurationError) as caught:
        load_settings({}, path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "password", ["hunter2", "hun/ter2", "hun@ter2", "h/u@n/t@er2", "hunter2?a=b", "hunter2#1"]
)
@pytest.mark.parametrize(
    "url", ["kafka://me:{}@h:9092", "kafka://me:{}", "kafka:me:{}@h", "amqp://me:{}@h", "me:{}@h"]
)
def test_broker_url_never_shows_its_password(password, url):
    rejected = []
    for read in (
        lambda: load_settings({"broker": url.format(password)}),
        lambda: open_transport(url.format(password)),
    ):
        try:
            read()
        except ConfigurationError as error:
            rejected.append(str(error) + error.hint)
    assert rejected
    assert not any(
        part in text for part in re.split("[/@?#]", password) for text in rejected if len(part) > 1
    )


@pytest.mark.parametrize(
    ("toml", "variable"),
    [
        *(
            ("", table)
            for table in (
                '{"sasl_pasword": "hunter2"}',
                '{"sasl_password": {"hunter2": 1}}',
                '{"password": "hunter2", "sasl_username": 1}',
                '{"sasl_password": "hunter2"',
                '"hunter2"',
                '["hunter2"]',
                "sasl_password=hunter2",
            )
        ),
        *(
            (line, "{}")
            for line in (
                "[kafka]\nsasl_password = hunter2",
                "[kafka]\nsasl_password = 'hunter2",
                "[kafka]\nsasl_password 'hunter2'",
                '[kafka]\nsasl_password = ["hunter2"]',
                'kafka = "hunter2"',
                'broker = "kafka://me:hunter2@h:1"',
            )
        ),
    ],
)
def test_unreadable_source_never_shows_a_password(tmp_path, monkeypatch, toml, variable):
    monkeypatch.setenv("PERCEPTRON_KAFKA", variable)
    with pytest.raises(ConfigurationError) as caught:
        load_settings({}, write(tmp_path / "my.toml", toml))
    assert "hunter2" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize("rest", ["sasl_password 'hunter2'", "SASL_PASSWORD='hunter2"])
def test_unreadable_line_of_dotenv_is_rejected_but_not_shown(tmp_path, caplog, rest):
    write(tmp_path / ".env", f"PERCEPTRON_KAFKA__{rest}\nPERCEPTRON_GROUP=g\n")
    with pytest.raises(
        ConfigurationError, match=r"(?i)PERCEPTRON_KAFKA__SASL_PASSWORD \(from \.env"
    ) as caught:
        load_settings({})
    assert "hunter2" not in caplog.text + str(caught.value) + caught.value.hint


@pytest.mark.parametrize("secret", sorted(SECRETS - {"webhooks"}))
@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_secret_may_be_in_a_file(tmp_path, monkeypatch, secret, ending):
    path = tmp_path / "mounted"
    path.write_bytes(f" hunter 2 hunter 2{ending}".encode())
    monkeypatch.setenv(f"PERCEPTRON_{secret.upper().replace('.', '__')}_FILE", str(path))
    loaded = load_settings({})
    assert setting_values(loaded.settings)[secret].get_secret_value() == " hunter 2 hunter 2"
    assert loaded.origins[secret] == f"file {path}"
    assert not loaded.unknown_variables
    assert "hunter" not in repr(loaded)


def test_secret_file_may_be_named_in_another_file(tmp_path):
    write(tmp_path / "password", "hunter2")
    config = write(tmp_path / "my.toml", f"[kafka]\nsasl_password_file = '{tmp_path}/password'\n")
    assert load_settings({}, config).settings.kafka.sasl_password.get_secret_value() == "hunter2"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file"),
        (b"\n", "the file is empty"),
        (b"hunter2\xff", "not UTF-8 at byte 7"),
    ],
)
def test_unusable_secret_file_is_named_without_its_content(tmp_path, monkeypatch, content, said):
    path = tmp_path / "mounted"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("PERCEPTRON_CHECKPOINT_KEY_FILE", str(path))
    with pytest.raises(ConfigurationError, match=said) as caught:
        load_settings({})
    origin = "environment PERCEPTRON_CHECKPOINT_KEY_FILE"
    assert str(caught.value).startswith(f"checkpoint_key_file = '{path}' (from {origin}): ")
    assert caught.value.hint.startswith("set checkpoint_key_file to a readable file")
    assert "hunter2" not in str(caught.value)


def test_secret_and_its_file_together_are_rejected(tmp_path, monkeypatch):
    write(tmp_path / "key", "from the file")
    monkeypatch.setenv("PERCEPTRON_CHECKPOINT_KEY", "hunter2")
    monkeypatch.setenv("PERCEPTRON_CHECKPOINT_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(ConfigurationError, match="are both set") as caught:
        load_settings({})
    assert "environment PERCEPTRON_CHECKPOINT_KEY_FILE" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_kafka_settings_become_client_options():
    values = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_username": "me"}
    kafka = KafkaSettings(**values, sasl_password="pw", client_id="c")
    assert kafka.client_options("kafka-python") == {
        "client_id": "c",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "pw",
    }
    assert kafka.client_options("confluent") == {
        "client.id": "c",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "pw",
    }


@pytest.mark.parametrize("client", get_args(KafkaClient))
def test_every_security_setting_has_a_name_in_every_client(client):
    values = {name: "PLAIN" for name in KafkaSettings.model_fields if name.startswith(("sasl_", "ssl_"))}
    kafka = KafkaSettings(security_protocol="SASL_SSL", **values)
    assert len(kafka.client_options(client)) == len(values) + len(["client_id", "security_protocol"])


@pytest.mark.parametrize(("value", "ngrams"), [("2", (2, 2)), (3, (3, 3)), ("1-3", (1, 3)), ([1, 2], (1, 2))])
def test_ngrams_are_one_length_or_a_range(value, ngrams):
    assert load_settings({"ngrams": value}).settings.ngrams == ngrams
