# Mneme as an image: `docker build --file deploy/mneme.Dockerfile --tag mneme .` The first stage builds the program from
# this checkout. The image runs as a user without rights, and with a read-only root: all data is in /var/lib/mneme.
FROM rust:1.91-bookworm AS build
COPY --from=node:24-bookworm-slim /usr/local/bin/node /usr/local/bin/node
COPY --from=node:24-bookworm-slim /usr/local/lib/node_modules /usr/local/lib/node_modules
RUN ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
WORKDIR /source
COPY . .
RUN npx -y bun run build:binary

FROM debian:bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates libstdc++6 \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --uid 10001 --home-dir /var/lib/mneme --create-home mneme
COPY --from=build /source/dist/mneme /usr/lib/mneme
RUN ln -s ../lib/mneme/mneme /usr/bin/mneme
USER mneme
ENV MNEME_HOST=0.0.0.0 MNEME_DATA_DIR=/var/lib/mneme/data
VOLUME /var/lib/mneme
EXPOSE 8383
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD \
  ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${MNEME_PORT:-8383} && printf 'GET /health HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["/usr/bin/mneme", "serve"]
