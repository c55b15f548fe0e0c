"""Dashboard and alerts ask for what the service exports, explain themselves, and fire when they should."""

import functools
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.deploy.promql import matched_labels, metric_names
from tools.documentation.references import metrics

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
GRAFANA = ROOT / "deploy" / "grafana"
RUNBOOK = ROOT / "docs" / "guides" / "operate" / "runbook.md"

PART_OF_A_HISTOGRAM = re.compile(r"_(bucket|sum|count)$")
MADE_BY_PROMETHEUS = {"up", "ALERTS"}
ADDED_BY_SCRAPING = {"job", "instance", "group"}


def load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


DASHBOARD = json.loads((GRAFANA / "dashboards" / "online-perceptron.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
RULES = [rule for group in load(PROMETHEUS / "alerts.yml")["groups"] for rule in group["rules"]]
ALERT_TESTS = load(PROMETHEUS / "alerts_test.yml")["tests"]
EXPRESSIONS = {
    **{f"panel {panel['title']} {t['refId']}": t["expr"] for panel in PANELS for t in panel["targets"]},
    **{f"alert {rule['alert']}": rule["expr"] for rule in RULES},
}

alerts = pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
with_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")


def test_every_queried_metric_is_exported(exported):
    for name, expression in EXPRESSIONS.items():
        assert metric_names(expression), name
        assert metric_names(expression) <= exported.keys() | MADE_BY_PROMETHEUS, name


def test_every_exported_metric_is_in_the_reference_with_its_labels(exported):
    sections = re.findall(r"^## (\w+)\n\n.+\n\n(.+)\.$", metrics(), re.MULTILINE)
    documented = {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in sections}
    for name, labels in exported.items():
        if not name.endswith("_created"):  # the client library's companion of each counter and histogram
            family = PART_OF_A_HISTOGRAM.sub("", name)
            assert family in documented, f"{name} is not in the reference"
            assert labels - {"le"} <= documented[family]


def test_every_label_matched_is_on_its_metric(exported):
    wrong = [
        (name, metric, label)
        for name, expression in EXPRESSIONS.items()
        for metric, label in matched_labels(expression)
        if metric not in MADE_BY_PROMETHEUS and label not in exported[metric] | ADDED_BY_SCRAPING
    ]
    assert wrong == []


def test_every_panel_has_a_description_and_a_unit():
    for panel in PANELS:
        assert panel["title"], panel
        assert len(panel["description"].split()) > 4, panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


def test_dashboards_data_source_is_the_provisioned_one():
    (provisioned,) = load(GRAFANA / "provisioning" / "datasources" / "prometheus.yml")["datasources"]
    (variable,) = [v for v in DASHBOARD["templating"]["list"] if v["type"] == "datasource"]
    assert variable["current"]["value"] == provisioned["uid"]
    assert variable["query"] == provisioned["type"]


@alerts
def test_every_alert_has_severity_summary_description_and_runbook(rule):
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}
    assert re.fullmatch(r"docs/guides/operate/runbook\.md#[a-z-]+", rule["annotations"]["runbook_url"])


@alerts
def test_every_alert_has_its_section_in_the_runbook(rule):
    headings = re.findall(r"^#+ (.+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    assert rule["annotations"]["runbook_url"].partition("#")[2] in anchors


@alerts
def test_every_alert_has_a_test_that_fires_it(rule):
    fired = {
        case["alertname"] for test in ALERT_TESTS for case in test["alert_rule_test"] if case["exp_alerts"]
    }
    assert rule["alert"] in fired


def promtool(*arguments, folder=PROMETHEUS):
    run = functools.partial(subprocess.run, cwd=folder, capture_output=True, text=True, check=False)
    done = run(["promtool", *arguments])
    assert done.returncode == 0, done.stdout + done.stderr


@with_promtool
def test_promtool_accepts_configuration_and_rules():
    promtool("check", "config", "prometheus.yml")


@with_promtool
def test_alerts_fire_exactly_when_expected():
    promtool("test", "rules", "alerts_test.yml")


@with_promtool
def test_promtool_accepts_every_dashboard_query(tmp_path):
    rules = [
        {"record": f"query:{number}", "expr": re.sub(r"\$__(rate_interval|range)", "1m", expression)}
        for number, expression in enumerate(EXPRESSIONS.values())
    ]
    (tmp_path / "queries.yml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    promtool("check", "rules", "queries.yml", folder=tmp_path)
