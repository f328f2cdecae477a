# Mneme as an image, from the single binary: `npx -y bun run build:binary`, then
# `docker build --file deploy/mneme.Dockerfile --tag mneme .`
FROM debian:bookworm-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/mneme --create-home mneme
COPY dist/mneme /usr/local/bin/mneme
USER mneme
ENV MNEME_HOST=0.0.0.0 MNEME_DATA_DIR=/var/lib/mneme/data
VOLUME /var/lib/mneme
EXPOSE 8383
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/mneme", "serve"]
