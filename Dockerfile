# The program `perceptron` as an image. Built and run by docker-compose.yml, or alone:
#
#   docker build -t online-perceptron .
#   docker run --rm online-perceptron demo
#   docker run -v stream:/data -p 127.0.0.1:8000:8000 online-perceptron      (serve, on a SQLite file)

ARG PYTHON=3.13-slim-trixie

# A compiler for the learners' inner loops; it stays behind in this stage.
FROM python:${PYTHON} AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/root/.cache/pip pip wheel --wheel-dir /wheels '.[confluent,schemas]'

FROM python:${PYTHON}
# An environment without pip: nothing is to be installed into a running container.
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    python -m venv --without-pip /opt/perceptron \
    && pip --python /opt/perceptron/bin/python install --no-cache-dir --no-index --find-links /wheels \
       'online-perceptron[confluent,schemas]'
ENV PATH=/opt/perceptron/bin:$PATH

# A labelled data set to try things on, at a path that does not change with the versions.
RUN python -c 'from river.datasets import Phishing; print(Phishing().path)' \
    | xargs -I '{}' ln -s '{}' /opt/perceptron/phishing.csv.gz

RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin perceptron \
    && install --directory --owner perceptron /data
USER perceptron
WORKDIR /data

# Where the stream is kept without a broker, and an address that can be reached from outside the container. A port
# that is published for this machine is asked for by its names; `-e PERCEPTRON_HTTP_HOSTS=…` names others.
ENV XDG_DATA_HOME=/data PERCEPTRON_HTTP=0.0.0.0:8000 PERCEPTRON_HTTP_HOSTS=localhost,127.0.0.1,[::1]
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]

ENTRYPOINT ["perceptron"]
CMD ["serve"]
