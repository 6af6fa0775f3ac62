"""States and errors of the S3 probes, with a server of the S3 protocol."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, window
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from integration._services import HOST, free_port

boto3 = pytest.importorskip("boto3")
Config = pytest.importorskip("botocore.config").Config
ThreadedMotoServer = pytest.importorskip("moto.server").ThreadedMotoServer
from deltaspan.probes import s3  # noqa: E402  # needs boto3

SECRET = "s3cr3t/of/the/key"  # noqa: S105  # planted, to be searched for
PASSWORD = "s3cr3t-of-the-proxy"  # noqa: S105  # likewise
ONCE = Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=30)


def connected(port, host=HOST, **given):
    credentials = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": SECRET, **given}
    return boto3.client(
        "s3", region_name="us-east-1", endpoint_url=f"http://{host}:{port}", config=ONCE, **credentials
    )


@contextlib.contextmanager
def answering(body):
    """Serve one body with status 200 for any request, and return the port."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815  # as http.server calls it

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer((HOST, 0), Answers) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            serving.join()


@pytest.fixture(scope="module")
def port():
    server = ThreadedMotoServer(HOST, 0, verbose=False)
    server.start()
    yield server.get_host_and_port()[1]
    server.stop()


@pytest.fixture
def client(port, request):
    made = connected(port)
    made.create_bucket(Bucket=bucket_of(request))
    yield made
    made.close()


@pytest.fixture
def bucket(request):
    return bucket_of(request)


def bucket_of(request):
    return "b" + hashlib.sha256(request.node.name.encode()).hexdigest()[:20]


def put(client, bucket, **objects):
    for key, body in objects.items():
        client.put_object(Bucket=bucket, Key=key, Body=body)


def said(probe):
    with pytest.raises(ProbeError) as caught:
        probe()
    return str(caught.value)


def test_objects_are_read_with_their_size_and_etag(client, bucket):
    put(client, bucket, **{"a/1": b"one", "a/ü +%.txt": b"", "b/1": b"two"})
    md5 = hashlib.md5(b"one").hexdigest()  # noqa: S324  # as S3 makes an ETag

    assert s3.objects(client, bucket, "a/")() == {
        "a/1": (3, md5),
        "a/ü +%.txt": (0, hashlib.md5(b"").hexdigest()),  # noqa: S324  # likewise
    }
    assert s3.count(client, bucket)() == 3


def test_more_than_a_page_is_read_whole(client, bucket, monkeypatch):
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "2")
    put(client, bucket, **{f"n/{number}": b"" for number in range(5)})
    assert client.list_objects_v2(Bucket=bucket)["IsTruncated"]

    assert s3.count(client, bucket, "n/")() == 5
    assert set(s3.objects(client, bucket)()) == {f"n/{number}" for number in range(5)}


def test_the_same_content_in_parts_has_another_etag_and_the_same_digest(client, bucket):
    content = b"x" * 5_242_880 + b"y"
    put(client, bucket, whole=content)
    upload = client.create_multipart_upload(Bucket=bucket, Key="parts")["UploadId"]
    parts = []
    for number, body in ((1, content[:-1]), (2, content[-1:])):
        done = client.upload_part(Bucket=bucket, Key="parts", UploadId=upload, PartNumber=number, Body=body)
        parts.append({"ETag": done["ETag"], "PartNumber": number})
    before = s3.count(client, bucket)()
    client.complete_multipart_upload(
        Bucket=bucket, Key="parts", UploadId=upload, MultipartUpload={"Parts": parts}
    )
    found = s3.objects(client, bucket)()

    assert (before, len(found)) == (1, 2)
    assert found["whole"].size == found["parts"].size == len(content)
    assert found["whole"].etag != found["parts"].etag
    assert s3.digest(client, bucket, "whole")() == s3.digest(client, bucket, "parts")()
    assert s3.digest(client, bucket, "whole")() == f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_text_and_head_of_an_object_are_read(client, bucket):
    client.put_object(
        Bucket=bucket, Key="a", Body="grün".encode(), ContentType="text/plain", Metadata={"causal-tag": "1-2"}
    )

    assert s3.text(client, bucket, "a")() == "grün"
    assert s3.head(client, bucket, "a")() == {
        "size": 5,
        "etag": hashlib.md5("grün".encode()).hexdigest(),  # noqa: S324  # as above
        "content_type": "text/plain",
        "metadata": {"causal-tag": "1-2"},
    }


