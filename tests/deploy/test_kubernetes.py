"""The Kubernetes manifests are what the API understands, fit together, and name settings that exist."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml

from perceptron_core import __version__
from service.settings.load import load_settings
from service.web.guard import PROBES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
SCHEMAS = Path(__file__).parent / "schemas"
VERSIONS = ("1.29", kubernetes_validate.latest_version())
"""Of Kubernetes: the oldest that the manifests are for, and the newest that is known here."""
BUILDS = ("base", "overlays/example", "overlays/production")
BUILDERS = (["kustomize", "build"], ["kubectl", "kustomize"])
builds = pytest.mark.parametrize("built", BUILDS, indirect=True)
in_production = pytest.mark.parametrize("built", ["overlays/production"], indirect=True)


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def plain_resources():
    """Return the resources as they lie there: neither kustomizations nor patches, which are parts."""
    return {
        str(path.relative_to(FOLDER)): read(path)
        for path in sorted(FOLDER.rglob("*.yaml"))
        if path.name in read(path.with_name("kustomization.yaml")).get("resources", [])
    }


@pytest.fixture(scope="module")
def built(request):
    """Build a kustomization; return its resources by kind."""
    for builder in BUILDERS:
        if shutil.which(builder[0]):
            command = [*builder, str(FOLDER / request.param)]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            return {resource["kind"]: resource for resource in yaml.safe_load_all(text)}
    pytest.skip("neither kustomize nor kubectl is here")


def check(resource, version):
    """Raise `ValidationError` for what the API would reject or drop: strictly, so also for unknown fields."""
    group = resource["apiVersion"].partition(".")[0]
    name = f"{resource['kind'].lower()}-{group}-{resource['apiVersion'].partition('/')[2]}.json"
    if (SCHEMAS / name).exists():
        schema = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(schema).validate(resource)
    else:
        kubernetes_validate.validate(resource, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", plain_resources())
def test_every_resource_matches_the_api_schema(name, version):
    check(plain_resources()[name], version)


@pytest.mark.parametrize("version", VERSIONS)
@builds
def test_every_built_resource_matches_the_api_schema(built, version):
    for resource in built.values():
        check(resource, version)


def pod(built):
    return built["Deployment"]["spec"]["template"]["spec"]


def container(built):
    (only,) = pod(built)["containers"]
    return only


def variables(built):
    """Return the container's variables: those of the ConfigMap, then its own."""
    (source,) = container(built)["envFrom"]
    assert source["configMapRef"]["name"] == built["ConfigMap"]["metadata"]["name"]
    own = {each["name"]: each.get("value", "from elsewhere") for each in container(built)["env"]}
    return {**built["ConfigMap"]["data"], **own}


@builds
def test_every_setting_exists_and_has_a_valid_value(built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    for name, value in variables(built).items():
        monkeypatch.setenv(name, str(tmp_path / "secret") if name.endswith("_FILE") else value)
    loaded = load_settings({})
    assert not loaded.unknown_variables
    assert loaded.settings.broker.startswith("kafka://")
    assert loaded.settings.http_token


@builds
def test_every_file_of_a_setting_is_in_a_mounted_secret(built):
    secrets = {each["name"] for each in pod(built)["volumes"] if "secret" in each}
    mounted = {each["mountPath"] for each in container(built)["volumeMounts"] if each["name"] in secrets}
    named = {value for name, value in variables(built).items() if name.endswith(("_FILE", "_CAFILE"))}
    assert {path.rpartition("/")[0] for path in named} == mounted


@builds
def test_container_runs_without_extra_privileges(built):
    assert pod(built)["securityContext"]["runAsNonRoot"] is True
    assert container(built)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod(built)["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod(built)["automountServiceAccountToken"] is False


@builds
def test_user_and_image_match_this_release(built):
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f"--uid {pod(built)['securityContext']['runAsUser']} " in dockerfile
    assert container(built)["image"].rpartition(":")[2] == __version__
    assert f"EXPOSE {container(built)['ports'][0]['containerPort']}" in dockerfile


@builds
def test_every_probe_uses_a_public_path_at_the_services_port(built):
    probes = [container(built)[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]
    assert {probe["path"] for probe in probes} == PROBES
    assert {probe["port"] for probe in probes} == {container(built)["ports"][0]["name"]}
    port = container(built)["ports"][0]["containerPort"]
    assert variables(built)["PERCEPTRON_HTTP"] == f"0.0.0.0:{port}"


@builds
def test_http_hosts_are_the_names_of_service_and_forwarded_port(built):
    name, namespace = built["Service"]["metadata"]["name"], "online-perceptron"
    within = [".".join(["", *more]) for more in ([], [namespace], [namespace, "svc"])]
    names = {name + end for end in within} | {"localhost", f"{name}.{namespace}.svc.cluster.local"}
    assert set(variables(built)["PERCEPTRON_HTTP_HOSTS"].split(",")) == names


@in_production
def test_keda_alone_sets_the_replicas_at_most_one_per_partition(built):
    scaled = built["ScaledObject"]["spec"]
    assert scaled["maxReplicaCount"] == int(variables(built)["PERCEPTRON_PARTITIONS"])
    assert scaled["scaleTargetRef"]["name"] == built["Deployment"]["metadata"]["name"]
    assert "replicas" not in built["Deployment"]["spec"]


@in_production
def test_keda_watches_the_lag_of_the_groups_topics_and_brokers(built):
    named = variables(built)
    lags = [trigger["metadata"] for trigger in built["ScaledObject"]["spec"]["triggers"]]
    inputs = {named["PERCEPTRON_EVENTS_TOPIC"], named["PERCEPTRON_LABELS_TOPIC"]}
    assert {lag["topic"] for lag in lags} == inputs
    assert {lag["consumerGroup"] for lag in lags} == {named["PERCEPTRON_GROUP"]}
    assert {f"kafka://{lag['bootstrapServers']}" for lag in lags} == {named["PERCEPTRON_BROKER"]}


@in_production
def test_prometheus_scrapes_with_the_token_and_the_label_of_alerts(built):
    monitor, service = built["ServiceMonitor"]["spec"], built["Service"]
    (endpoint,) = monitor["endpoints"]
    assert endpoint["port"] == service["spec"]["ports"][0]["name"]
    assert monitor["selector"]["matchLabels"] == service["metadata"]["labels"]
    (token,) = (each["secret"]["secretName"] for each in pod(built)["volumes"] if each["name"] == "http")
    assert endpoint["authorization"]["credentials"] == {"name": token, "key": "token"}
    assert endpoint["relabelings"] == [
        {"targetLabel": "group", "replacement": variables(built)["PERCEPTRON_GROUP"]}
    ]
    job = service["metadata"]["labels"][monitor["jobLabel"]]
    assert f'job="{job}"' in (ROOT / "deploy/prometheus/alerts.yml").read_text(encoding="utf-8")


def test_guide_makes_a_resource_of_the_alerts():
    guide = (ROOT / "docs/guides/deploy/kubernetes.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```sh\n(.*?)```", guide, re.DOTALL)
    command, _, heredoc = script.partition("<<EOF")
    assert command.startswith("kubectl")
    made = subprocess.run(["bash", "-c", f"cat <<EOF{heredoc}"], cwd=ROOT, check=True, capture_output=True)
    resource = yaml.safe_load(made.stdout)
    assert resource["kind"] == "PrometheusRule"
    assert resource["spec"] == read(ROOT / "deploy/prometheus/alerts.yml")
