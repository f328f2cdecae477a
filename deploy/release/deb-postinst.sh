#!/bin/sh
# Creates the user and the settings file of the service. The service is not started.
set -e
[ "$1" = configure ] || exit 0
if ! getent passwd mneme >/dev/null && command -v useradd >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/mneme --shell /usr/sbin/nologin mneme
fi
if [ ! -e /etc/mneme/mneme.env ]; then
  mkdir -p /etc/mneme
  (umask 077 && printf '# Settings of mneme.service, such as MNEME_HOST=0.0.0.0\n' >/etc/mneme/mneme.env)
fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