def test_a_missing_object_is_a_state_with_missing_ok(client, bucket):
    for make in (s3.head, s3.text, s3.digest):
        assert make(client, bucket, "none", missing_ok=True)() is None
        assert "when calling the " in said(make(client, bucket, "none"))


def test_a_missing_bucket_is_never_a_state(client):
    for make in (s3.head, s3.text, s3.digest):
        assert "An error occurred (" in said(make(client, "no-such-bucket", "none", missing_ok=True))
    for make in (s3.count, s3.objects):
        text = said(make(client, "no-such-bucket"))
        assert "An error occurred (NoSuchBucket) when calling the ListObjectsV2 operation" in text
        assert text.endswith(": The specified bucket does not exist")


def test_a_deleted_object_of_a_versioned_bucket_is_missing(client, bucket):
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    put(client, bucket, a=b"1")
    put(client, bucket, a=b"22")
    assert s3.objects(client, bucket)()["a"].size == 2
    client.delete_object(Bucket=bucket, Key="a")

    assert s3.objects(client, bucket)() == {}
    assert s3.head(client, bucket, "a", missing_ok=True)() is None


# As checks --------------------------------------------------------------------------------------------------


def checks(client, bucket):
    return (
        change("reports", s3.count(client, bucket, "{tenant}/")).by(1),
        change("mine", s3.count(client, bucket, "{tenant}/{causal_tag}")).by(1),
        change("objects", s3.objects(client, bucket)).adding(count=1),
    )


def act(client, bucket, tenant):
    put(client, bucket, **{f"{tenant}/{current_causal_tag()}": b"1"})


def outcomes(reports):
    return [check.outcome for report in reports for check in report.checks]


def test_a_sync_action_is_checked(client, bucket):
    put(client, bucket, **{"acme2/other": b"1"})

    @expects(*checks(client, bucket))
    def report(tenant):
        act(client, bucket, tenant)

    with collect_reports() as reports:
        report("acme")

    assert outcomes(reports) == ["pass"] * 3
    assert reports[0]["reports"].attribution == "scoped"


async def test_an_async_action_is_checked(client, bucket):
    @expects(*checks(client, bucket))
    async def report(tenant):
        act(client, bucket, tenant)

    with collect_reports() as reports:
        await report("acme")

    assert outcomes(reports) == ["pass"] * 3


def test_an_undeclared_change_of_the_action_is_reported_by_key(client, bucket):
    put(client, bucket, ham=b"1", egg=b"1")
    with window("fix", change("objects", s3.objects(client, bucket)).only("ham")) as w:
        put(client, bucket, ham=b"2", egg=b"22")

    assert w.report["objects"].outcome == "fail"
    assert "egg" in w.report["objects"].explanation


# Error texts ------------------------------------------------------------------------------------------------


def test_an_unreachable_server_is_reported_without_a_password():
    nobody = connected(free_port(), host=f"ann:{PASSWORD}@{HOST}")
    probe = s3.count(nobody, "reports")
    with window("load", change("reports", probe).by(1)) as w:
        pass
    text = f"{said(probe)} {probe!r} {w.report} {w.report!r} {w.report['reports'].to_dict()}"
    nobody.close()

    assert "Could not connect to the endpoint URL" in text
    assert w.report["reports"].reason == "baseline_failed"
    assert SECRET not in text
    assert PASSWORD not in text


def test_a_denied_request_is_reported_in_the_words_of_s3(client, bucket):
    put(client, bucket, a=b"1")
    client.put_bucket_policy(
        Bucket=bucket,
        Policy=f'{{"Version": "2012-10-17", "Statement": [{{"Effect": "Deny", "Principal": "*", '
        f'"Action": "s3:GetObject", "Resource": "arn:aws:s3:::{bucket}/*"}}]}}',
    )

    for make in (s3.text, s3.digest):
        text = said(make(client, bucket, "a", missing_ok=True))
        assert "An error occurred (403) when calling the GetObject operation" in text
        assert text.endswith(": Forbidden")


