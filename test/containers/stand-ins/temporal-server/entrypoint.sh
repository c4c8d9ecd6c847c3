#!/bin/bash
# Starts the server with the configuration of the image, rendered with the environment.
set -eu
: "${BIND_ON_IP:=$(hostname -i | cut -d' ' -f1)}"
export BIND_ON_IP
umask 077
temporal-render /etc/temporal/config/config_template.yaml >/etc/temporal/config/docker.yaml
exec temporal-server --root /etc/temporal --config config --env docker start
