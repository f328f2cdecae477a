#!/bin/sh
# Stops the service before its files go. Data in /var/lib/mneme stays.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl stop mneme.service || true; fi