def test_a_server_that_is_not_s3_is_never_read_as_an_empty_bucket():
    for body in (b"", b"<html><body>please log in</body></html>"):
        with answering(body) as port:
            client = connected(port)
            for probe in (s3.count(client, "reports"), s3.objects(client, "reports")):
                assert said(probe).endswith("and the proxies in between")
            for make in (s3.head, s3.text, s3.digest):
                assert "S3ReadError: the answer is not from S3" in said(make(client, "reports", "a"))
            client.close()


def test_a_list_that_ends_before_its_end_is_reported():
    cut = b"<ListBucketResult><Name>reports</Name><IsTruncated>true</IsTruncated></ListBucketResult>"
    with answering(cut) as port:
        client = connected(port)
        text = said(s3.count(client, "reports"))
        client.close()

    assert "the store does not return the token of the next page after 0 objects" in text


def test_credentials_outside_of_headers_are_not_shown(port):
    for given in ({"aws_session_token": f"{SECRET}\n"}, {"aws_access_key_id": f"{SECRET}\n"}):
        client = connected(port, **given)
        text = said(s3.count(client, "reports"))
        client.close()

        assert "Invalid header value" in text
        assert SECRET not in text


def test_a_state_that_is_too_large_names_a_cheaper_probe(client, bucket, monkeypatch):
    put(client, bucket, a=b"\xff", b=b"1234")
    monkeypatch.setattr(s3, "_MAX_OBJECTS", 1)
    monkeypatch.setattr(s3, "_MAX_TEXT_BYTES", 3)

    assert said(s3.objects(client, bucket)).endswith(
        "S3ReadError: there are more than 1 objects: narrow the prefix, or use `count`"
    )
    assert said(s3.text(client, bucket, "b")).endswith(
        "S3ReadError: it has more than 3 bytes: read its `digest`, or its `head`"
    )
    assert said(s3.text(client, bucket, "a")).endswith("it is not text in UTF-8: read its `digest`")


def test_an_invalid_definition_is_rejected_at_once(client, bucket):
    for other in (None, boto3.client("sts", region_name="us-east-1"), boto3.session.Session()):
        with pytest.raises(DefinitionTypeError, match=r"s3.count\(\) reads with a boto3.client\('s3'\), not"):
            s3.count(other, bucket)
    with pytest.raises(DefinitionTypeError, match="a template is a str or a path, not 3"):
        s3.count(client, 3)
    with pytest.raises(DefinitionValueError, match="a field is the plain name of a parameter"):
        s3.text(client, bucket, "{tenant.name}")


@pytest.mark.parametrize(
    "tenant", ["*", "%", "a", "acme/..", "{tenant}", "a?prefix=", "&", "\\", "?list-type=2"]
)
def test_a_hostile_argument_lists_only_its_own_objects(client, bucket, tenant):
    put(client, bucket, **{f"{tenant}/1": b"1", "acme/1": b"1", "ab/1": b"1", "other/1": b"1"})

    assert list(s3.objects(client, bucket, "{tenant}/")(tenant=tenant)) == [f"{tenant}/1"]
    assert s3.text(client, bucket, "{tenant}/1")(tenant=tenant) == "1"


@pytest.mark.parametrize("tenant", ["", None, ["acme"], {"a": 1}])
def test_an_argument_that_would_name_the_whole_bucket_has_no_state(client, bucket, tenant):
    put(client, bucket, **{"acme/1": b"1"})

    with pytest.raises(ProbeError, match=r"the field \{tenant\}"):
        s3.count(client, bucket, "{tenant}/")(tenant=tenant)


def test_the_text_of_an_object_is_shown_only_on_request(client, bucket):
    put(client, bucket, note=b"canary-before")
    probe = s3.text(client, bucket, "note")
    with window("act", change("x", probe), change("y", probe).showing()) as w:
        put(client, bucket, note=b"canary-after")

    assert "canary" not in str(w.report["x"])
    assert "canary-after" in str(w.report["y"])
