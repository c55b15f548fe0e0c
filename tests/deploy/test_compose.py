"""The compose file starts things in order and names settings that exist; the image is pinned."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from service.cli.app import cli
from service.settings.load import Settings, load_settings
from service.web.guard import LOOPBACK_NAMES

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
OURS = {
    name: service for name, service in SERVICES.items() if "build" in service and "entrypoint" not in service
}
SERVING = {name: service for name, service in OURS.items() if name.startswith("service")}

services = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)
ours = pytest.mark.parametrize("service", OURS.values(), ids=OURS)
serving = pytest.mark.parametrize("service", SERVING.values(), ids=SERVING)


@services
def test_third_party_images_are_pinned(service):
    assert "build" in service or re.search(r":v?\d+\.\d+\.\d+@sha256:[0-9a-f]{64}$", service["image"])


@services
def test_ports_are_open_on_this_machine_only(service):
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


@services
def test_every_dependency_has_the_awaited_health_check(service):
    for name, dependency in service.get("depends_on", {}).items():
        if dependency["condition"] == "service_healthy":
            assert name == "service" or "test" in SERVICES[name]["healthcheck"]  # the image's own
        elif dependency["condition"] != "service_started":
            assert dependency["condition"] == "service_completed_successfully"
            assert "restart" not in SERVICES[name]


@services
def test_services_restart_and_their_logs_are_bounded(service):
    is_one_shot = "entrypoint" in service
    assert (service.get("restart", "no") == "no") is is_one_shot
    assert "max-size" in service["logging"]["options"]


@services
def test_only_named_volumes_are_written_to(service):
    for volume in service.get("volumes", []):
        assert volume.partition(":")[0] in COMPOSE["volumes"] or volume.endswith(":ro")


def test_compose_broker_is_the_tested_release():
    version = ET.parse(ROOT / "tests" / "kafka" / "pom.xml").findtext("properties/kafka.version")
    images = {s["image"].partition("@")[0] for s in SERVICES.values()}
    assert {image for image in images if "kafka:" in image} == {f"apache/kafka:{version}"}


def mounted(path, service, folder):
    """Put a secret where it can be read here, if it is one that the service gets."""
    place, _, name = path.rpartition("/")
    assert place == "/run/secrets"
    assert name in service["secrets"]
    assert name in COMPOSE["secrets"]
    (folder / name).write_text("secret", encoding="utf-8")
    return str(folder / name)


@ours
def test_every_setting_exists_and_has_a_valid_value(service, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in service["environment"].items():
        monkeypatch.setenv(
            name, str(value) if not name.endswith("_FILE") else mounted(value, service, tmp_path)
        )
    loaded = load_settings({})
    assert not loaded.unknown_variables
    assert loaded.settings.broker.startswith("kafka://kafka:")


@ours
def test_every_command_line_is_valid(service):
    command = service.get("command", ["serve"])
    script = shlex.split(command) if isinstance(command, str) else command
    name, *arguments = script
    # With its parent: a command remembers the help option that it was first asked with.
    parent = cli.make_context("perceptron", [name])
    assert cli.get_command(parent, name).make_context(name, arguments, parent=parent)


@serving
def test_image_and_compose_answer_only_to_local_host_names(service):
    names = service["environment"]["PERCEPTRON_HTTP_HOSTS"]
    assert set(Settings(http_hosts=names).http_hosts) == LOOPBACK_NAMES
    assert f"PERCEPTRON_HTTP_HOSTS={names}\n" in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_documented_addresses_are_published_by_compose():
    addresses = SERVICES["addresses"]
    assert {each["condition"] for each in addresses["depends_on"].values()} == {"service_healthy"}
    told = set(re.findall(r"localhost:(\$\{\w+:-\d+\})", "".join(addresses["command"])))
    opened = {
        port.split(":", 1)[1].rpartition(":")[0] for s in SERVICES.values() for port in s.get("ports", [])
    }
    assert told == {port for port in opened if not port.startswith(("${CONFLUENT", "${SASL"))}


def scraping():
    config = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8"))
    (job,) = config["scrape_configs"]
    return job


def test_prometheus_scrapes_every_serving_container():
    assert scraping()["dns_sd_configs"][0]["names"] == list(SERVING)


@pytest.mark.parametrize("name", SERVING)
def test_prometheus_labels_series_with_the_group_of_the_service(name):
    (rule,) = [r for r in scraping()["relabel_configs"] if re.fullmatch(r["regex"], name)]
    group = SERVING[name]["environment"].get("PERCEPTRON_GROUP", Settings().group)
    assert (rule["target_label"], rule["replacement"]) == ("group", group)


def _compose():
    for command in (["docker", "compose"], ["docker-compose"]):
        try:
            if subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0:
                return command
        except FileNotFoundError:
            continue
    return None


@pytest.mark.skipif(_compose() is None, reason="docker compose is not installed")
def test_docker_compose_accepts_the_file():
    profiles = ["--profile", "sasl"]
    done = subprocess.run(
        [*_compose(), *profiles, "config", "--quiet"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_template_is_valid_with_known_options(tmp_path):
    unit = (ROOT / "deploy/systemd/perceptron@.service").read_text(encoding="utf-8")
    (started,) = re.findall(r"(?m)^ExecStart=(\S+) (.+)$", unit)
    command, *options = shlex.split(started[1])
    known = {name for option in cli.get_command(None, command).params for name in option.opts}
    assert {option for option in options if option.startswith("--")} <= known
    installed = tmp_path / "perceptron@1.service"
    installed.write_text(unit.replace(started[0], "/bin/true"), encoding="utf-8")
    checked = subprocess.run(
        ["systemd-analyze", "verify", installed], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_base_image_is_pinned_by_digest():
    assert re.search(r"^ARG PYTHON=3\.\d+-slim-\w+@sha256:[0-9a-f]{64}$", DOCKERFILE, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"python:${PYTHON}", "compiler"}


@pytest.mark.parametrize("extras", ["", "confluent,schemas", "schemas"])
def test_image_installs_requirements_of_package_and_chosen_extras(extras):
    (script,) = re.findall(r"> requirements\.txt <<'EOF'\n(.*?)^EOF$", DOCKERFILE, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-", extras], input=script, cwd=ROOT, capture_output=True, text=True, check=True
    )
    optional = PROJECT["optional-dependencies"]
    wanted = [
        *PROJECT["dependencies"],
        *(each for name in filter(None, extras.split(",")) for each in optional[name]),
    ]
    assert done.stdout.splitlines() == wanted


def test_packages_from_an_index_have_the_releases_of_the_tests():
    taken = re.findall(r"pip (?:--\S+ \S+ )?(?:wheel|install)[^&]*?(?=\n[A-Z#\n]|&&|\Z)", DOCKERFILE)
    assert len(taken) == 5
    for command in taken:
        assert "--constraint constraints.txt" in command or "--no-deps" in command or "--no-index" in command
