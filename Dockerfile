# The program `perceptron` as an image. Built and run by docker-compose.yml, or alone:
#
#   docker build -t online-perceptron .
#   docker run --rm -p 127.0.0.1:8000:8000 online-perceptron demo
#   docker run -v stream:/data -p 127.0.0.1:8000:8000 online-perceptron      (serve, on a SQLite file)
#
# --build-arg EXTRAS=confluent,schemas names extras of the package, --build-arg PYTHON=… takes another base.
# --build-arg KAFKA_CLIENT=kafka-python takes the other client, as extras without `confluent` need.
# --build-arg WITHOUT='scipy numpy narwhals' leaves out what no built-in model needs to serve: docs/guides/deploy/sizing.md.

ARG PYTHON=3.13-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285

# A compiler for the learners' inner loops; it stays behind in the stages that build.
FROM python:${PYTHON} AS compiler
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ccache gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml constraints.txt ./

# What others publish, in the releases that the tests run with: built again only when these change.
FROM compiler AS dependencies
ARG EXTRAS=confluent,schemas
RUN python - "${EXTRAS}" > requirements.txt <<'EOF'
import sys, tomllib

project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = [name for name in sys.argv[1].split(",") if name]
print(*project["dependencies"], *(each for name in extras for each in project["optional-dependencies"][name]), sep="\n")
EOF
RUN --mount=type=cache,target=/root/.cache/pip \
    pip wheel --constraint constraints.txt --requirement requirements.txt --wheel-dir wheels

# Our own wheel: what a changed line does not touch is not compiled again.
FROM compiler AS build
RUN --mount=type=cache,target=/root/.cache/pip pip install --constraint constraints.txt cython setuptools
COPY . .
RUN --mount=type=cache,target=/root/.cache/ccache \
    CC="ccache gcc" pip wheel --no-build-isolation --no-deps --wheel-dir wheels .

FROM python:${PYTHON}
# An environment without pip: nothing is to be installed into a running container. What changes seldom comes first,
# so that images of several builds share it.
ARG WITHOUT=
RUN --mount=type=bind,from=dependencies,source=/source,target=/source \
    python -m venv --without-pip /opt/perceptron \
    && pip --python /opt/perceptron/bin/python install --no-cache-dir --no-index --find-links /source/wheels \
       --requirement /source/requirements.txt \
    && { test -z "${WITHOUT}" || pip --python /opt/perceptron/bin/python uninstall --yes ${WITHOUT}; } \
    && find /opt/perceptron -type d -name tests -prune -exec rm -r {} +
ENV PATH=/opt/perceptron/bin:$PATH

# A labelled data set to try things on, at a path that does not change with the versions.
RUN ln -s /opt/perceptron/lib/python3.*/site-packages/river/datasets/phishing.csv.gz /opt/perceptron/phishing.csv.gz

RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin perceptron \
    && install --directory --owner perceptron /data

RUN --mount=type=bind,from=build,source=/source/wheels,target=/wheels \
    pip --python /opt/perceptron/bin/python install --no-cache-dir --no-index --no-deps /wheels/*.whl
USER perceptron
WORKDIR /data

# The folder of the stream without a broker, and an address that other machines can reach. Requests to a port that is
# published on this machine have its names as `Host`; `-e PERCEPTRON_HTTP_HOSTS=…` allows other names.
ENV XDG_DATA_HOME=/data PERCEPTRON_HTTP=0.0.0.0:8000 PERCEPTRON_HTTP_HOSTS=localhost,127.0.0.1,[::1]
# Code that a setting names runs only if it is allowed: `-e PERCEPTRON_ALLOW_HOOK=yes`.
ENV PERCEPTRON_ALLOW_HOOK=no
# The faster client: docs/project/benchmarks.md.
ARG KAFKA_CLIENT=confluent
ENV PERCEPTRON_KAFKA_CLIENT=${KAFKA_CLIENT}
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]

ENTRYPOINT ["perceptron"]
CMD ["serve"]
