# PostgreSQL 18 under Patroni: `docker build --file deploy/patroni.Dockerfile --tag mneme-postgres deploy`
FROM postgres:18-bookworm
RUN apt-get update \
  && apt-get install --yes --no-install-recommends python3-venv \
  && python3 -m venv /opt/patroni \
  && /opt/patroni/bin/pip install --no-cache-dir 'patroni[etcd3,psycopg3]==4.1.5' \
  && rm -rf /var/lib/apt/lists/*
COPY patroni.yml create-database.sh /etc/patroni/
USER postgres
EXPOSE 5432 8008
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/patroni/bin/patroni", "/etc/patroni/patroni.yml"]
