"""The files of deploy/ and grafana/provisioning/ fit each other, and what they name exists."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from deltaspan import semconv
from integration._compose import DEPLOY, ROOT, compose, settings

PROVISIONING = ROOT / "grafana" / "provisioning"
SERVICES = {"collector", "jaeger", "prometheus", "alertmanager", "grafana"}


def load(*path):
    return yaml.safe_load(DEPLOY.joinpath(*path).read_text())


@pytest.fixture(scope="module")
def services():
    return compose()["services"]


def mounts(service, kind):
    return [mount for mount in service.get("volumes", ()) if mount["type"] == kind]


def test_compose_follows_the_specification():
    command = [Path(sys.executable).parent / "check-jsonschema", "--builtin-schema", "vendor.compose-spec"]

    checked = subprocess.run([*command, DEPLOY / "compose.yaml"], check=False, capture_output=True, text=True)

    assert checked.returncode == 0, checked.stdout


def test_compose_has_the_five_services_and_the_one_shot_service(services):
    assert set(services) == SERVICES | {"owner"}


def test_every_setting_is_used_and_every_image_is_pinned_to_a_version():
    used = set(re.findall(r"\$\{(\w+)\}", (DEPLOY / "compose.yaml").read_text()))
    images = {name: value for name, value in settings().items() if name.endswith("_IMAGE")}

    assert used == set(settings())
    assert [value for value in images.values() if not re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+", value)] == []


def test_every_mounted_file_exists_is_read_only_and_is_never_made_by_docker(services):
    bound = [mount for service in services.values() for mount in mounts(service, "bind")]

    made = DEPLOY / "secrets"  # by `make up`
    gone = [mount["source"] for mount in bound if not Path(mount["source"]).exists()]
    assert [path for path in gone if made not in Path(path).parents] == []
    assert all(mount["read_only"] and mount["bind"] == {"create_host_path": False} for mount in bound)


def test_every_port_is_open_only_to_this_machine_by_default(services):
    hosts = {port["host_ip"] for service in services.values() for port in service["ports"]}
    told = compose({"BIND": "10.1.2.3"})["services"]

    assert hosts == {"127.0.0.1"}
    assert {port["host_ip"] for service in told.values() for port in service["ports"]} == {"10.1.2.3"}


def test_no_container_may_do_more_than_it_must(services):
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
    assert {name for name, service in services.items() if service["user"].startswith("0:")} == {"owner"}
    assert {name for name, service in services.items() if "cap_add" in service} == {"owner"}


def test_every_permanent_service_has_a_memory_limit_and_restarts(services):
    staying = {name: services[name] for name in SERVICES}

    assert all("mem_limit" in service for service in staying.values())
    assert {service["restart"] for service in staying.values()} == {"unless-stopped"}


def test_every_service_but_the_collector_has_a_health_check_on_its_own_port(services):
    ports = {"jaeger": 13133, "prometheus": 9090, "alertmanager": 9093, "grafana": 3000}
    checks = {
        name: service["healthcheck"]["test"][-1]
        for name, service in services.items()
        if "healthcheck" in service
    }

    assert {name: int(re.search(r":(\d+)/", url)[1]) for name, url in checks.items()} == ports


def test_volumes_of_images_without_the_folder_are_given_to_their_user(services):
    _, owner, *folders = services["owner"]["entrypoint"]
    given = {mount["source"]: mount["target"] for mount in mounts(services["owner"], "volume")}

    assert sorted(given.values()) == sorted(folders)
    for name in given:
        [volume] = mounts(services[name], "volume")
        assert (services[name]["user"], volume["source"]) == (owner, name)
        assert services[name]["depends_on"] == {"owner": {"condition": "service_completed_successfully"}}


def test_every_server_writes_to_a_volume(services):
    folders = {name: [mount["target"] for mount in mounts(services[name], "volume")] for name in SERVICES}

    assert folders["collector"] == ["/var/lib/otelcol"]
    assert "STORAGE_DIRECTORY:-/var/lib/otelcol}" in (DEPLOY / "collector" / "config.yaml").read_text()
    assert folders["jaeger"] == ["/badger"]
    assert "STORAGE_DIRECTORY:-/badger}" in (DEPLOY / "jaeger" / "config.yaml").read_text()
    for name in ("prometheus", "alertmanager"):
        [folder] = folders[name]
        assert any(option.endswith(f".path={folder}") for option in services[name]["command"])
    assert folders["grafana"] == ["/var/lib/grafana"]


def test_each_server_reads_the_file_that_is_mounted_for_it(services):
    for name in ("collector", "jaeger", "prometheus", "alertmanager"):
        [read] = [
            option.partition("=")[2]
            for option in services[name]["command"]
            if "config" in option.partition("=")[0]
        ]
        assert read in [mount["target"] for mount in mounts(services[name], "bind")], name
    assert (
        f"UI_CONFIG:-{services['jaeger']['volumes'][1]['target']}}}"
        in (DEPLOY / "jaeger" / "config.yaml").read_text()
    )


def endpoints(path):
    """Return the default of each `${env:NAME:-default}`, as the collector and Jaeger read them."""
    return dict(re.findall(r"\$\{env:(\w+):-([^}]*)\}", path.read_text()))


def test_every_server_listens_on_its_published_ports(services):
    targets = {name: {port["target"] for port in service["ports"]} for name, service in services.items()}
    listening = {
        name: {
            int(at.rpartition(":")[2])
            for at in endpoints(DEPLOY / name / "config.yaml").values()
            if at.startswith("0.0.0.0:")
        }
        for name in ("collector", "jaeger")
    }

    assert targets["collector"] == listening["collector"] == {4317, 4318, 13133}
    assert targets["jaeger"] == {16686} < listening["jaeger"]
    assert (targets["prometheus"], targets["alertmanager"], targets["grafana"]) == ({9090}, {9093}, {3000})


def test_servers_call_each_other_by_the_names_and_ports_of_compose():
    collector = endpoints(DEPLOY / "collector" / "config.yaml")
    assert collector["JAEGER_ENDPOINT"] == "jaeger:4317"
    assert endpoints(DEPLOY / "jaeger" / "config.yaml")["OTLP_GRPC_ENDPOINT"] == "0.0.0.0:4317"
    assert collector["PROMETHEUS_ENDPOINT"] == "http://prometheus:9090/api/v1/otlp"
    assert "--web.enable-otlp-receiver" in compose()["services"]["prometheus"]["command"]

    scraped = {
        target.partition(":")[0]
        for job in load("prometheus", "prometheus.yml")["scrape_configs"]
        for target in job["static_configs"][0]["targets"]
    }
    assert scraped == SERVICES - {"prometheus"} | {"localhost"}


def test_the_collector_gets_every_setting_that_compose_hands_it_from_its_configuration(services):
    assert set(services["collector"]["environment"]) - {"GOMEMLIMIT"} <= set(
        endpoints(DEPLOY / "collector" / "config.yaml")
    )


def test_the_collector_of_the_tests_has_the_version_and_components_of_compose():
    builder = load("collector", "builder.yaml")
    version = settings()["COLLECTOR_IMAGE"].partition(":")[2]
    tiers = [
        load("kubernetes", "base", "config", f"{tier}.yaml") for tier in ("gateway", "sampler", "shared")
    ]
    configured = [load("collector", "config.yaml"), *tiers]
    for kind in ("receivers", "processors", "connectors", "exporters", "extensions"):
        built = {module["gomod"].split()[0].rpartition("/")[2] for module in builder[kind]}
        named = {
            name.partition("/")[0].replace("_", "") for config in configured for name in config.get(kind, ())
        }

        assert {_MODULES.get(name, f"{name}{kind.removesuffix('s')}") for name in named} == built

    assert builder["dist"]["version"] == version
    assert f"deploy/collector/builder.yaml v{version}" in re.sub(
        " +", " ", (ROOT / "tools" / "servers.txt").read_text()
    )


_MODULES = {"otlpgrpc": "otlpexporter", "filestorage": "filestorage"}
"""Components whose module is not called by their name and kind."""


def test_grafana_has_both_sources_under_the_agreed_uids_with_links_between_them():
    read = yaml.safe_load((PROVISIONING / "datasources" / "deltaspan.yml").read_text())
    sources = {source["uid"]: source for source in read["datasources"]}

    assert set(sources) == {"prometheus", "jaeger"}
    assert sources["prometheus"]["url"] == "http://prometheus:9090"
    assert sources["jaeger"]["url"] == "http://jaeger:16686"
    [exemplar] = sources["prometheus"]["jsonData"]["exemplarTraceIdDestinations"]
    assert exemplar["datasourceUid"] in sources
    assert sources["jaeger"]["jsonData"]["tracesToMetrics"]["datasourceUid"] in sources


def test_grafana_takes_no_dollar_sign_of_a_query_for_a_variable_of_its_environment():
    text = (PROVISIONING / "datasources" / "deltaspan.yml").read_text()

    assert re.findall(r"(?<!\$)\$(?!\$)\S*", text) == []


def test_grafana_reads_dashboards_from_their_mount(services):
    read = yaml.safe_load((PROVISIONING / "dashboards" / "deltaspan.yml").read_text())
    [provider] = read["providers"]

    targets = {mount["target"]: Path(mount["source"]) for mount in mounts(services["grafana"], "bind")}
    assert targets[provider["options"]["path"]] == ROOT / "grafana" / "dashboards"


def test_grafana_has_a_password_that_is_not_in_the_repository(services):
    environment = services["grafana"]["environment"]
    assert environment["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    assert environment["GF_SECURITY_ADMIN_PASSWORD__FILE"].startswith("/run/secrets/")

    ignored = ["git", "check-ignore", "-q", compose()["secrets"]["grafana-admin-password"]["file"]]
    assert subprocess.run(ignored, cwd=DEPLOY, check=False).returncode == 0


def test_alertmanager_reads_addresses_from_the_folder_that_is_mounted_for_them(services):
    folders = {
        path.rpartition("/")[0]
        for path in re.findall(r"_file: (\S+)", (DEPLOY / "alertmanager" / "alertmanager.yml").read_text())
    }

    assert folders <= {mount["target"] for mount in mounts(services["alertmanager"], "bind")}


def test_a_span_links_to_the_grafana_address_of_compose():
    read = json.loads((DEPLOY / "jaeger" / "ui.json").read_text())

    assert read["useOpenTelemetryTerms"] is True
    [link] = read["linkPatterns"]
    assert link["url"].startswith(f"http://localhost:{settings()['GRAFANA_PORT']}/")
    assert link["key"] == semconv.ACTION_NAME


def test_redaction_ignores_only_names_and_numbers_and_never_a_state():
    ignored = set(load("collector", "config.yaml")["processors"]["redaction"]["ignored_keys"])
    read = {
        semconv.CHECK_PRE_STATE,
        semconv.CHECK_POST_STATE,
        semconv.CHECK_EXPECTED_DELTA,
        semconv.CHECK_ACTUAL_DELTA,
        semconv.CHECK_EXPLANATION,
    }
    prefixes = tuple(value for name, value in vars(semconv).items() if name.endswith("_PREFIX"))

    assert ignored <= {value for value in vars(semconv).values() if isinstance(value, str)}
    assert not ignored & read
    assert not [name for name in ignored if name.startswith(prefixes)]


def test_an_event_of_a_secret_metric_keeps_every_field_that_quotes_no_state():
    rules = load("collector", "config.yaml")["processors"]["transform/expose"]
    texts = [text for key in ("trace_statements", "log_statements") for text in rules[key][0]["statements"]]
    kept = [re.search(r'keep_matching_keys\(\w+\.attributes, "(.+)"\)', text) for text in texts]
    patterns = [found[1].replace("\\\\", "\\") for found in kept if found]
    of_a_check = {value for name, value in vars(semconv).items() if name.startswith("CHECK_")}
    of_a_span = {semconv.CHECK_COUNT, semconv.CHECK_FAILED_METRICS, semconv.CHECK_INCONCLUSIVE_METRICS}
    quoting = {
        semconv.CHECK_PRE_STATE,
        semconv.CHECK_POST_STATE,
        semconv.CHECK_EXPECTED_DELTA,
        semconv.CHECK_ACTUAL_DELTA,
        semconv.CHECK_EXPLANATION,
        semconv.CHECK_OTHERS,
        semconv.CHECK_UNTAGGED,
    }

    assert len(patterns) == 2
    for pattern in patterns:
        assert {name for name in of_a_check if re.search(pattern, name)} == of_a_check - of_a_span - quoting


def test_every_deltaspan_name_in_deploy_and_grafana_is_sent():
    names = {value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str)}
    prefixes = tuple(value for name, value in vars(semconv).items() if name.endswith("_PREFIX"))
    values = [value for name, value in vars(semconv).items() if name.startswith("METRIC_")]
    metrics = {value.replace(".", "_") for value in values if str(value).startswith("deltaspan.")}
    files = [
        path
        for folder in (DEPLOY, ROOT / "grafana")
        for path in folder.rglob("*.*")
        if path.suffix in {".yaml", ".yml", ".json"}
    ]
    unknown = set()
    for path in files:
        text = path.read_text()
        unknown |= {
            (path.name, found)
            for found in re.findall(r"\bdeltaspan\.[a-z_]+(?:\.[a-z_]+)*", text)
            if found not in names and not f"{found}.".startswith(prefixes)
        }
        unknown |= {
            (path.name, found)
            for found in re.findall(r"\bdeltaspan_(?:checks?|action|verification)\w*", text)
            if not found.startswith(tuple(metrics)) and found.replace("_", ".", 2) not in names
        }

    assert files
    assert unknown == set()
